"""Readers of files that users name."""

from __future__ import annotations

from pathlib import Path

from saffron.errors import InputError


def bytes_of(path: Path) -> bytes:
    """The content of a file. InputError: it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def text_of(path: Path) -> str:
    """The text of a file, in UTF-8. InputError: it cannot be read, or is no such text."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: {error}") from error
