"""Random queries over random events, fed by hand: whatever the cuts and snapshots, the answers of a replay.

Those of match queries are held against the reference, too.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import saffron
from saffron.api.live import Live
from saffron.api.result import Match, Result
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import QueryError
from tests.reference.match import generate
from tests.reference.match.answers import answers
from tests.reference.match.question import names, question
from tests.reference.trends import generate as trends

Events = list[dict[str, Any]]
CASES = 15


@pytest.fixture(autouse=True)
def late_events_are_expected() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def fed(rng: random.Random, texts: list[str], events: Events, **settings: Any) -> list[Result]:
    """The results of events fed in random parts, with a snapshot between some of them."""
    live = saffron.open(texts, **settings)
    found: list[Result] = []
    start = 0
    while start < len(events):
        if rng.random() < 0.25:
            live = again(live, texts, **settings)
        stop = start + rng.choice([1, 1, 1, 2, 7])
        part = events[start:stop]
        if len(part) == 1 and part[0]["type"] == "$watermark" and rng.random() < 0.8:
            found += live.advance(part[0]["ts"])
        else:
            found += live.feed(part[0] if len(part) == 1 else part)
        start = stop
    return found + again(live, texts, **settings).flush()


def again(live: Live, texts: list[str], **settings: Any) -> Live:
    return saffron.open(texts, snapshot=live.snapshot(), **settings)


def shuffled(rng: random.Random, events: Events) -> Events:
    """The events a little out of order, some too late, with bad ones and watermarks among them."""
    late = sorted(events, key=lambda event: event["ts"] + rng.randrange(6))
    made: Events = []
    for event in late:
        if rng.random() < 0.05:
            made.append({"type": "A", "ts": "no time"})
        if rng.random() < 0.15:
            made.append({"type": "$watermark", "ts": event["ts"] - rng.randrange(-1, 6)})
        made.append(event)
    return made


def plain(events: Events) -> Events:
    """Without positions, which a replay gives itself."""
    return [{name: value for name, value in event.items() if name != "seq"} for event in events]


def rows(found: list[Result]) -> list[dict[str, Any]]:
    return [one.to_dict() for one in found]


def told(letter: DeadLetter) -> tuple[str, str, bytes | None]:
    """Without its offset: among the events of a replay there are watermarks, too."""
    return letter.reason, letter.detail, letter.value


def asked(rng: random.Random) -> tuple[list[str], Events]:
    """Queries, and events for them: matches and trends by turns."""
    if rng.random() < 0.4:
        text = trends.query(rng)
        return [text], plain(trends.stream(rng, text, 14))
    texts = [generate.query(rng, timed=rng.random() < 0.5, plain=True, most=3) for _ in range(rng.choice([1, 2]))]
    return [f"QUERY q{at} {text}" for at, text in enumerate(texts)], plain(generate.stream(rng, 20))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("known", [True, False])
def test_parts_and_snapshots_change_no_answer(seed: int, known: bool) -> None:
    rng = random.Random(f"{seed} {known}")
    done = 0
    while done < CASES:
        texts, events = asked(rng)
        events, disorder = shuffled(rng, events), rng.choice([0, 0, 3, 5])
        try:
            run = saffron.replay(texts, events, disorder=disorder)
            wanted = rows(list(run))
        except QueryError:
            continue  # the random text is wrong, or has a name that these events do not have
        done += 1
        assert run._replay is not None
        letters: list[DeadLetter] = []
        settings = {"disorder": disorder, "schema": run._replay.schema if known else None}
        found = fed(rng, texts, events, on_dead_letter=letters.append, **settings)
        assert rows(found) == wanted, (texts, events, disorder)
        assert sorted(map(told, letters)) == sorted(map(told, run.dead_letters)), (events, disorder)


@pytest.mark.parametrize("seed", range(3))
def test_matches_are_those_of_the_reference(seed: int) -> None:
    rng = random.Random(seed)
    done = 0
    while done < CASES:
        text = generate.query(rng, timed=rng.random() < 0.5, plain=True, most=3)
        events = [{**event, "seq": at} for at, event in enumerate(generate.stream(rng, 10))]
        try:
            found = fed(rng, [text], plain(events))
        except QueryError:
            continue  # the random text is wrong
        done += 1
        wanted = question(text)
        leaves = [leaf.variable for leaf in names(wanted)]
        expected = sorted([[event.seq for event in part] for part in match.parts] for match in answers(wanted, events))
        assert sorted(bound(one, leaves) for one in found) == expected, (text, events)


def bound(result: Result, leaves: list[str]) -> list[list[int]]:
    """The positions of a match's events, by variable."""
    assert isinstance(result, Match)
    parts = [result.events.get(name) for name in leaves]
    return [[one["seq"] for one in (part if isinstance(part, list) else [part] if part else [])] for part in parts]
