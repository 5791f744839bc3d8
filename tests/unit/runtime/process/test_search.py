"""Searches beside the loop: a chain asks again until its own one has ended."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from saffron.errors import LogError, SearchError
from saffron.runtime.process import search
from saffron.runtime.process.background import at_once
from saffron.runtime.process.search import Check, Search


def test_a_short_search_is_waited_for() -> None:
    assert Search[int](at_once).outcome(lambda check: 7, "the last one") == 7


def test_a_long_one_begins_once_and_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    begun: list[Future[Any]] = []

    def later(work: Callable[[], Any]) -> Future[Any]:
        begun.append(Future())
        return begun[-1]

    one = Search[int](later)
    for _ in range(3):
        with pytest.raises(SearchError, match=r"^the last one is looked for$"):
            one.outcome(lambda check: 7, "the last one")
    assert len(begun) == 1
    begun[0].set_result(7)
    assert one.outcome(lambda check: 8, "the last one") == 7
    with pytest.raises(SearchError):
        one.outcome(lambda check: 8, "the last one")
    begun[1].set_exception(LogError("away"))
    with pytest.raises(LogError, match="away"):
        one.outcome(lambda check: 8, "the last one")


def test_a_search_that_is_under_way_is_known_before_anything_is_made_for_its_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    future: Future[Any] = Future()

    def later(work: Callable[[], Any]) -> Future[Any]:
        del work
        return future

    one = Search[int](later)
    one.check()
    for ask in (lambda: one.outcome(lambda check: 7, "the last one"), one.check):
        with pytest.raises(SearchError, match=r"^the last one is looked for$"):
            ask()
    future.set_result(7)
    one.check()
    assert one.outcome(lambda check: 8, "the last one") == 7


def test_a_search_that_nobody_wants_any_more_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    begun: list[tuple[Future[Any], Callable[[], Any]]] = []

    def later(work: Callable[[], Any]) -> Future[Any]:
        begun.append((Future(), work))
        return begun[-1][0]

    def looks(check: Check) -> int:
        check()
        return 7

    one = Search[int](later)
    one.give_up()
    for _ in range(2):
        with pytest.raises(SearchError):
            one.outcome(looks, "the last one")
        one.give_up()
        one.check()
    (waiting, _), (_, running) = begun
    assert waiting.cancelled(), "it did not begin"
    with pytest.raises(SearchError, match="not wanted any more"):
        running()
    with pytest.raises(SearchError):
        one.outcome(looks, "the last one")
    assert begun[2][1]() == 7, "the next one is another"
