"""Credits: who is waited for, how far the shedder may run ahead."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.shed.load.credits import Credits


def test_the_slowest_reader_with_queries_rules() -> None:
    book = Credits(100)
    book.forwarded(80)
    book.applied("matcher", 50, active=True, now_ms=0)
    book.applied("greta", 70, active=True, now_ms=0)
    assert book.in_flight(0) == 30
    assert book.admits(70, 0)
    assert not book.admits(71, 0)


def test_a_reader_without_queries_holds_nobody_back() -> None:
    book = Credits(100)
    book.forwarded(90)
    book.applied("matcher", 90, active=True, now_ms=0)
    book.applied("greta", 0, active=False, now_ms=0)
    assert book.in_flight(0) == 0


def test_a_silent_reader_is_waited_for_only_so_long() -> None:
    book = Credits(100, patience_ms=1000)
    book.forwarded(100)
    book.applied("matcher", 10, active=True, now_ms=0)
    book.applied("greta", 95, active=True, now_ms=500)
    assert book.in_flight(1000) == 90
    assert book.in_flight(1001) == 5
    book.applied("matcher", 90, active=True, now_ms=1200)
    assert book.in_flight(1200) == 10


def test_with_no_reader_alive_the_queue_stays_in_front() -> None:
    book = Credits(100, start=1000, patience_ms=1000)
    assert book.admits(100, 0)
    book.forwarded(1100)
    assert not book.admits(1, 0)
    book.applied("matcher", 1050, active=True, now_ms=0)
    assert book.in_flight(5000) == 50


def test_a_reader_without_queries_does_not_stand_for_one_that_has_fallen_silent() -> None:
    book = Credits(100, patience_ms=1000)
    book.applied("matcher", 0, active=True, now_ms=0)
    book.forwarded(100)
    book.applied("greta", 100, active=False, now_ms=4900)
    assert not book.admits(1, 5000), "its backlog would wait behind the shedder, out of reach"
    book.applied("matcher", 90, active=False, now_ms=5000)
    assert book.in_flight(9000) == 0, "it has none any more"


def test_a_reader_that_stays_away_does_not_hold_back_what_comes_for_others() -> None:
    book = Credits(100, patience_ms=1000)
    book.applied("matcher", 0, active=True, now_ms=0)
    book.forwarded(100)
    book.applied("greta", 100, active=False, now_ms=20_000)
    assert not book.admits(1, 20_000)
    assert book.admits(1, 20_001), "a query for greta may stand in the queue"


def test_a_reader_that_came_back_from_its_snapshot_counts_from_there() -> None:
    book = Credits(100)
    book.forwarded(100)
    book.applied("matcher", 100, active=True, now_ms=0)
    book.applied("matcher", 40, active=True, now_ms=10)
    assert book.in_flight(10) == 60


def test_a_block_larger_than_the_window_goes_when_nothing_flies() -> None:
    book = Credits(10)
    book.applied("matcher", 0, active=True, now_ms=0)
    assert book.admits(500, 0)
    book.forwarded(500)
    assert not book.admits(1, 0)
    assert book.admits(0, 0)  # controls alone cost nothing
    book.applied("matcher", 500, active=True, now_ms=1)
    assert book.admits(500, 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 40)), max_size=60), st.integers(20, 60))
def test_never_more_than_the_window_in_flight_and_never_stuck(steps: list[tuple[int, int]], window: int) -> None:
    book = Credits(window)
    forwarded = applied = 0
    for now, (events, progress) in enumerate(steps):
        if book.admits(events, now):
            forwarded += events
            book.forwarded(forwarded)
        assert forwarded - applied <= window
        applied = min(forwarded, applied + progress)
        book.applied("matcher", applied, active=True, now_ms=now)
    book.applied("matcher", forwarded, active=True, now_ms=len(steps))
    assert book.admits(window, len(steps))
