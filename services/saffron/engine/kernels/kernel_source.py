"""The text of a module of kernels, as it is generated for a query."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class KernelSource:
    """Python text with the kernel `entry`. `helpers`: modules whose public names it may use (`jit.load`)."""

    entry: str
    text: str
    helpers: tuple[ModuleType, ...] = ()
