"""Stories over imprecise time: confidences are those of the definition, matches those of all possible worlds."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from saffron.engine.why import likely
from saffron.engine.why.bindings import SPAN, Event, Span, of
from saffron.engine.why.chance import chance
from saffron.engine.why.likely import LikelyInterpreter, way_to
from saffron.errors import InputError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import MAX_INSTANTS, Distribution
from tests.reference.match.worlds import Vague
from tests.reference.uncertain import confidence
from tests.unit.engine.uncertain.streams import Answer, chances, expected, random_events, random_query, schema_of

LAWS: tuple[Distribution, ...] = ("uniform", "triangular", (1.0, 0.0, 2.5))


def vague(rng: random.Random, law: Distribution) -> tuple[Span, Vague]:
    lo = rng.randrange(0, 9)
    hi = lo + rng.randrange(0, 5)
    return Span(lo, hi, law), Vague(0, lo, hi, "A", {}, chances(law, hi - lo + 1))


@pytest.mark.parametrize("law", LAWS)
def test_confidences_are_those_of_the_definition(law: Distribution) -> None:
    rng = random.Random(str(law))
    fitting = 0
    for _ in range(250):
        sizes = [rng.randrange(1, 3) for _ in range(rng.randrange(1, 4))]
        parts = [[vague(rng, law) for _ in range(size)] for size in sizes]
        loose = [rng.random() < 0.5 for _ in sizes]
        within = rng.randrange(1, 14)
        window = None if rng.random() < 0.7 else (low := rng.randrange(-3, 6), low + within)
        wanted = confidence([[one for _, one in part] for part in parts], loose, within=within, window=window)
        found = chance([[one for one, _ in part] for part in parts], loose, within, window)
        assert abs(found - wanted) < 1e-12, (parts, loose, within, window)
        assert (found == 0.0) is (wanted == 0)
        fitting += wanted > 0
    assert fitting > 60


def event_of(one: Vague, law: Distribution) -> Event:
    attributes = {name: value for name, value in one.attributes.items() if value is not None}
    return {"seq": one.seq, "ts": one.lo, "type": one.type, **attributes, SPAN: Span(one.lo, one.hi, law)}


def told(plan: MatchPlan, events: list[Vague], law: Distribution) -> dict[Answer, float]:
    """Matches of every key, each with the way to it."""
    found: dict[Answer, float] = {}
    for key in dict.fromkeys(tuple(one.attributes.get(name) for name in plan.key) for one in events):
        if None in key:
            continue
        interpreter = LikelyInterpreter(plan)
        for one in events:
            if tuple(one.attributes.get(name) for name in plan.key) == key:
                interpreter.step(event_of(one, law))
        for match in interpreter.matches:
            parts = [[bound.event for bound in of(match.bindings, part)] for part in range(len(plan.components))]
            seqs = tuple(tuple(event["seq"] for event in part) for part in parts)
            assert (seqs, match.window) not in found
            found[seqs, match.window] = match.chance
            way = way_to(plan, parts, match.window)
            assert way is not None
            sure = [decision.chance or 0.0 for decision in way]
            assert sure[-1] == match.chance
            assert all(after <= before + 1e-12 for before, after in pairwise(sure))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_matches_are_those_of_all_possible_worlds(seed: int) -> None:
    rng = random.Random(seed)
    matches = 0
    for _ in range(40):
        law = rng.choice(LAWS)
        text, events = random_query(rng), random_events(rng, law)
        plan = compile_query(text, schema_of(law), name="q")
        assert isinstance(plan, MatchPlan)
        found, wanted = told(plan, events, law), expected(text, events)
        assert found.keys() == wanted.keys(), (text, law, events)
        assert all(abs(found[one] - wanted[one]) < 1e-12 for one in wanted)
        matches += len(found)
    assert matches > 10


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likely, "MOST_RUNS", 100)
    long = Span(0, MAX_INSTANTS - 1, "uniform")
    assert chance([[long], [long]], [False, False], 2 * MAX_INSTANTS, None) == pytest.approx(0.5, rel=1e-5)
    with pytest.raises(InputError, match="too long to explain"):
        chance([[long], [long, long]], [False, True], 2 * MAX_INSTANTS, None)
    plan = compile_query("PATTERN A+ a[] WITHIN 99 ms CONFIDENCE >= 0", schema_of(), name="q")
    assert isinstance(plan, MatchPlan)
    interpreter = LikelyInterpreter(plan)
    for seq in range(6):
        interpreter.step({"seq": seq, "ts": seq, "type": "A"})
    with pytest.raises(InputError, match="more than 100 ways"):
        [interpreter.step({"seq": seq, "ts": seq, "type": "A"}) for seq in range(6, 9)]


def test_a_match_that_is_none_has_no_way() -> None:
    plan = compile_query("PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 9 ms CONFIDENCE >= 0.5", schema_of(), name="q")
    assert isinstance(plan, MatchPlan)
    one = {"seq": 0, "ts": 1, "type": "A", "x": 1, SPAN: Span(1, 4, "uniform")}
    other = {"seq": 1, "ts": 2, "type": "B", "x": 2, SPAN: Span(2, 3, "uniform")}
    assert way_to(plan, [[one], [other]], None) is None, "3 of 8 times are in order"
    assert way_to(plan, [[{**one, SPAN: Span(1, 2, "uniform")}], [other]], None) is not None
    assert way_to(plan, [[{**one, SPAN: Span(1, 2, "uniform"), "x": 2}], [other]], None) is None
