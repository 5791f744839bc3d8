"""INTO from queries that choose among matches beside a NOT, into queries WITH TIMEOUTS, against the definition."""

from __future__ import annotations

import random

from tests.reference.match import generate
from tests.reference.match.answers import answers, composed
from tests.reference.match.deadlines import may_trail
from tests.reference.match.events import events_of
from tests.reference.match.output import timeouts
from tests.reference.match.question import ANY, question
from tests.unit.engine.match.selection.test_selection import Events, rows
from tests.unit.engine.match.test_composition import of, plan_of, run


def pair(rng: random.Random) -> tuple[str, str, Events]:
    """A query whose results are known late, one that reads them, a stream."""
    while True:
        maker = generate.query(rng, strategy=rng.choice(generate.STRATEGIES[:3]), most=3, into="D")
        if "NOT" not in maker or not ("OUTPUT" in maker or "CONSUME" in maker) or not may_trail(question(maker)):
            continue
        reader = generate.query(rng, most=3, types="ADDB", timeouts=True)
        events = generate.stream(rng, rng.randrange(6, 10))
        made = composed(question(maker), events_of(events))
        if 2 <= len(made) - len(events) <= 5 and len(made) <= (10 if ANY in reader else 14) and "D" in reader:
            return maker, reader, events


def test_results_stand_where_they_are_known() -> None:
    told = 0
    for seed in range(40):
        maker, reader, events = pair(random.Random(seed))
        asked, plan = question(reader), plan_of(reader, plan_of(maker))
        stream = composed(question(maker), events_of(events))
        expected = [(match.seqs(), match.window) for match in answers(asked, stream)]
        over = [
            (tuple(tuple(event.seq for event in part) for part in one.parts), one.window, one.waits)
            for one in timeouts(asked, stream)
        ]
        texts = {"a": maker, "q": reader}
        results = run(texts, events)
        found = rows(plan, of("q", results))
        assert sorted(found, key=repr) == sorted([*expected, *over], key=repr), (seed, maker, reader)
        assert run(texts, events, range(len(events)), restarts=True) == results, (seed, maker, reader)
        told += len(found)
    assert told > 40
