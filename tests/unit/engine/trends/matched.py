"""The trends of an aggregate query as saffron's own matcher finds them: the matches of the match twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from tests.reference.match.events import Event, events_of
from tests.reference.trends.results import Answer, of_window
from tests.reference.trends.twin import twin_text
from tests.reference.trends.windows import Trend, windows
from tests.unit.engine.trends.language import SCHEMA, Case, blocks
from tests.unit.engine.trends.refused import TWINLESS


def why_not(made: Case) -> str | None:
    """Why a case has no twin that the matcher can run and tell windows apart by: an entry of TWINLESS, or None."""
    if len(made.asked.sides) > 1:
        return TWINLESS.pairs
    text = twin_text(made.asked.sides[0])
    if text is None:
        return TWINLESS.next
    stream = events_of(made.events)
    lows = [window.low for window in windows(made.asked.query.within, stream)]
    if len(set(lows)) < len(lows):
        return TWINLESS.openers
    try:
        compile_query(text, SCHEMA, name="q")
    except QueryError as error:
        for why in (TWINLESS.nested, TWINLESS.lists):
            if why in str(error):
                return why
        raise
    return None


def answers_by_matches(made: Case) -> list[Answer]:
    """The aggregates over the matches that the matcher finds."""
    text = twin_text(made.asked.sides[0])
    assert text is not None
    stream = events_of(made.events)
    found = _trends(made, text, stream)
    result: list[Answer] = []
    for window in windows(made.asked.query.within, stream):
        result += of_window(made.asked, window, found.get((window.low, window.high), set()))
    return sorted(result, key=lambda answer: (answer.high, answer.opener))


def _trends(made: Case, text: str, stream: Sequence[Event]) -> dict[tuple[int, int], set[Trend]]:
    """By window."""
    by_seq = {event.seq: event for event in stream}
    numbers = {leaf.variable: leaf.number for leaf in made.asked.sides[0].pattern.leaves}
    running = MatchOperator(partition=3, compiled=False)
    found: dict[tuple[int, int], set[Trend]] = {}
    for block in blocks(made, text=text):
        results = running.apply(block)
        for line in map(orjson.loads, results.json(0, len(results))):
            taken: list[tuple[int, Event]] = []
            for variable, bound in line["events"].items():
                taken += [(numbers[variable], by_seq[one["seq"]]) for one in _listed(bound)]
            trend = tuple(sorted(taken, key=lambda one: one[1].order()))
            mine = found.setdefault(tuple(line["window"]), set())
            assert trend not in mine, "a match twice"
            mine.add(trend)
    return found


def _listed(bound: Any) -> list[Any]:
    if bound is None:
        return []
    return bound if isinstance(bound, list) else [bound]
