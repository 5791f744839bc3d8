"""Runs whose deadlines are in no order: what has expired stays for a while, and nobody can tell."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match.core import due, merged
from saffron.engine.match.core.merged import FOLLOWER_COLUMNS, FOLLOWER_GROUP, FOLLOWER_ROWS
from saffron.engine.match.core.pools import Pool
from saffron.engine.match.core.runs import DEADLINE, DUE, LENGTH, OLDEST, STALE, START, append, reserve
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.merging import merge
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close

GROUPS = 7


# ---------------------------------------------------------------- one segment, beside a list of runs


@dataclass
class Segment:
    """The followers of one key, and beside them `alive`: deadline and number of each, in order."""

    pool: Pool = field(default_factory=lambda: Pool(0, FOLLOWER_ROWS, FOLLOWER_COLUMNS))
    alive: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        floats, ints, heads, self.segments, _ = self.pool.arrays
        self.own = floats, ints, heads, self.segments

    def come(self, deadline: int, number: int) -> None:
        room = 1 + due.spare_lanes(int(self.segments[0, LENGTH]))
        while not reserve(*self.pool.arrays, 0, room):
            self.pool.grow()
            self.__post_init__()
        lane = append(self.segments, 0, deadline)
        if self.segments[0, DUE] > 0:
            due.remember(self.pool.ints, self.segments, 0, deadline)
        self.pool.ints[[DEADLINE, START, FOLLOWER_GROUP], lane] = deadline, number, number % GROUPS
        self.alive.append((deadline, number))

    def leave(self, at: int) -> None:
        """The run that is alive in this place does not go on: lanes behind it move up, none is stale then."""
        due.compact(*self.own, 0)
        deadline, _ = self.alive.pop(at)
        if self.segments[0, DUE] > 0:
            due.unlist(self.pool.ints, self.segments, 0, deadline)
        lanes = self.pool.lanes()
        self.pool.ints[:, lanes[at:-1]] = self.pool.ints[:, lanes[at + 1 :]]
        self.segments[0, LENGTH] -= 1

    def disband(self, group: int) -> None:
        """All of a group leave."""
        stay = [run for run in self.alive if run[1] % GROUPS != group]
        assert merge.disband(*self.own[1:], 0, group) == len(self.alive) - len(stay)
        self.alive = stay

    def pass_time(self, now: int) -> None:
        stay = [run for run in self.alive if run[0] >= now]
        over = due.mark_expired(*self.own, 0, now) if self.segments[0, LENGTH] and self.segments[0, OLDEST] < now else 0
        assert over == len(self.alive) - len(stay)
        self.alive = stay
        held = [tuple(one) for one in self.pool.ints[[DEADLINE, START]][:, self.pool.lanes()].T.tolist()]
        assert [one for one in held if one[0] >= now] == stay
        assert self.pool.held == self.pool.live(now) == len(stay)
        assert self.segments[0, STALE] <= len(held) // 2
        assert all(self.segments[0, OLDEST] <= deadline for deadline, _ in stay)
        assert all(deadline < self.segments[0, OLDEST] for deadline, _ in set(held) - set(stay))


@pytest.mark.parametrize(("many", "share"), [(2, 2), (30, 3), (due.MANY, due.SHARE)])
def test_a_segment_holds_what_a_list_of_runs_does(many: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "MANY", many)
    monkeypatch.setattr(due, "SHARE", share)
    rng = random.Random(many)
    stale = listed = 0
    for spread in (40, 4 * many):
        segment, number = Segment(), 0
        for now in range(8 * many + 200):
            segment.pass_time(now)
            for _ in range(rng.choice([0, 0, 1, 3, 6])):
                segment.come(now + rng.randrange(spread), number)
                number += 1
            if segment.alive and rng.random() < 0.1:
                segment.leave(rng.randrange(len(segment.alive)))
            if rng.random() < 0.05:
                segment.disband(rng.randrange(GROUPS))
            if rng.random() < 0.02:
                due.compact(*segment.own, 0)
            stale += int(segment.segments[0, STALE] > 0)
            listed += int(segment.segments[0, DUE] > 0)
    assert min(stale, listed) > 30


# ---------------------------------------------------------------- kernels, with lists and without


SHAPES = (
    "SEQ(A a, B b, C c) WHERE {any} {{ b.x > a.x AND c.x < b.x }}",
    "SEQ(A a, B b, C c, B d) WHERE {any} {{ [k] AND b.x > a.x AND c.x = b.x AND d.x < c.x }}",
    "SEQ(A a, B+ b[], C c) WHERE {any} {{ b[1].x > a.x AND b[i].x = b[i-1].x + 1 AND c.x < 1 }}",
    "SEQ(A+ a[], B b) WHERE {any} {{ a[i].x = a[i-1].x + 2 AND b.x < a[LAST].x }}",
    "SEQ(A a, B b, C c) WHERE {next} {{ b.x > a.x AND c.x = b.x - 3 }}",
    "SEQ(A a, B b, C c, A d) WHERE {next} {{ [k] AND b.x > a.x AND c.x = b.x - 3 AND d.x > c.x }}",
    "SEQ(A a, B+ b[], C c) WHERE {next} {{ b[1].x > a.x AND b[i].x >= b[i-1].x AND c.f > 2.5 }}",
    "SEQ(A a, B+ b[]) WHERE {next} {{ b[1].x > a.x AND b[i].x > b[i-1].x }}",
    "SEQ(A a, B+ b[], C c) WHERE {next} {{ b[1].x > a.x AND b[i].x >= b[i-1].x AND c.f = 4 AND c.x < b[LAST].x }}",
    "SEQ(A a, B+ b[], C c, A d) WHERE {next} {{ b[1].x > a.x AND b[i].x > b[i-1].x AND c.x < 2 AND d.x < c.x }}",
)
"""Runs that come into their states in another order than they began in."""
WINDOWS = ("80 ms", "40 EVENTS", "60 ms SLIDE 25 ms", "90 EVENTS", "60 EVENTS OUTPUT FIRST", "60 ms OUTPUT FIRST")


def shaped(shape: str, window: str) -> MatchPlan:
    pattern = shape.format(any="skip-till-any-match", next="skip-till-next-match")
    return cases.plan_of(f"PATTERN {pattern} WITHIN {window}")


def paused(rng: random.Random, size: int) -> list[dict[str, Any]]:
    """A stream with pauses longer than any window, and now and then a key that is silent for a while; some have few
    values, so that runs merge."""
    ahead, silent, events, values = 0, 0, [], rng.choice([range(-3, 6), range(3)])
    for event in cases.stream(rng, size, "ABC"):
        if rng.random() < 0.008:
            ahead += 100
        if rng.random() < 0.02:
            silent = rng.choice([0, 0, 1, 2])
        if silent == 0 or event["k"] != silent - 1:
            moved = {"seq": event["seq"] + ahead, "ts": event["ts"] + ahead}
            events.append({**event, **moved, "x": rng.choice(values)})
    return events


def runs_of(run: MatchOperator) -> QueryRuns | None:
    found = next((one.runs for one in run._standing.values()), None)
    return found if isinstance(found, QueryRuns) else None


def stale(run: MatchOperator) -> int:
    found = runs_of(run)
    return 0 if found is None else sum(int(pool.segments[:, STALE].sum()) for pool in found.pools)


def seen(plan: MatchPlan, blocks: Sequence[Block], *, again: bool = False) -> tuple[list[Any], int]:
    """Block by block results, partial matches and transitions; and how many were stale, all in all. `again`: from a
    snapshot after every block, and without transitions, which a snapshot does not hold."""

    def made() -> MatchOperator:
        return MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan)

    run, found, total = made(), [], 0
    for block in blocks:
        texts = cases.results(run, [block])
        rows = [] if again else run.observations().get("observations.transitions", [])
        counted = [{name: value for name, value in row.items() if name != "nanoseconds"} for row in rows]
        found.append((texts, run.statistics()["partial_matches"], counted))
        total += stale(run)
        if again:
            state = {name: array.copy() for name, array in run.snapshot().items()}
            run = made()
            run.restore(state)
    return found, total


@pytest.mark.parametrize("shape", SHAPES)
def test_results_counts_and_observations_are_the_same_with_lists_and_without(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(shape)
    held = matches = 0
    monkeypatch.setattr(merged, "LEAST", 2)
    monkeypatch.setattr(merge, "LEAST", 1)
    for number, window in enumerate(WINDOWS):
        plan = shaped(shape, window)
        events = paused(rng, 180)
        orders = [
            Control(event["seq"], "keep", {"query": "q", "n": rng.randrange(10, 40), "by": "random", "seed": number})
            for event in events
            if number % 2 and rng.random() < 0.06
        ]
        blocks = cases.blocks_of(plan, events, [rng.randrange(len(events)) for _ in range(25)], orders)
        wanted, none = seen(plan, blocks)
        assert none == 0
        with monkeypatch.context() as patched:
            patched.setattr(due, "MANY", 2)
            patched.setattr(due, "SHARE", 2)
            found, some = seen(plan, blocks)
            assert found == wanted, (plan, events)
            restored, _ = seen(plan, blocks, again=True)
        assert [one[:2] for one in restored] == [one[:2] for one in wanted]
        held += some
        matches += sum(len(texts) for texts, *_ in wanted)
    assert held > 2
    assert matches > 3


def test_orders_on_merged_runs_leave_the_same_with_lists_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged, "LEAST", 2)
    monkeypatch.setattr(merge, "LEAST", 1)
    rng, held = random.Random(3), 0
    for _ in range(12):
        plan = shaped(SHAPES[6], rng.choice(["60 EVENTS", "90 ms"]))
        events = [{**event, "x": rng.randrange(3)} for event in cases.stream(rng, 150, "AAABC")]
        cuts = sorted(rng.sample(range(len(events)), 6))
        orders = [
            Control(events[at]["seq"], "keep", {"query": "q", "n": rng.randrange(15, 30), "by": "random", "seed": at})
            for at in cuts
        ]
        blocks = cases.blocks_of(plan, events, cuts, orders)
        wanted, _ = seen(plan, blocks)
        with monkeypatch.context() as patched:
            patched.setattr(due, "MANY", 2)
            patched.setattr(due, "SHARE", 2)
            found, some = seen(plan, blocks)
        assert found == wanted, events
        held += some
    assert held > 5


@pytest.mark.parametrize("shape", SHAPES)
def test_results_are_those_of_the_definition(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "MANY", 2)
    monkeypatch.setattr(due, "SHARE", 2)
    rng = random.Random(shape)
    for window in ("12 ms", "10 EVENTS"):
        plan = shaped(shape, window)
        for _ in range(4):
            events = cases.stream(rng, 24, "ABC")
            texts = cases.engine(plan, events, cuts=[rng.randrange(len(events)) for _ in range(3)])
            assert close(cases.parsed(texts), cases.expected(plan, events)), events


# ---------------------------------------------------------------- thousands of runs

SIZE, WINDOW = 6_000, 2_000
NEAR, NEARER = 0.01, 0.0005
MANY_RUNS = f"""PATTERN SEQ(A a, B b, C c)
WHERE skip-till-any-match {{ b.f > a.f AND b.f < a.f + {NEAR} AND c.f > b.f AND c.f < b.f + {NEARER} }}
WITHIN {WINDOW} EVENTS"""


def counted(events: Sequence[Any], pairs: Sequence[tuple[int, int]], position: int) -> int:
    """Partial matches behind the event at a position: what is bound lies in the window that began with the first."""
    low = position - WINDOW + 1
    begun: int = sum(event["type"] == "A" for event in events[max(0, low) : position + 1])
    return begun + sum(a >= low and b <= position for a, b in pairs)


def test_thousands_of_runs_over_several_windows() -> None:
    rng = random.Random(9)
    events = [
        {**event, "seq": at, "type": rng.choice("ABC"), "f": rng.random()}
        for at, event in enumerate(cases.stream(rng, SIZE))
    ]
    by_type = {name: sorted((e["f"], e["seq"]) for e in events if e["type"] == name) for name in "AB"}

    def before(name: str, f: float, seq: int, width: float) -> list[int]:
        """Events of a type less than `width` below, earlier, in one window."""
        found = by_type[name]
        near = found[bisect_left(found, (f - width, SIZE)) : bisect_left(found, (f, -1))]
        return [other for value, other in near if seq - WINDOW < other < seq and value < f < value + width]

    pairs = [(a, e["seq"]) for e in events if e["type"] == "B" for a in before("A", e["f"], e["seq"], NEAR)]
    firsts: dict[int, list[int]] = {}
    for a, b in pairs:
        firsts.setdefault(b, []).append(a)
    wanted = [
        (a, b, e["seq"])
        for e in events
        if e["type"] == "C"
        for b in before("B", e["f"], e["seq"], NEARER)
        for a in firsts.get(b, ())
        if a > e["seq"] - WINDOW
    ]
    plan = cases.plan_of(MANY_RUNS)
    run, texts, most = cases.operator({"q": plan}, compiled=True), [], 0
    for block in cases.blocks_of(plan, events, sorted(rng.sample(range(SIZE), 40))):
        texts += cases.results(run, [block])
        assert run.statistics()["partial_matches"] == {"q": counted(events, pairs, block.next_seq - 1)}
        most = max(most, stale(run))
    found = [tuple(bound["seq"] for bound in one["events"].values()) for one in cases.parsed(texts)]
    assert sorted(found) == sorted(wanted)
    assert len(found) > 500
    assert most > 20
