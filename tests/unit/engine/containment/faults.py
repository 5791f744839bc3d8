"""Faults of one query, put where an operator takes its steps: raised at the n-th time, before or behind the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.match import match_operator as operator
from saffron.engine.match.output.render import Written
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.trends import trend_operator as trends
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.queries.trend_query import TrendQuery
from saffron.engine.trends.results import Trends
from saffron.language.plan.trend_plan import TrendPlan


class Broken(Exception):
    """What is raised."""


@dataclass
class Fault:
    """`place`: a key of `PLACES`. `after`: so many times it goes well. `late`: the work has been done when it raises.

    `query`: whose; SHARED: of whichever graph has the aggregate MAX. `at`: it is raised whenever events from this
    position on come, instead. `error`: what is raised.
    """

    query: str
    place: str
    after: int = 0
    late: bool = False
    raised: int = 0
    at: int | None = None
    error: type[BaseException] = Broken

    def met(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """Whether this time it raises."""
        if name != self.query:
            return False
        if self.at is not None:
            return bool(len(arguments[1]) and arguments[1].seq[-1] >= self.at)
        self.after -= 1
        return self.after == -1


COMPUTED = "words"
"""The query that alone reads lower(s), a value computed before any query takes its step."""
SHARED = "*"
Named = Callable[[tuple[Any, ...]], str]
"""The query's name from the arguments of a call."""


def _of_runs(arguments: tuple[Any, ...]) -> str:
    return str(getattr(arguments[0], "plan", arguments[0]).name)


def _of_name(arguments: tuple[Any, ...]) -> str:
    return str(arguments[0]._name)


def _of_values(arguments: tuple[Any, ...]) -> str:
    return COMPUTED if any("lower" in read.name for read in arguments[2]) else ""


def _of_graph(arguments: tuple[Any, ...]) -> str:
    plan = next((one for one in arguments if isinstance(one, TrendPlan)), None) or arguments[0].plan
    return SHARED if any(one.function == "max" for one in plan.aggregates) else ""


PLACES: dict[str, tuple[Any, str, Named]] = {
    "start": (operator, "start", _of_runs),
    "begin": (QueryRuns, "begin_block", _of_runs),
    "advance": (QueryRuns, "advance", _of_runs),
    "end": (QueryRuns, "end_block", _of_runs),
    "found": (QueryRuns, "fired", _of_runs),
    "compute": (ComputedColumns, "added", _of_values),
    "render": (Written, "json", _of_name),
    "save": (QueryRuns, "save", _of_runs),
    "restore": (QueryRuns, "restore", _of_runs),
    "trend start": (trends, "Reader", _of_runs),
    "trend make": (TrendQuery, "__init__", _of_graph),
    "trend apply": (TrendQuery, "apply", _of_graph),
    "trend close": (TrendQuery, "pass_time", _of_graph),
    "trend own": (Reader, "own", _of_runs),
    "trend render": (Trends, "json", lambda arguments: str(arguments[0]._query.plan.name)),
}
"""Where faults are put: an owner's attribute, and whose step it is ("": of all that share a graph)."""


@contextmanager
def injected(fault: Fault) -> Iterator[Fault]:
    """While this lasts, the fault is there."""
    owner, attribute, named = PLACES[fault.place]
    owners = [one for one in (owner, *_below(owner)) if attribute in vars(one)]
    assert owners, "a fault that is nowhere"
    with ExitStack() as patches:
        for one in owners:
            patches.enter_context(patch.object(one, attribute, _broken(getattr(one, attribute), named, fault)))
        yield fault


def _below(owner: Any) -> list[Any]:
    """The classes that are derived from a class."""
    found: list[Any] = type.__subclasses__(owner) if isinstance(owner, type) else []
    return found + [one for below in found for one in _below(below)]


def _broken(real: Callable[..., Any], named: Named, fault: Fault) -> Callable[..., Any]:
    def broken(*arguments: Any, **more: Any) -> Any:
        met = fault.met(named(arguments), arguments)
        if met and not fault.late:
            fault.raised += 1
            raise fault.error("on purpose")
        done = real(*arguments, **more)
        if met:
            fault.raised += 1
            raise fault.error("on purpose")
        return done

    return broken
