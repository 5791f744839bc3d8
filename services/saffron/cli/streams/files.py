"""Files that commands on streams read."""

from __future__ import annotations

from pathlib import Path

from saffron.errors import InputError


def text_of(path: Path) -> str:
    """The text of a file. InputError: it cannot be read."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: {error}") from None
