"""EMIT VALUES and PUBLISH in Python: results without events, their tables, and why."""

from __future__ import annotations

import pytest

import saffron
from saffron.errors import QueryError

EVENTS = [
    {"type": "A", "ts": 1, "k": "p", "x": 1},
    {"type": "B", "ts": 2, "k": "p", "x": 3},
    {"type": "A", "ts": 3, "k": "q", "x": 1},
    {"type": "B", "ts": 4, "k": "q", "x": 9},
]
QUERY = "QUERY rise PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 ms RETURN b.x - a.x AS by {}"
LEAN = QUERY.format("EMIT VALUES PUBLISH 'alerts' KEY a.k")


def test_a_result_has_its_values_and_the_id_that_it_has_with_events() -> None:
    whole, lean = (saffron.replay(text, EVENTS).head() for text in (QUERY.format(""), LEAN))
    assert [one.id for one in lean] == [one.id for one in whole]
    for one in lean:
        assert isinstance(one, saffron.Match)
        assert dict(one.events) == {}
        assert "by=" in repr(one)
        assert "by" in one._repr_html_()
    assert [one.returns for one in lean] == [one.returns for one in whole]


def test_its_table_has_no_column_of_events() -> None:
    table = saffron.replay(LEAN, EVENTS).to_arrow()
    assert table.column_names == ["id", "query", "partition", "start", "end", "key", "return"]
    assert table["return"].to_pylist() == [{"by": 2}, {"by": 8}]


def test_it_is_explained_by_its_id() -> None:
    results = saffron.replay(LEAN, EVENTS)
    for match in results.head():
        assert isinstance(match, saffron.Match)
        assert results.why(match).trace.matches == 1


def test_results_that_nobody_reads_are_warned_of() -> None:
    maker = QUERY.format("INTO Rise")
    with pytest.warns(UserWarning, match="the results of rise are events of other queries, and none reads them"):
        assert list(saffron.replay(maker, EVENTS)) == []
    assert len(list(saffron.replay(f"{maker} PUBLISH", EVENTS))) == 2
    reader = "QUERY big PATTERN Rise r WHERE r.by > 5 WITHIN 1 ms RETURN r.by AS by"
    assert [one.query for one in saffron.replay([maker, reader], EVENTS)] == ["big"]


def test_a_query_that_is_wrong_in_itself_is_told_before_those_that_read_its_results() -> None:
    reader = "QUERY big PATTERN SEQ(Rise r, Fall f) WITHIN 1 ms"
    makers = [QUERY.format("INTO Rise"), "QUERY fall PATTERN SEQ(A a, B b WITHIN 9 ms RETURN a.x INTO Fall"]
    for order in ([reader, *makers], [makers[1], reader, makers[0]]):
        with pytest.raises(QueryError, match="expected '\\)' or ','"):
            saffron.replay(order, EVENTS).counts()
