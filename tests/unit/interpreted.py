"""Queries without the compiler, for tests of what is around kernels: each takes a second or two to compile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from saffron.engine.match.queries import fastest
from saffron.engine.match.runs.graph import compile_graphs
from saffron.engine.match.runs.program import compile_program
from saffron.engine.trends.queries import shared
from saffron.engine.trends.queries.trend_query import TrendQuery


def interpret_all(patch: pytest.MonkeyPatch) -> None:
    """Run the kernels of all queries that begin from now on as Python."""
    patch.setattr(fastest, "compile_program", partial(_interpreted, compile_program))
    patch.setattr(fastest, "compile_graphs", partial(_interpreted, compile_graphs))
    patch.setattr(shared, "TrendQuery", partial(_interpreted, TrendQuery))


def _interpreted(make: Callable[..., Any], *given: Any, **options: Any) -> Any:
    return make(*given, **{**options, "compiled": False})
