"""Events that another thread reads and decodes while the engines run."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.runtime.replay import fused
from saffron.runtime.replay.ahead import made_ahead
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay

TEXTS = {
    "match": "PATTERN SEQ(A a, B+ b[], NOT C n, A c) WHERE [k] AND b[i].x > a.x WITHIN 1 s RETURN count(b[]) AS n",
    "trend": "PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x GROUP BY k WITHIN 1 s SLIDE 500 ms RETURN k, COUNT(*)",
}


def test_the_same_items_come_in_the_same_order() -> None:
    assert list(made_ahead(iter(range(1000)))) == list(range(1000))
    assert list(made_ahead(iter(()))) == []


def test_an_error_comes_in_its_place_and_ends_the_items() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2, 3)
        raise OSError("the disk is gone")

    ahead = made_ahead(items())
    assert [next(ahead), next(ahead), next(ahead)] == [1, 2, 3]
    with pytest.raises(OSError, match="the disk is gone"):
        next(ahead)
    assert list(ahead) == []


def test_nobody_takes_items_any_more_once_it_is_closed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    ahead = made_ahead(items())
    assert next(ahead) == 0
    ahead.close()
    assert "reading ahead" not in {one.name for one in threading.enumerate()}
    assert len(taken) <= 4  # the one that was asked for, and those ahead of it


def test_the_thread_that_makes_items_may_collect_the_iterator_as_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody but a cycle refers to the iterator, and garbage is collected in any thread."""
    errors: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: errors.append(found.exc_value))
    makes, abandoned, closed = threading.Event(), threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        try:
            yield 0
            makes.set()
            assert abandoned.wait(10)
            gc.collect()
            yield 1
        finally:
            closed.set()

    def abandon() -> None:
        cycle: list[object] = [made_ahead(items())]
        cycle.append(cycle)
        assert next(cycle[0]) == 0  # type: ignore[call-overload]
        assert makes.wait(10)

    gc.disable()
    try:
        abandon()
        abandoned.set()
        assert closed.wait(10)
    finally:
        gc.enable()
    assert errors == []


def batches(seed: int) -> list[RawBatch]:
    """Random events of a stream that has late, bad and unknown ones, in batches of random sizes."""
    draw = random.Random(seed)
    values, now = [], 0
    for _ in range(400):
        now += draw.randrange(9)
        event: dict[str, Any] = {"type": draw.choice("ABC"), "ts": now - draw.randrange(12), "k": draw.randrange(2)}
        values.append(b"no event" if draw.random() < 0.02 else orjson.dumps(event | {"x": draw.randrange(17)}))
    cuts = sorted(draw.sample(range(1, 400), 9))
    parts = zip([0, *cuts], [*cuts, 400], strict=True)
    whole = batch_of_values(values)
    return [whole.part(first, last) for first, last in parts]


def answers(seed: int, *, ahead: bool) -> tuple[list[bytes], list[tuple[int, str]], dict[str, Any]]:
    run = Replay([Query(name, text) for name, text in TEXTS.items()], disorder=8, ahead=ahead)
    lines, letters = [], []
    for merged in run.results(batches(seed)):
        letters += [(one.offset, one.reason) for one in run.dead_letters()]
        lines += [text for texts in merged.json() for text in texts]
    letters += [(one.offset, one.reason) for one in run.dead_letters()]
    return lines, letters, {name: one for name, one in run.figures().items() if "second" not in name}


@pytest.mark.parametrize("seed", range(6))
def test_answers_and_dead_letters_are_those_of_one_thread(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "INTERPRETED_RECORDS", 50)
    apart = answers(seed, ahead=True)
    assert apart == answers(seed, ahead=False)
    assert len(apart[0]) > 3
    assert len(apart[1]) > 3


def test_time_is_counted_once() -> None:
    run = Replay([Query("q", TEXTS["match"])], ahead=True)
    assert sum(map(len, run.results(batches(1)))) > 0
    figures = run.figures()
    whole = figures["decode_seconds"] + figures["seconds"]
    assert figures["seconds"] >= 0
    assert figures["events_per_second"] == pytest.approx(figures["events"] / whole, rel=0.01)
