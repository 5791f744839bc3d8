"""What is reported of all matches (OUTPUT, CONSUME, WITH TIMEOUTS) on random queries, against the definition.

Each query runs uncut, at random cuts, and event by event with a snapshot and restore in between: the same bytes.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from saffron.engine.match.output import collapsed
from saffron.engine.match.output.listing import listed, whole
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.cost.shedding import is_collapsed
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.answers import answers
from tests.reference.match.events import events_of
from tests.reference.match.output import timeouts
from tests.reference.match.question import ANY, Question, question
from tests.reference.match.windows import windows
from tests.unit.engine.match import cases

CHUNK = 40
MODES = ("ALL", "NON-OVERLAP", "FIRST", "LONGEST", "COMPRESSED")

Row = tuple[Any, ...]
Events = list[dict[str, Any]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, CHUNK of them."""
    if "first" in metafunc.fixturenames:
        count = 10_000 if metafunc.config.getoption("nightly") else 320
        metafunc.parametrize("first", range(0, count, CHUNK))


def case(rng: random.Random) -> tuple[str, MatchPlan, Events]:
    """A random query that chooses among its matches, its plan, and a stream for it."""
    compressed = rng.random() < 0.3
    strategy = ANY if compressed and rng.random() < 0.6 else None
    text = generate.query(rng, plain=True, strategy=strategy, most=2 if strategy else 5)
    mode = "COMPRESSED" if compressed else rng.choice(MODES[:-1])
    if compressed:
        text = re.sub(r" RETURN .*$", "", text)
    text += f" OUTPUT {mode}" + (" WITH TIMEOUTS" if rng.random() < (0.15 if compressed else 0.4) else "")
    if rng.random() < (0.15 if compressed else 0.35):
        text += " CONSUME ALL"
    try:
        plan = compile_query(text, cases.SCHEMA, name="q")
    except QueryError:  # NON-OVERLAP beside a NOT of another key, one in three thousand
        return case(rng)
    assert isinstance(plan, MatchPlan)
    events = generate.stream(rng, rng.randrange(4, 9 if ANY in text else 13), rng.choice(["AABBC", "ABC", "AAB"]))
    return text, plan, events


def wanted(asked: Question, plan: MatchPlan, events: Events) -> list[Row]:
    """What the definition gives: by component the seqs, and the window; of a run that timed out what it waited for."""
    stream = events_of(events)
    found: list[Row] = [(match.seqs(), match.window) for match in answers(asked, stream)]
    if plan.timeouts:
        for one in timeouts(asked, stream):
            found.append((tuple(tuple(event.seq for event in part) for part in one.parts), one.window, one.waits))
    return found


def openers(asked: Question, plan: MatchPlan, events: Events) -> dict[str, tuple[int, ...]]:
    """Positions at which windows open."""
    if plan.window.opens is None:
        return {}
    found = windows(asked, events_of(events))
    return {"q": tuple(window.opener.seq for window in found if window.opener is not None)}


def engine(
    asked: Question, plan: MatchPlan, events: Events, cuts: Sequence[int], *, restarts: bool, compiled: bool = False
) -> list[bytes]:
    opened = openers(asked, plan, events)
    run, texts = cases.operator({"q": plan}, compiled=compiled), []
    controls = (cases.schema_control(), cases.query_control("add"))
    for block in cases.blocks(events, cuts, opened, controls):
        texts += cases.results(run, [block])
        if restarts:
            state = {name: array.copy() for name, array in run.snapshot().items()}
            run = cases.operator({"q": plan}, compiled=compiled)
            run.restore(state)
    return texts


def rows(plan: MatchPlan, texts: Sequence[bytes]) -> list[Row]:
    """Results in the form of `wanted`, compressed ones listed."""
    found: list[Row] = []
    results = [orjson.loads(text) for text in texts]
    assert len({(result["id"], result.get("chunk")) for result in results}) == len(results)
    for result in whole(results):
        window = tuple(result["window"]) if result["window"] else None
        if "nodes" in result:
            matches = [tuple(_seqs(part) for part in match.values()) for match in listed(result)]
            assert len(matches) == result["count"]
            found += [(parts, window) for parts in matches]
            continue
        bound = [result["events"][component.variable] for component in plan.components[: plan.positive]]
        parts = tuple(_seqs([e["seq"] for e in one] if isinstance(one, list) else one and one["seq"]) for one in bound)
        assert ("waiting" in result) == ("timeout" in result) != ("return" in result)
        found.append((parts, window, tuple(result["waiting"])) if "timeout" in result else (parts, window))
    return found


def known_at_once(plan: MatchPlan) -> bool:
    """Whether results come in the order of matches: each with its last event (compressed ones window by window)."""
    windows = plan.window.slide is not None or plan.window.opens is not None
    late = plan.timeouts or plan.output is Output.LONGEST or any(plan.absences)
    return not late and not (windows and plan.output is Output.COMPRESSED)


def _seqs(bound: Any) -> tuple[int, ...]:
    return tuple(bound) if isinstance(bound, list) else () if bound is None else (bound,)


def test_results_are_those_of_the_definition_whatever_the_blocks(first: int) -> None:
    for seed in range(first, first + CHUNK):
        rng = random.Random(seed)
        text, plan, events = case(rng)
        asked = question(text)
        texts = engine(asked, plan, events, [], restarts=False)
        cuts = [rng.randrange(len(events)) for _ in range(rng.randrange(1, 4))]
        assert texts == engine(asked, plan, events, cuts, restarts=rng.random() < 0.5), (seed, text, cuts)
        assert texts == engine(asked, plan, events, range(len(events)), restarts=True), (seed, text)
        found, expected = rows(plan, texts), wanted(asked, plan, events)
        assert sorted(found, key=repr) == sorted(expected, key=repr), (seed, text)
        if known_at_once(plan):
            assert found == expected, (seed, text)


def test_there_is_room_for_every_way_to_end_in_every_window() -> None:
    text = "PATTERN SEQ(ANY(1, B v1, B v2, B v3){1,2}, NOT A) WHERE skip-till-any-match WITHIN 20 ms SLIDE 1 ms"
    plan, rng = compile_query(text, cases.SCHEMA, name="q"), random.Random(2)
    assert isinstance(plan, MatchPlan)
    events = generate.stream(rng, 5, "B")
    texts = engine(question(text), plan, events, [], restarts=False)
    assert sorted(rows(plan, texts), key=repr) == sorted(wanted(question(text), plan, events), key=repr)
    assert texts == engine(question(text), plan, events, range(len(events)), restarts=True)


def test_cases_have_all_there_is() -> None:
    seen: Counter[str] = Counter()
    for seed in range(400):
        text, plan, _ = case(random.Random(seed))
        own = plan.window.slide is not None or plan.window.opens is not None
        seen.update([f"{plan.output.value} windows {own}", f"timeouts {plan.timeouts}", f"flat {plan.flat}"])
        seen.update(["graphs"] * is_collapsed(plan) + ["consume"] * bool(plan.consume) + ["NOT"] * ("NOT" in text))
    assert len(seen) == 2 * len(MODES) + 4 + 3
    assert min(seen.values()) >= 12, seen


@pytest.mark.parametrize("seed", [9_001, 9_004, 9_005, 9_010])
def test_compiled_kernels_give_the_same_bytes(seed: int) -> None:
    text, plan, events = case(random.Random(seed))
    asked = question(text)
    texts = engine(asked, plan, events, [3], restarts=False)
    assert texts == engine(asked, plan, events, [3], restarts=False, compiled=True)


@pytest.mark.parametrize("conditions", ["[k]", "c.x > max(b[].x)", "b[i].x > a.x AND b.len > 1", "c.f < max(b[].f)"])
def test_listed_matches_make_the_graph_that_is_built_directly(conditions: str) -> None:
    """A plan WITH TIMEOUTS lists its matches first; put together they have no more nodes than are needed."""
    found = 0
    for seed in range(40):
        rng = random.Random(seed)
        where = f"WHERE skip-till-any-match {{ {conditions} }}"
        text = f"PATTERN SEQ(A a, B+ b[], C c) {where} WITHIN 16 ms OUTPUT COMPRESSED"
        events = generate.stream(rng, 14, "ABBC")
        graphs = []
        for one in (text, f"{text} WITH TIMEOUTS"):
            plan = cases.plan_of(one)
            results = map(orjson.loads, engine(question(one), plan, events, [], restarts=False))
            graphs.append([(result["count"], result["nodes"]) for result in results if "nodes" in result])
        assert graphs[0] == graphs[1]
        found += len(graphs[0])
    assert found > 20


def test_large_graphs_come_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match WITHIN 1 hour OUTPUT COMPRESSED"
    plan = cases.plan_of(text)
    events = [cases.stream(random.Random(1), 1)[0] | {"seq": n, "ts": n, "type": "ABBBBBBBBBCC"[n]} for n in range(12)]
    asked = question(text)
    (whole_one, *_) = [orjson.loads(one) for one in engine(asked, plan, events, [], restarts=False)]
    monkeypatch.setattr(collapsed, "CHUNK", 20)
    texts = engine(asked, plan, events, [], restarts=False)
    chunks = [orjson.loads(one) for one in texts if orjson.loads(one)["id"] == whole_one["id"]]
    assert [chunk["chunk"] for chunk in chunks] == list(range(len(chunks)))
    assert {chunk["chunks"] for chunk in chunks} == {len(chunks)}
    assert len(chunks) > 2
    assert [node for chunk in chunks for node in chunk["nodes"]] == whole_one["nodes"]
    assert whole_one["count"] == 2**9 - 1
    assert rows(plan, texts) == wanted(asked, plan, events)


def test_counts_beyond_63_bits_are_strings() -> None:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match WITHIN 1 hour OUTPUT COMPRESSED"
    plan = cases.plan_of(text)
    events = [cases.stream(random.Random(1), 1)[0] | {"seq": n, "ts": n, "type": "B"} for n in range(102)]
    events[0]["type"], events[-1]["type"] = "A", "C"
    (text_of_one,) = cases.results(
        cases.operator({"q": plan}), cases.blocks(events, [], {}, (cases.schema_control(), cases.query_control("add")))
    )
    assert orjson.loads(text_of_one)["count"] == str(2**100 - 1)


@pytest.mark.parametrize("output", ["CONSUME ALL", *(f"OUTPUT {mode} WITH TIMEOUTS" for mode in MODES)])
@pytest.mark.parametrize("window", ["WITHIN 20 ms", "WITHIN 20 ms SLIDE 10 ms"])
def test_memory_follows_the_window(output: str, window: str) -> None:
    plan = cases.plan_of(f"PATTERN SEQ(A a, B b) WHERE [k] {window} {output}")
    events = generate.stream(random.Random(3), 1_500, "AB")
    run, sizes = cases.operator({"q": plan}), []
    controls = (cases.schema_control(), cases.query_control("add"))
    for block in cases.blocks(events, range(0, 1_500, 30), {}, controls):
        run.apply(block)
        sizes.append(run.statistics()["state_bytes"])
    assert max(sizes[25:]) <= 1.02 * max(sizes[:25])


def test_a_pause_forgets_what_waits_wherever_blocks_are_cut() -> None:
    told = 0
    for seed in range(20_000, 20_080):
        rng = random.Random(seed)
        text, plan, events = case(rng)
        asked = question(text)
        pause, resume = sorted(rng.sample(range(1, len(events)), 2))
        controls = (
            cases.schema_control(),
            cases.query_control("add"),
            cases.query_control("pause", position=events[pause]["seq"]),
            cases.query_control("resume", position=events[resume]["seq"]),
        )
        opened = openers(asked, plan, events)
        made = [
            cases.results(cases.operator({"q": plan}), cases.blocks(events, cuts, opened, controls))
            for cuts in ([], [pause], [pause, resume], range(len(events)))
        ]
        assert made[0] == made[1] == made[2] == made[3], (seed, text, pause, resume)
        told += len(made[0])
    assert told > 40
