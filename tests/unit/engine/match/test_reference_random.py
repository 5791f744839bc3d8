"""The reference matcher against itself: runs against sets of events, strategies against each other, worlds by parts."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import pytest

from tests.reference.match import generate
from tests.reference.match.answers import answers, composed
from tests.reference.match.events import Event, events_of
from tests.reference.match.generate import STRATEGIES
from tests.reference.match.matches import all_matches, all_matches_by_subsets
from tests.reference.match.question import ANY, question
from tests.reference.match.worlds import Likely, Vague, likely_matches

FUNCTIONS = {"spread": lambda values: max(values) - min(values)}


@pytest.mark.parametrize("seed", range(4))
def test_any_match_is_every_choice_of_events_that_the_pattern_derives(seed: int) -> None:
    """Without runs, so without the automaton's reading of N2-N4."""
    rng = random.Random(seed)
    for _ in range(75):
        text = generate.query(rng, strategy=ANY, functions=["spread"], most=4)
        asked = question(text, FUNCTIONS)
        events = events_of(generate.stream(rng, rng.randrange(3, 8)))
        by_runs = {match.order() for match in all_matches(asked, events)}
        assert by_runs == all_matches_by_subsets(asked, events), (text, events)


@pytest.mark.parametrize("seed", range(4))
def test_every_strategy_selects_among_the_matches_of_any_match(seed: int) -> None:
    rng = random.Random(100 + seed)
    for _ in range(40):
        state = rng.getstate()
        text = generate.query(rng, strategy=rng.choice(STRATEGIES), functions=["spread"])
        rng.setstate(state)
        rng.choice(STRATEGIES)
        loose = generate.query(rng, strategy=ANY, functions=["spread"])
        events = events_of(generate.stream(rng, 8))
        found = {match.order() for match in all_matches(question(text, FUNCTIONS), events)}
        assert found <= {match.order() for match in all_matches(question(loose, FUNCTIONS), events)}, text


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("pattern", "union"),
    [
        ("SEQ(A, B?, C)", ["SEQ(A, B, C)", "SEQ(A, C)"]),
        ("SEQ(A+, B?, C)", ["SEQ(A+, B, C)", "SEQ(A+, C)"]),
        ("SEQ(A?, B)", ["SEQ(A, B)", "B"]),
        ("SEQ(A, B*, C)", ["SEQ(A, B+, C)", "SEQ(A, C)"]),
        ("SEQ(A, B OR SEQ(C, B), A)", ["SEQ(A, B, A)", "SEQ(A, C, B, A)"]),
        ("SEQ(A, B AND C, A)", ["SEQ(A, B, C, A)", "SEQ(A, C, B, A)"]),
        ("SEQ(A, B) AND C", ["SEQ(A, B, C)", "SEQ(A, C, B)", "SEQ(C, A, B)"]),
        ("SEQ(C, ANY(2, A, B, C))", ["SEQ(C, A AND B)", "SEQ(C, A AND C)", "SEQ(C, B AND C)"]),
        ("SEQ(A, B{2}, C)", ["SEQ(A, B, B, C)"]),
        ("SEQ(A, SEQ(B, C){2})", ["SEQ(A, B, C, B, C)"]),
        ("SEQ(A, ANY(2, B))", ["SEQ(A, B, B)"]),
        ("SEQ(A, B{2,})", ["SEQ(A, B, B+)"]),
        ("SEQ(A+, C{0,1})", ["SEQ(A+, C)", "A+"]),
        ("(A+)+", ["A+"]),
        ("(A*)+", ["A+"]),
        ("SEQ(A, (B, C)+)", ["SEQ(A, (B, C)+){1}"]),
    ],
)
def test_choices_are_unions(strategy: str, pattern: str, union: list[str]) -> None:
    """language, "Selection over groups and options"; exact counts are what they abbreviate."""
    rng = random.Random(21)

    def found(text: str, events: list[Event]) -> set[tuple[tuple[int, int], ...]]:
        asked = question(f"PATTERN {text} WHERE {strategy} WITHIN 9 ms")
        return {tuple(event.place() for event in match.events()) for match in all_matches(asked, events)}

    for _ in range(12):
        events = events_of(generate.stream(rng, 8))
        assert found(pattern, events) == {one for part in union for one in found(part, events)}


def test_random_queries_use_the_whole_language_and_match() -> None:
    """Guards the generator."""
    rng = random.Random(5)
    seen: Counter[str] = Counter()
    for _ in range(250):
        text, events = generate.case(rng, functions=["spread"])
        found = answers(text, events, FUNCTIONS)
        words = (
            "SEQ OR AND ANY( DISTINCT NOT + * ? {2,3} {2,} {2} [i] [i-1] [i-2] [..i-1 [] [1] [last] .len spread SLIDE "
            "EVENTS OPEN TIME CONSUME NON-OVERLAP FIRST LONGEST RETURN [k] .k] strict-contiguity( skip-till-any-match("
        )
        seen.update(word for word in words.split() if word in text)
        seen.update({"matched": bool(found), "words": len(words.split())})
    assert seen["matched"] > 80
    assert len(seen) == 2 + seen["words"] // 250


def test_results_of_one_query_serve_another() -> None:
    rng = random.Random(9)
    served = 0
    for _ in range(120):
        events = events_of(generate.stream(rng, 9))
        first = question(generate.query(rng, strategy=rng.choice(STRATEGIES[:3]), most=2, into="D"))
        second = question(generate.query(rng, most=2, types="ADDD"))
        stream = composed(first, events)
        assert [event for event in stream if not event.counter] == events
        assert all(one.order() < other.order() for one, other in pairwise(stream))
        if len(stream) > 14:
            continue
        served += any(event.type == "D" for match in answers(second, stream) for event in match.events())
    assert served > 5


# ---------------------------------------------------------------- imprecise time


def test_certain_times_are_a_world_of_their_own() -> None:
    rng = random.Random(3)
    for _ in range(40):
        text = generate.query(rng, strategy=ANY, most=3, plain=True)
        if "EVENTS" in text:
            continue
        certain = [
            Vague(n, 2 * n, 2 * n, kind, {"x": n % 3, "f": 0.5, "k": 1, "g": "a", "t": True})
            for n, kind in enumerate(rng.choices("AABBC", k=6))
        ]
        stream = [Event(one.seq, one.lo, one.type, one.attributes) for one in certain]
        wanted = sorted((match.window or (), match.places()) for match in all_matches(question(text), stream))
        found = [(one.window or (), one.parts) for one in likely_matches(question(text), certain)]
        assert sorted(found) == wanted
        assert {one.confidence for one in likely_matches(question(text), certain)} <= {Fraction(1)}


def _confidence(match: Likely, events: list[Vague], width: int) -> Fraction:
    """The probability that the parts of a flat SEQ follow each other within the window, from their own times alone."""
    own = [[events[seq] for seq, _ in part] for part in match.parts]
    total = Fraction(0)
    for choice in product(*(list(event.times()) for part in own for event in part)):
        times = iter(choice)
        placed = [[next(times) for _ in part] for part in own]
        spans = [(min(part)[0], max(part)[0]) for part in placed]
        in_turn = all(before[1] < after[0] for before, after in pairwise(spans))
        if in_turn and spans[-1][1] - spans[0][0] <= width:
            probability = Fraction(1)
            for _, weight in choice:
                probability *= weight
            total += probability
    return total


def test_confidence_is_that_of_the_matchs_own_events() -> None:
    """Of a flat SEQ with uncorrelated closures: what the other events do is of no account."""
    rng = random.Random(11)
    asked = question("PATTERN SEQ(A a, B+ b, C c) WITHIN 4 ms")
    found = 0
    for _ in range(25):
        events = generate.vague_stream(rng, 5, "ABBC")
        for match in likely_matches(asked, events):
            assert match.confidence == _confidence(match, events, 4)
            found += 1
    assert found > 10
