"""Saffron: complex event processing on Kafka that keeps its answers on time.

    query = saffron.compile("PATTERN SEQ(Login a, Logout b) WITHIN 1 hour")
    for match in saffron.replay(query, "events.ndjson"):
        print(match.start, match.events["a"].user)

What stands here is loaded when it is first used (docs/python.md).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saffron.api.aggregate import aggregate as aggregate
    from saffron.api.backfill import backfill as backfill
    from saffron.api.function import function as function
    from saffron.api.live import Live as Live
    from saffron.api.live import open as open  # noqa: A004
    from saffron.api.query import Query as Query
    from saffron.api.query import compile as compile  # noqa: A004
    from saffron.api.result import Compressed as Compressed
    from saffron.api.result import Event as Event
    from saffron.api.result import Match as Match
    from saffron.api.result import Result as Result
    from saffron.api.result import Trend as Trend
    from saffron.api.results import Results as Results
    from saffron.api.results import replay as replay
    from saffron.api.subscribe import Subscription as Subscription
    from saffron.api.subscribe import subscribe as subscribe
    from saffron.errors import QueryError as QueryError
    from saffron.errors import SaffronError as SaffronError

__version__ = "0.2.0"

_HOMES = {
    "Compressed": "api.result",
    "Event": "api.result",
    "Live": "api.live",
    "Match": "api.result",
    "Query": "api.query",
    "QueryError": "errors",
    "Result": "api.result",
    "Results": "api.results",
    "SaffronError": "errors",
    "Subscription": "api.subscribe",
    "Trend": "api.result",
    "aggregate": "api.aggregate",
    "backfill": "api.backfill",
    "compile": "api.query",
    "function": "api.function",
    "open": "api.live",
    "replay": "api.results",
    "subscribe": "api.subscribe",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
