"""NOT ... FOR and NOT ... EVERY: random queries against the definition, whatever blocks, restarts and watermarks."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from saffron.engine.events.block import Block
from saffron.engine.match.general.automaton import build
from saffron.errors import QueryError, SaffronError
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.question import question
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.selection import test_selection
from tests.unit.engine.match.test_general import Case, cut, described, wanted

CHUNK = 50
_RETURN = re.compile(r" RETURN .*$")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, CHUNK of them."""
    if "first" in metafunc.fixturenames:
        count = 20_000 if metafunc.config.getoption("nightly") else 1_000
        metafunc.parametrize("first", range(0, count, CHUNK))


def queries(seeds: Iterable[int]) -> Iterator[Case]:
    """Random queries with a NOT that lasts for a time; those that are refused are left out."""
    for seed in seeds:
        rng = random.Random(seed)
        text, events = generate.case(rng, plain=seed % 2 == 0, timed=True, most=4)
        try:
            plan = cases.plan_of(text)
            build(plan)
        except SaffronError:  # a NOT in a repetition that reads on is refused when it starts
            continue
        if any(absence.duration for absence in plan.absences):
            yield text, plan, events, rng


def test_results_are_those_of_the_definition_whatever_the_blocks(first: int) -> None:
    for text, plan, events, rng in queries(range(first, first + CHUNK)):
        asked, matches = wanted(text, events)
        expected = sorted((described(plan, asked, match) for match in matches), key=repr)
        cuts = cut(rng, events)
        texts = cases.engine(plan, events, cuts=cuts)
        assert texts == cases.engine(plan, events), (text, cuts, events)
        assert close(sorted(cases.parsed(texts), key=repr), expected), (text, cuts, events)


def _least(text: str) -> str | None:
    """The WITHIN that a query needs by the error that refuses it; None: it is not refused as too long."""
    try:
        cases.plan_of(text)
    except QueryError as error:
        found = re.search(r"WITHIN (.+) or more", error.hint)
        return found[1] if found is not None and error.message.startswith("a match lasts longer") else None
    return None


def test_what_is_refused_as_too_long_for_its_window_has_no_match() -> None:
    tried = 0
    for seed in range(4_000):
        rng = random.Random(90_000 + seed)
        text = generate.query(rng, plain=seed % 2 == 0, timed=True, most=4)
        if (least := _least(text)) is None:
            continue
        for _ in range(3):
            events = generate.stream(rng, rng.randrange(5, 12))
            assert wanted(text, events)[1] == [], (text, events)
        assert _least(re.sub(r"WITHIN \d+ ms", f"WITHIN {least}", text)) is None
        tried += 1
    assert tried > 50


def test_timed_out_runs_and_collapsed_matches_are_those_of_the_definition() -> None:
    tried = rows = 0
    for seed in range(120):
        rng = random.Random(80_000 + seed)
        text = _RETURN.sub("", generate.query(rng, plain=True, timed=True, most=3))
        text += f" OUTPUT {rng.choice(['ALL WITH TIMEOUTS', 'ALL WITH TIMEOUTS', 'FIRST WITH TIMEOUTS', 'COMPRESSED'])}"
        events = generate.stream(rng, rng.randrange(5, 10))
        try:
            plan = cases.plan_of(text)
        except QueryError:
            continue
        found = test_selection.rows(plan, cases.engine(plan, events, cuts=cut(rng, events)))
        wanted_rows = test_selection.wanted(question(text), plan, events)
        assert close(sorted(found, key=repr), sorted(wanted_rows, key=repr)), (text, events)
        tried += 1
        rows += len(found)
    assert tried > 50
    assert rows > 100


def test_restarts_and_watermarks_change_nothing() -> None:
    matches = 0
    for text, plan, events, rng in queries(range(50_000, 50_400)):
        blocks = _advanced(_blocks(plan, events, cut(rng, events)), events, rng)
        whole = cases.results(cases.operator({"q": plan}), _blocks(plan, events, ()))
        run, texts = cases.operator({"q": plan}), []
        for block in blocks:
            texts += cases.results(run, [block])
            state = {name: array.copy() for name, array in run.snapshot().items()}
            run = cases.operator({"q": plan})
            run.restore(state)
        assert texts == whole, (text, events)
        matches += len(whole)
    assert matches > 200


@pytest.mark.parametrize("seed", [2, 5, 23, 41])
def test_compiled_kernels_give_what_plain_ones_give(seed: int) -> None:
    for text, plan, _, rng in islice(queries(range(60_000 + 100 * seed, 61_000 + 100 * seed)), 1):
        for _ in range(25):
            events = generate.stream(rng, rng.randrange(5, 16), "AABBC")
            compiled = cases.engine(plan, events, compiled=True, cuts=cut(rng, events))
            assert compiled == cases.engine(plan, events), (text, events)


@pytest.mark.parametrize("last", ["FOR 5 ms", "EVERY 5 ms"])
def test_a_match_comes_when_the_watermark_has_passed_its_due_time(last: str) -> None:
    plan = cases.plan_of(f"PATTERN SEQ(A a, NOT B {last}) WITHIN 30 seconds")
    (block,) = _blocks(plan, [_event(0, 1, "A")], ())
    run = cases.operator({"q": plan})
    assert cases.results(run, [replace(block, end=False), _empty(block, 5), _empty(block, 6)]) == []
    assert len(cases.results(run, [_empty(block, 7)])) == 1
    again = cases.results(run, [_empty(block, 17)])
    assert [json.loads(one)["end"] for one in again] == ([11, 16] if "EVERY" in last else [])


def test_the_reports_of_one_match_have_ids_of_their_own() -> None:
    plan = cases.plan_of("PATTERN SEQ(A a, NOT B EVERY 5 ms) WITHIN 20 ms")
    found = cases.parsed(cases.engine(plan, [_event(0, 1, "A")]))
    assert [one["end"] for one in found] == [6, 11, 16, 21]


def _event(seq: int, ts: int, kind: str) -> dict[str, Any]:
    return {"seq": seq, "ts": ts, "type": kind, **dict.fromkeys("xfstkg")}


def _blocks(plan: MatchPlan, events: list[dict[str, Any]], cuts: Sequence[int]) -> list[Block]:
    controls = (cases.schema_control(), cases.query_control("add"))
    return cases.blocks(events, cuts, {"q": cases.openers(plan, events)}, controls)


def _advanced(blocks: list[Block], events: list[dict[str, Any]], rng: random.Random) -> Iterator[Block]:
    """The blocks with watermarks up to the next event, and others without events between them."""
    instants = {event["seq"]: event["ts"] for event in events}
    for block in blocks:
        following = instants.get(block.next_seq, block.watermark)
        yield block
        if not block.end:
            yield _empty(block, rng.randrange(block.watermark, following + 1))


def _empty(block: Block, watermark: int) -> Block:
    """A block without events behind another one."""
    nothing = cases.columns([])
    after = block.next_seq
    return replace(block, columns=nothing, first_seq=after, watermark=watermark, end=False, controls=(), opened={})
