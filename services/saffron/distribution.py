"""The distribution `saffron-cep`: the name to install, and what each of its extras brings.

The package index's `saffron` belongs to another project, so the name to install differs from the name to import.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec

NAME = "saffron-cep"

_MODULES: Mapping[str, tuple[str, ...]] = {
    "control": ("faust",),
    "model-builder": ("pyspark", "pandas", "sklearn", "scipy"),
    "spark": ("pyspark", "pandas"),
    "local": ("jgo",),
    "registry": ("fastavro", "google.protobuf"),
    "pandas": ("pandas",),
}
"""Extra -> modules that nothing of it runs without."""


def install(*extras: str) -> str:
    """The command that installs these extras."""
    return f"pip install '{NAME}[{','.join(extras)}]'"


def lacking(extras: Iterable[str]) -> list[str]:
    """The extras of which a module is not installed."""
    return [extra for extra in extras if not all(_is_installed(module) for module in _MODULES[extra])]


def _is_installed(module: str) -> bool:
    try:
        return module in sys.modules or find_spec(module) is not None  # Faust takes its own spec away
    except ModuleNotFoundError:  # its parent package is not there either
        return False
