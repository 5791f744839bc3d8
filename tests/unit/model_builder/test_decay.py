"""Half of what was observed is forgotten once in a half-life: exactly, and where enough is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.features import FeatureSpec
from saffron.model_builder.books import Books
from saffron.model_builder.cell_sums import PROCESSING, TRANSITION, Row
from saffron.model_builder.decay import decay
from saffron.model_builder.feature_book import FeatureBook
from saffron.model_builder.latency_book import LatencyBook
from saffron.model_builder.policy import Policy

SPEC = FeatureSpec(known=(("A",), ("B",)))
POLICY = Policy(observations=10, events=10, matches=1, half_life=3)
BASE = Row("t", 0, TRANSITION, "q", 1, "events", 3, 100, True, 1, 1, 0, 0, 0, 1, 10)


def grown(batches: int, *rows: Row) -> Books:
    """Books of so many batches with these rows."""
    books = Books()
    for batch in range(batches):
        books.add(batch, rows)
        decay(books, POLICY)
    return books


def test_counts_are_halved_once_in_a_half_life_and_so_is_what_the_model_in_force_rests_on() -> None:
    rows = [replace(BASE, count=400), replace(BASE, b=2, count=4)]
    books = grown(2, *rows)
    query = books.queries["q"]
    query.publish(())
    books.add(2, rows)
    decay(books, POLICY)
    assert query.in_force is not None
    assert query.counts.cells == {(1, 1): 600, (1, 2): 6}
    assert query.in_force.cells == {(1, 1): 400, (1, 2): 4}
    assert query.since_halved == 0


def test_what_comes_evenly_is_remembered_as_one_to_two_half_lives_of_it_for_ever() -> None:
    """No count dwindles by rounding: it is at most one too low."""
    for count in (1, 2, 3, 7, 1000):
        books = grown(3 * 40, replace(BASE, count=5000), replace(BASE, b=2, count=count))
        assert 3 * count - 1 <= books.queries["q"].counts.cells[1, 2] <= 3 * count


def test_nothing_is_forgotten_for_want_of_anything_new_or_of_what_there_is_little_of() -> None:
    books = grown(3, replace(BASE, query="other", count=5000))
    books.add(3, [replace(BASE, count=1000)])
    for batch in range(4, 20):
        books.add(batch, [replace(BASE, query="little", count=2)])
        decay(books, POLICY)
    assert books.queries["q"].counts.cells == {(1, 1): 1000}
    assert books.queries["little"].counts.cells == {(1, 1): 32}


def test_a_bin_of_times_keeps_its_mean_for_ever() -> None:
    seldom = replace(BASE, kind=PROCESSING, a=70, count=9, load=9 * 1000, time=9 * 50_000)
    books = grown(1, seldom)
    for batch in range(1, 100):
        books.add(batch, [replace(seldom, a=0, count=10, load=0, time=2000)])
        decay(books, POLICY)
    assert books.streams["events"].processing == {0: [39, 0, 39 * 200], 70: [1, 1000, 50_000]}


def test_sums_of_times_stay_far_from_overflow() -> None:
    book = LatencyBook()
    for _ in range(50):
        book.add(PROCESSING, 3, (1000, 1 << 50, 1 << 50))
    events, load, time = book.processing[3]
    assert max(load, time) <= 1 << 52
    assert load / events == time / events == pytest.approx((1 << 50) / 1000, rel=0.01)


def test_counts_of_features_are_halved_with_the_number_that_is_to_be_doubled() -> None:
    counts = FeatureCounts("q", 1, SPEC.identity)
    book = FeatureBook(counts, SPEC, 0)
    for half in (0, 1):
        counts.add({"query": "q", "query_version": 1, "occurrences": {1: 900, 2: 1}, "matches": [[1, 1]] * 10}, half)
    book.in_force = book.basis()
    books = Books(batch=0)
    books.features.held["q"] = book
    for _ in range(3):
        decay(books, POLICY)
    assert book.basis().occurrences == {1: 900}
    assert (book.in_force.observed, book.since_halved) == (901, 0)
