"""User-defined aggregates in kernels (N1): a run carries the fold so far, and the kernel's text calls the functions.

They are called by names that are hashes of their code (`UserAggregate.stamp`). So the kernel's text, and the file that
keeps it, change with the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from saffron.engine.match.core.automaton import Feature, What
from saffron.engine.operators.aggregates import require

Function = Callable[..., Any]


def step_name(function: str) -> str:
    """The name of an aggregate's step function in the kernel's text."""
    return f"step_{require(function).stamp[:32]}"


def final_name(function: str) -> str:
    """The name of an aggregate's final function in the kernel's text."""
    return f"final_{require(function).stamp[:32]}"


def called(features: Iterable[Feature], *, compiled: bool) -> Mapping[str, Function]:
    """The functions that a kernel calls whose runs have these features, by name; AggregateError if they do not compile.

    `compiled` False: plain Python that gives what the compiled ones do.
    """
    found: dict[str, Function] = {}
    for name in sorted({feature.function for feature in features if feature.what is What.FOLD}):
        aggregate = require(name)
        step, final = aggregate.compiled if compiled else aggregate.plain
        found |= {step_name(name): step, final_name(name): final}
    return found
