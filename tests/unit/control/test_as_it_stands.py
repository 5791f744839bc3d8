"""A registered query is shown as its check saw it, at a cost that does not grow with the number of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from saffron import language
from saffron.control import checks
from saffron.control.queries import left_readers
from saffron.control.tables import Tables
from tests.unit.control.world import TOPICS

SCHEMA = {
    "type": "object",
    "properties": {"type": {"const": "Stock"}, "symbol": {"type": "string"}, "price": {"type": "number"}},
}
TEXTS = {
    "falls": "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] AND b.price < a.price WITHIN 1 hour "
    "RETURN a.symbol AS symbol, a.price - b.price AS by INTO Fall",
    "deep": "PATTERN SEQ(Fall a, Fall b) WHERE [symbol] WITHIN 1 hour RETURN b.by AS deeper INTO Deep",
    "last": "PATTERN SEQ(Deep a, Stock b) WITHIN 1 hour RETURN a.deeper AS deeper PUBLISH 'found'",
    "also": "PATTERN SEQ(Stock a, Stock b) WITHIN 1 hour PUBLISH 'found'",
    "trend": "PATTERN Stock S+ WHERE [symbol] WITHIN 1 minute RETURN COUNT(*)",
    "of_results": "PATTERN Fall S+ WITHIN 1 minute RETURN COUNT(*)",
    "broken": "PATTERN SEQ(Stock a, Stock b) WHERE a.nosuch > 1 WITHIN 1 hour RETURN a.nosuch AS x INTO Broken",
    "of_broken": "PATTERN SEQ(Broken a, Stock b) WHERE a.x > b.price WITHIN 1 hour",
    "there": "PATTERN SEQ(Stock a, Back b) WITHIN 1 hour RETURN b.x AS x INTO There",
    "back": "PATTERN SEQ(Stock a, There b) WITHIN 1 hour RETURN b.x AS x INTO Back",
    "wrong": "PATTERN",
}


@pytest.fixture
def tables() -> Tables:
    found = Tables(TOPICS, 100)
    row = {"name": "events", "topic": TOPICS.events, "key": "symbol", "schema": SCHEMA, "disorder": 0, "idle": None}
    found.apply(TOPICS.streams, b"events", orjson.dumps(row), 5)
    return found


def outcome(show: Any, *given: Any) -> Any:
    """What the function returns, as the API shows it, or how it refuses."""
    try:
        return show(*given).explanation("auto")
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_as_it_is_beside_all_others(tables: Tables, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = outcome(checks.as_it_stands, name, tables.streams, TEXTS)
    monkeypatch.setattr(checks, "_makers", lambda plan, queries: queries)
    assert outcome(checks.as_it_stands, name, tables.streams, TEXTS) == shown


def binds(tables: Tables, name: str, texts: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many texts are bound to show a query."""
    count = 0

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        return bind(*given, **named)

    bind = language.bind
    with monkeypatch.context() as patch:
        for module in (checks, left_readers):
            patch.setattr(module, "bind", counted)
        checks.as_it_stands(name, tables.streams, texts)
    return count


@pytest.mark.parametrize("name", ["falls", "deep", "last", "trend"])
def test_its_cost_does_not_grow_with_the_others(tables: Tables, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {f"other{n}": f"PATTERN SEQ(Stock a, Stock b) WITHIN {n + 1} hours" for n in range(30)}
    makers = {f"maker{n}": f"{text} RETURN a.price AS p INTO T{n}" for n, text in enumerate(more.values())}
    alone = binds(tables, name, TEXTS, monkeypatch)
    assert binds(tables, name, {**more, **TEXTS, **makers}, monkeypatch) == alone < 12
