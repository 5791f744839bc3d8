"""A note by `saffron warm`: the kernels that do not depend on a query are compiled for this version."""

from __future__ import annotations

import platform
from importlib import metadata
from pathlib import Path

from saffron.distribution import NAME

_NOTE = "warm"


def note_warm(kernels: Path) -> None:
    """Writes the note under `kernels`."""
    kernels.mkdir(parents=True, exist_ok=True)
    (kernels / _NOTE).write_text(_version(), "utf-8")


def is_warm(kernels: Path) -> bool:
    """True if the note is there, for this version of Saffron, Python and Numba."""
    try:
        return (kernels / _NOTE).read_text("utf-8") == _version()
    except OSError:
        return False


def _version() -> str:
    packages = " ".join(f"{name} {_installed(name)}" for name in (NAME, "numba"))
    return f"{packages} python {platform.python_version()}\n"


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"
