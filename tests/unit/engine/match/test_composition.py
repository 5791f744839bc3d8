"""INTO: queries over results of queries, against the definition; block cuts, restarts, and queries that come and go."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from saffron.engine.events.block import Control
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.shedding import sample
from saffron.engine.operators.composition import made_by, with_types
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.absence import is_trailing
from tests.reference.match.answers import answers, composed
from tests.reference.match.events import Event, events_of
from tests.reference.match.question import ANY, Question, question
from tests.reference.match.windows import windows
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.test_general import cut, described

Texts = Mapping[str, str]


def add(name: str, text: str, position: int = 0, begin: str = "now") -> Control:
    body = {"op": "add", "name": name, "version": 1, "text": text, "slot": 0, "from": begin}
    return Control(position, "query", body)


def opened(text: str, events: Sequence[Event]) -> tuple[int, ...]:
    """Positions at which windows of a query open."""
    if "OPEN ON" not in text:
        return ()
    return tuple(one.opener.seq for one in windows(question(text), events) if one.opener is not None)


class BeyondLimitError(Exception):
    """A query asks for more than an engine can, and is rejected with the reason."""


def run(
    texts: Texts, events: Sequence[dict[str, Any]], cuts: Sequence[int] = (), *, restarts: bool = False
) -> list[bytes]:
    """All results of queries added in this order."""
    openers = {name: opened(text, events_of(events)) for name, text in texts.items()}
    controls = (cases.schema_control(), *(add(name, text) for name, text in texts.items()))
    operator = MatchOperator(partition=3, compiled=False)
    found = []
    for block in cases.blocks(events, cuts, openers, controls):
        results = operator.apply(block)
        if any("at most 6 can" in status.reason for status in operator.statuses().values()):
            raise BeyondLimitError
        assert {status.state for status in operator.statuses().values()} == {"active"}, operator.statuses()
        found += results.json(0, len(results))
        if restarts:
            state = operator.snapshot()
            operator = MatchOperator(partition=3, compiled=False)
            operator.restore(state)
    return found


def of(name: str, results: Sequence[bytes]) -> list[bytes]:
    return [text for text in results if f'"query":"{name}"'.encode() in text]


def plan_of(text: str, *makers: MatchPlan) -> MatchPlan:
    plan = compile_query(text, with_types(cases.SCHEMA, made_by(makers)), name="q")
    assert isinstance(plan, MatchPlan)
    return plan


def waits(asked: Question, stream: Sequence[Event]) -> bool:
    """Whether some match is known only when its window has closed."""
    longest = asked.query.output is not None and asked.query.output.mode == "LONGEST"
    matches = answers(asked, stream)
    return longest or any(is_trailing(asked, match.bindings) or match.due is not None for match in matches)


def pair(seed: int, *, timed: bool = False) -> tuple[str, str, list[dict[str, Any]], random.Random]:
    """A query that makes some D, one that may read it, a stream. `timed`: with NOTs that last for a time."""
    rng = random.Random(seed)
    while True:
        maker = generate.query(rng, strategy=rng.choice(generate.STRATEGIES[:3]), most=2, into="D", timed=timed)
        reader = generate.query(rng, most=3, types="ADDB", timed=timed)
        events = generate.stream(rng, rng.randrange(6, 10))
        if timed and not (_binds(maker) and _binds(reader, plan_of(maker))):
            continue
        if 2 <= len(composed(question(maker), events_of(events))) - len(events) <= 6 and "D" in reader:
            return maker, reader, events, rng


def _binds(text: str, *makers: MatchPlan) -> bool:
    """Whether a query has a NOT with a time, and is not refused."""
    try:
        return any(absence.duration for absence in plan_of(text, *makers).absences)
    except QueryError:
        return False


@pytest.mark.parametrize(("first", "timed"), [*((n, False) for n in range(0, 240, 30)), (30, True), (60, True)])
def test_results_are_those_of_the_definition_whatever_the_blocks_and_restarts(first: int, timed: bool) -> None:
    served = 0
    for seed in range(first, first + 30):
        maker, reader, events, rng = pair(seed, timed=timed)
        stream = composed(question(maker), events_of(events))
        if len(stream) > 12 and ANY in reader:
            continue
        plan, asked = plan_of(reader, plan_of(maker)), question(reader)
        matches = answers(asked, stream)
        served += any(event.counter for match in matches for event in match.events())
        texts = {"a": maker, "q": reader}
        try:
            results = run(texts, events)
        except BeyondLimitError:
            continue
        expected = [described(plan, asked, match) for match in matches]
        found = cases.parsed(of("q", results))
        if waits(asked, stream):
            found, expected = sorted(found, key=repr), sorted(expected, key=repr)
        assert close(found, expected), (seed, maker, reader)
        assert run(texts, events, cut(rng, events), restarts=rng.random() < 0.5) == results, seed
    assert served > 0


# ---------------------------------------------------------------- by hand

P = "PATTERN SEQ(A a, B b) WITHIN 4 ms RETURN a.x AS x INTO D PUBLISH"
C = "PATTERN SEQ(D d, D e) WHERE skip-till-any-match WITHIN 20 ms"


def numbered(types: str) -> list[dict[str, Any]]:
    """One event a millisecond; x is the position."""
    blank = dict.fromkeys(cases.KINDS)
    return [{**blank, "seq": n, "ts": n, "type": kind, "x": n} for n, kind in enumerate(types)]


def found_by(
    name: str, events: Sequence[dict[str, Any]], controls: Sequence[Control], cuts: Sequence[int]
) -> list[Any]:
    """The positions that a query's matches bind, with its events in these blocks, restarted between any two."""
    operator, found = MatchOperator(partition=3, compiled=False), []
    for block in cases.blocks(events, cuts, {}, (cases.schema_control(), *controls)):
        results = operator.apply(block)
        found += [orjson.loads(text) for text in of(name, results.json(0, len(results)))]
        state = operator.snapshot()
        operator = MatchOperator(partition=3, compiled=False)
        operator.restore(state)
    return [[event["seq"] for event in one["events"].values()] for one in found]


@pytest.mark.parametrize("cuts", [(), (3,), (4,), (5,), range(9)])
@pytest.mark.parametrize(
    ("controls", "expected"),
    [
        ((), [[1, 3], [1, 5], [3, 5], [1, 7], [3, 7], [5, 7]]),
        ((Control(4, "query", {"op": "pause", "name": "p"}),), [[1, 3]]),
        ((Control(3, "query", {"op": "remove", "name": "p"}),), []),
        (
            (
                Control(2, "query", {"op": "pause", "name": "p"}),
                Control(4, "query", {"op": "resume", "name": "p"}),
            ),
            [[1, 5], [1, 7], [5, 7]],
        ),
        ((Control(2, "query", {"op": "remove", "name": "p"}), add("p", P, 6)), [[1, 7]]),
        ((Control(4, "query", {"op": "remove", "name": "c"}), add("c", C, 4)), [[1, 3], [5, 7]]),
    ],
    ids=["all", "maker_paused", "maker_removed", "maker_resumed", "maker_added_again", "reader_added_again"],
)
def test_queries_come_and_go(controls: Sequence[Control], expected: list[list[int]], cuts: Sequence[int]) -> None:
    events = numbered("ABABABAB")
    assert found_by("c", events, (add("p", P), add("c", C), *controls), [at for at in cuts if at < 8]) == expected


def test_a_chain_of_queries() -> None:
    """What is made of results that stand behind one event stands there too."""
    texts = {
        "z": P,
        "y": "PATTERN SEQ(D d, D e) WITHIN 20 ms RETURN d.x AS from_x, e.x AS to_x INTO E",
        "x": "PATTERN SEQ(D d, E e, NOT C c, D f) WITHIN 20 ms RETURN e.from_x AS low",
    }
    events = numbered("ABABCABAB")
    whole = run(texts, events)
    assert [(one["end"], one["return"]["low"]) for one in map(orjson.loads, of("x", whole))] == [(8, 2)]
    for at in range(9):
        assert run(texts, events, [at], restarts=True) == whole


def test_results_known_when_a_window_closes_stand_at_its_end() -> None:
    maker = "PATTERN SEQ(A a, NOT B b) WITHIN 3 ms RETURN a.x AS x INTO D PUBLISH"
    reader = "PATTERN SEQ(D d, C c) WHERE strict-contiguity WITHIN 9 ms"
    events = [one for one in numbered("ACCCCC") if one["ts"] != 3]
    for cuts in ([], [2], [3], [1, 2, 3, 4]):
        results = [orjson.loads(text) for text in run({"p": maker, "c": reader}, events, cuts, restarts=True)]
        assert [one["query"] for one in results] == ["p", "c"]
        assert results[1]["events"]["d"] == {"seq": 2, "ts": 3, "type": "D", "x": 0}
        assert results[1]["events"]["c"]["seq"] == 4


@pytest.mark.parametrize(
    ("texts", "name", "reason"),
    [
        ({"p": P, "c": "PATTERN SEQ(D d, A a) RETURN d.z AS z WITHIN 5 ms"}, "c", "unknown attribute 'z' of type D"),
        (
            {"p": "PATTERN A a WITHIN 1 ms RETURN a.x INTO D", "q": "PATTERN D d WITHIN 1 ms RETURN d.x INTO E",
             "p2": "PATTERN SEQ(E e, D d) WITHIN 9 ms RETURN e.x INTO D"},
            "p2", "query p2: a query cannot read its own results: p2 makes D for p2",
        ),
        (
            {"q": "PATTERN A a WITHIN 1 ms INTO D".replace(" INTO", " RETURN * INTO"),
             "r": "PATTERN SEQ(D d, NOT A n, D e) OUTPUT COMPRESSED WITHIN 5 ms"},
            "r", "leave OUTPUT COMPRESSED out",
        ),
        ({"p": P, "c": "PATTERN SEQ(D d, A a) WITHIN 5 ms CONFIDENCE >= 0.5"}, "c", "leave CONFIDENCE out"),
        ({"p": P, "p2": "PATTERN C c WITHIN 1 ms RETURN c.s AS x INTO E"}, "p2", "'x' is a number in the stream"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_rejected_with_the_reason(texts: Texts, name: str, reason: str) -> None:
    operator = MatchOperator(partition=0, compiled=False)
    for number, (one, text) in enumerate(texts.items()):
        control = [cases.schema_control()] if number == 0 else []
        operator.apply(cases.blocks(numbered("A"), [], {}, (*control, add(one, text)))[0])
    status = operator.statuses()[name]
    assert status.state == "rejected"
    assert reason in status.reason
    assert all(one.state == "active" for other, one in operator.statuses().items() if other != name)


def test_a_reader_cannot_see_the_past() -> None:
    operator = MatchOperator(partition=0, compiled=False)
    controls = (cases.schema_control(), add("p", P), add("c", C, begin="earliest"))
    block = cases.blocks(numbered("A"), [], {}, controls)[0]
    operator.apply(block, lambda: iter([block]))
    assert "without --from earliest" in operator.statuses()["c"].reason


def test_while_results_are_events_to_others_nothing_is_sampled_of_what_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shadow that stands when such a query comes would be given no more events, and call all that is found false."""
    monkeypatch.setattr(sample, "SHARE", 1.0)
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    events = numbered("AB" * 40)
    masks = [4 * (index % 10 == 0) for index in range(80)]
    shed: dict[str, Any] = {"text": "PATTERN SEQ(A a, B b) WITHIN 4 ms", "slot": 2, "shed": "auto"}
    started = cases.schema_control(), cases.query_control("add", **shed)
    for controls in (started, (*started, add("p", P, 23))):
        operator = MatchOperator(partition=3, compiled=False)
        for block in cases.blocks(events, range(7, 80, 7), {}, controls, masks):
            operator.apply(block)
        sampled = operator.statistics()["sampled"]["q"]
        assert sampled.missed > 0
        assert sampled.false <= sampled.missed, "a later A in the stead of one"
