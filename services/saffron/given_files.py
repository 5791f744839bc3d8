"""Files that users name: reading them, and whether they can be written."""

from __future__ import annotations

import os
from collections.abc import Iterable
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


def query_of(path: Path) -> str:
    """The text of a query file. InputError: it cannot be read.

    A byte that is not UTF-8 becomes half a surrogate, at whose place the language refuses the query.
    """
    return bytes_of(path).decode("utf-8", "surrogateescape")


def require_writable(path: Path | None) -> None:
    """InputError: a file cannot be written there. To be asked before long work, whose outcome would be lost."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"cannot write {path}: Is a directory")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"cannot write {path}: Permission denied")


def require_not_read(path: Path | None, read: Iterable[Path | None]) -> None:
    """InputError: the file to be written is one of those that are read, whose content would be lost."""
    if path is not None and path.is_file() and any(one is not None and _is_same(path, one) for one in read):
        raise InputError(f"cannot write {path}: it is read, and its content would be lost; name another file")


def _is_same(path: Path, other: Path) -> bool:
    """True if both paths lead to the same file."""
    return other.exists() and path.samefile(other)
