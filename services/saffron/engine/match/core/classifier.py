"""The classifier of a query: a kernel that gives each event the bits of the components that it may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from saffron.engine.kernels import functions
from saffron.engine.kernels.generated import loaded
from saffron.engine.kernels.jit import Function
from saffron.engine.kernels.kernel_source import KernelSource
from saffron.engine.match.core.classify import classify_source
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.core.source import arithmetic
from saffron.language.plan.expressions import Expr


@dataclass(frozen=True)
class Classifier:
    """The text of a classifier, if types are not enough. `names`: the columns and strings that it reads."""

    sources: tuple[KernelSource, ...]
    names: Names

    def load(self, *, compiled: bool) -> Function | None:
        """The kernel; None where the type is enough."""
        return loaded(self.sources[0], compiled=compiled) if self.sources else None


def classifier_of(tests: Mapping[int, list[Expr]]) -> Classifier:
    """The classifier of a plan by its tests (`classify.bit_tests`)."""
    names = Names()
    text = classify_source(tests, names)
    return Classifier(() if text is None else (KernelSource("classify", text, (arithmetic, functions)),), names)
