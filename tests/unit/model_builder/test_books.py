"""The books: what rows add, what they refuse, what is forgotten; and that JSON keeps everything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from saffron.engine.models.transitions.trainer import TransitionCounts
from saffron.model_builder import books as module
from saffron.model_builder.books import Books
from saffron.model_builder.cell_sums import (
    MESSAGE,
    PROCESSING,
    PRODUCT,
    REFUSED,
    SAMPLE,
    SHEDDING,
    TIMED,
    TRANSITION,
    Row,
)
from saffron.model_builder.latency_book import LatencyBook
from saffron.model_builder.query_book import QueryBook

BASE = Row("t", 0, TRANSITION, "q", 1, "events", 3, 100, True, 0, 1, 5, 0, 0, 1, 10)
LATENCY = replace(BASE, kind=PROCESSING, query=None, query_version=None, states=None, size=None, in_events=None)


def row(**changes: Any) -> Row:
    return replace(BASE, **changes)


def latency(**changes: Any) -> Row:
    return replace(LATENCY, **changes)


def books_of(*rows: Row, batch: int = 0) -> Books:
    books = Books()
    books.add(batch, rows)
    return books


def test_transitions_add_up_over_partitions_and_batches() -> None:
    books = books_of(row(), row(partition=1, count=2, time=7), row(a=1, b=2, count=4))
    books.add(1, [row(count=1), row(kind=MESSAGE, a=0, b=0, count=30, time=900)])
    counts = books.queries["q"].counts
    assert counts.cells == {(0, 1): 8, (1, 2): 4}
    assert (counts.events, counts.lived, counts.observations) == (30, 900, 12)
    assert (books.batch, books.queries["q"].touched, books.refused) == (1, 1, 0)


def test_offsets_are_those_of_messages_good_or_not_and_never_go_back() -> None:
    nothing = {"query": None, "query_version": None, "stream": None, "states": None, "size": None, "in_events": None}
    books = books_of(row(kind=MESSAGE, next_offset=7), row(kind=MESSAGE, partition=3, next_offset=2))
    books.add(1, [row(kind=MESSAGE, next_offset=6), row(kind=MESSAGE, partition=3, next_offset=4, **nothing)])
    assert books.offsets == {"t": {"0": 7, "3": 4}}
    assert books.refused == 1


@pytest.mark.parametrize(
    "wrong",
    [
        row(kind=REFUSED, messages=1),
        row(query_version=None),
        row(states=None),
        row(states=1),
        row(states=10**9),
        row(size=None),
        row(size=0),
        row(in_events=None),
        row(a=None),
        row(a=3),
        row(b=-3),
        row(b=3),
        row(count=None),
        row(kind=SAMPLE, time=None),
        row(kind=TIMED, total=None),
        row(kind=TIMED, b=-2),
        row(kind=TIMED, a=3),
        row(kind=PRODUCT, c=0, d=3, total=9),
        row(kind=PRODUCT, c=None, d=1, total=9),
        latency(stream=None),
        latency(count=None),
        latency(load=None),
        latency(time=None),
        latency(kind=MESSAGE, stream=None),
    ],
)
def test_a_row_that_is_no_good_changes_nothing_and_is_counted(wrong: Row) -> None:
    books = books_of(row(), wrong)
    assert books.refused == 1
    assert books.queries["q"].counts.cells == {(0, 1): 5}
    assert not books.streams


def test_a_later_version_of_a_query_starts_anew_and_an_older_one_is_refused() -> None:
    books = books_of(row(), row(query_version=3, count=2))
    assert books.queries["q"].counts.query_version == 3
    assert books.queries["q"].counts.cells == {(0, 1): 2}
    books.add(1, [row()])
    assert (books.refused, books.queries["q"].counts.observations) == (1, 2)


def test_another_window_of_the_same_version_starts_anew() -> None:
    books = books_of(row(), row(size=50, count=2))
    assert (books.queries["q"].counts.window_size, books.queries["q"].counts.observations) == (50, 2)


def test_latencies_add_up_by_function_and_bin() -> None:
    books = books_of(
        latency(a=3, count=10, load=30, time=500),
        latency(a=3, count=1, load=4, time=70, partition=1),
        latency(kind=SHEDDING, a=9, count=2, load=20, time=90),
    )
    stream = books.streams["events"]
    assert stream.processing == {3: [11, 34, 570]}
    assert stream.shedding == {9: [2, 20, 90]}


def test_counts_are_halved_before_they_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OBSERVATIONS", 100)
    books = books_of(row(count=90), row(a=1, b=2, count=50))
    assert books.queries["q"].counts.cells == {(0, 1): 45, (1, 2): 25}


def test_what_was_not_observed_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_QUERIES", 2)
    books = books_of(row(query="old"), row(query="kept"))
    books.add(1, [row(query="kept"), row(query="new")])
    assert sorted(books.queries) == ["kept", "new"]


def test_json_keeps_everything() -> None:
    books = books_of(row(kind=MESSAGE), row(), row(query="r", in_events=False), latency(a=3, count=2, load=6, time=9))
    books.queries["q"].publish((1.5, 0.0, 3.0))
    times = [row(kind=SAMPLE, time=7), row(kind=TIMED, count=5, total=5 << 70)]
    books.add(0, [*times, row(kind=PRODUCT, c=0, d=1, total=25), row(kind=PRODUCT, c=0, d=0, total=1 << 90)])
    books.streams["events"].published = [1.0, 2.5, -1.0, -1.0]
    body = orjson.loads(orjson.dumps(books.body()))
    again = Books.of(body)
    assert again.body() == books.body()
    assert isinstance(again.queries["q"], QueryBook)
    assert isinstance(again.streams["events"], LatencyBook)
    assert isinstance(again.queries["r"].counts, TransitionCounts)
    again.add(1, [row()])
    books.add(1, [row()])
    assert again.body() == books.body()


def test_books_of_an_older_builder_are_read_and_their_models_made_anew() -> None:
    body = books_of(row(), latency(a=3, count=2, load=6, time=9)).body()
    for one in (*body["queries"], *body["streams"].values()):
        one.pop("in_force", None)
        del one["since_halved"]
    books = Books.of(body)
    assert books.queries["q"].counts.cells == {(0, 1): 5}
    assert books.queries["q"].in_force is None
