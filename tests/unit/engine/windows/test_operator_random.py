"""The windowing operator against its twin: any batching, any block size, restarts from any block."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.raw import batch_of_values
from saffron.engine.windows import WindowingOperator
from saffron.records.stream import StreamRecord
from saffron.schema.schema import END_OF_TIME, Kind, Schema
from tests.reference.windowing import ReferenceWindowing

SCHEMA = Schema({"id": Kind.INT, "name": Kind.STRING}, {"A": ("id", "name")}, {"A": frozenset()})


@dataclass(frozen=True)
class Step:
    """A record (`value`, with its `offset` and `ts`), or a decision: a watermark, an end, a disorder, a silence.

    Or a schema that is given. `lacks`: a record without an attribute that a given schema may require (`requires`).
    """

    value: bytes | None = None
    offset: int = 0
    ts: int | None = None
    watermark: int | None = None
    end: bool = False
    disorder: int | None = None
    silence: int = 0
    lacks: bool = False
    requires: bool | None = None


def script(rng: random.Random, n: int, silent: float = 0.0, given: float = 0.0) -> list[Step]:
    """Records with offsets that have gaps, some bad, some `$watermark`s, and decisions between them.

    `silent`: the chance of a silence. `given`: that of a schema.
    """
    steps: list[Step] = []
    now, offset = 1000, 0
    spread = rng.choice([0, 3, 30])
    for number in range(n):
        now += rng.choice([0, 0, 1, 2, 7])
        offset += rng.choice([1, 1, 1, 4])
        ts = now + rng.randrange(-spread, spread + 1)
        kind = rng.random()
        if kind < 0.04:
            end = rng.random() < 0.5
            text = f'{{"type":"$watermark","ts":{ts},"end":{"true" if end else "false"}}}'
            steps.append(Step(text.encode(), offset, None, watermark=ts, end=end))
        elif kind < 0.07:
            steps.append(Step(b"{", offset))
        else:
            lacks = given > 0 and rng.random() < 0.3
            name = "" if lacks else f',"name":"n{number % 11}"'
            text = f'{{"type":"A","ts":{ts},"id":{offset}{name}}}'
            steps.append(Step(text.encode(), offset, ts, lacks=lacks))
        if rng.random() < 0.04:
            steps.append(Step(watermark=now + rng.randrange(-5, 5), end=rng.random() < 0.4))
        if rng.random() < 0.02:
            steps.append(Step(disorder=rng.choice([0, 5, 40])))
        if given and rng.random() < given:
            steps.append(Step(requires=rng.random() < 0.6))
        if silent and rng.random() < silent:
            steps.append(Step(silence=rng.choice([1, 5, 20, 20, 80])))
    return steps


def document(*, required: bool) -> dict[str, Any]:
    """The schema of the events, as it is given."""
    kinds = {"type": {"const": "A"}, "ts": {"type": "integer"}, "id": {"type": "integer"}, "name": {"type": "string"}}
    return {"type": "object", "properties": kinds, "required": ["name"] if required else []}


def expected(steps: list[Step], disorder: int) -> ReferenceWindowing:
    twin, required = ReferenceWindowing(disorder), False
    for step in steps:
        if step.ts is not None:
            if not (step.lacks and required):
                twin.record(step.offset, step.ts)
        elif step.requires is not None:
            required = step.requires
        elif step.watermark is not None:
            twin.advance(step.watermark, end=step.end)
        elif step.disorder is not None:
            twin.disorder = step.disorder
        elif step.silence:
            twin.silence(step.silence)
    return twin


@dataclass
class Run:
    """Blocks written by one operator after another, each with how many steps it knew of."""

    rng: random.Random
    steps: list[Step]
    disorder: int
    blocks: list[tuple[Block, int]] = field(default_factory=list)
    late: set[int] = field(default_factory=set)
    silenced: set[int] = field(default_factory=set)

    def operator(self) -> WindowingOperator:
        return WindowingOperator(
            0,
            "events",
            SCHEMA,
            disorder_ms=self.disorder,
            max_block_events=self.rng.choice([1, 2, 7, 4096]),
            checkpoint_every=self.rng.choice([5, 50, 10**9]),
        )

    def go(self, stop_at: int | None) -> None:
        """Go on from the last block, with steps up to `stop_at` (None: all, and flush)."""
        operator = self.operator()
        known = 0
        for block, known_then in self.blocks[self.newest_checkpoint() :]:
            operator.resume(block)
            known = known_then
        again = [step for step in self.steps[:known] if step.value is not None and step.offset >= operator.position()]
        todo = again + self.steps[known : stop_at if stop_at is not None else len(self.steps)]
        at = 0
        while at < len(todo):
            if todo[at].requires is not None:  # a block is cut there, which knows of no later step
                self.flush(operator, known + max(0, at - len(again)))
            at = self.bring(operator, todo, at)
            if self.rng.random() < 0.3:
                self.flush(operator, known + max(0, at - len(again)))
        if stop_at is None:
            self.flush(operator, len(self.steps))

    def bring(self, operator: WindowingOperator, todo: list[Step], at: int) -> int:
        """One batch of records, or one decision."""
        step = todo[at]
        if step.value is None:
            if step.watermark is not None:
                operator.advance_watermark(step.watermark, end=step.end)
            elif step.silence:
                operator.pass_silence(step.silence)
            elif step.requires is not None:
                operator.configure(StreamRecord("events", "t", schema=document(required=step.requires)))
            else:
                operator.configure(StreamRecord("events", "t", disorder=step.disorder))
            return at + 1
        stop = at
        limit = at + self.rng.choice([1, 3, 20, 200])
        while stop < min(limit, len(todo)) and todo[stop].value is not None:
            stop += 1
        offsets = np.array([item.offset for item in todo[at:stop]], dtype=np.int64)
        operator.ingest(batch_of_values([item.value for item in todo[at:stop]], offsets))
        for letter in operator.take_dead_letters():
            self.late |= {letter.offset} if letter.reason == "late" else set()
            self.silenced |= {letter.offset} if letter.reason == "late-by-silence" else set()
        return stop

    def flush(self, operator: WindowingOperator, known: int) -> None:
        self.blocks += [(decode_block(encode_block(block)), known) for block in operator.flush({"queries": known})]

    def newest_checkpoint(self) -> int:
        return max(
            (i for i, (block, _) in enumerate(self.blocks) if any(c.kind == "checkpoint" for c in block.controls)),
            default=0,
        )

    def check(self) -> None:
        twin = expected(self.steps, self.disorder)
        found: list[tuple[int, int]] = []
        ends = []
        counter, watermark = 0, -(2**62)
        for block, _ in self.blocks:
            assert block.counter == counter
            counter = block.next_counter
            assert block.first_seq == len(found)
            columns = block.columns
            assert columns.seq.tolist() == list(range(block.first_seq, block.next_seq))
            assert all(ts >= watermark for ts in columns.ts.tolist())
            assert block.watermark >= watermark
            watermark = block.watermark
            found += zip(columns.ts.tolist(), columns.attributes["id"].data.tolist(), strict=True)
            if block.end:
                ends.append(block.next_seq)
            assert all(block.first_seq <= control.position <= block.next_seq for control in block.controls)
        assert found == twin.events
        assert ends == twin.ends
        assert watermark == twin.watermark
        assert self.late == set(twin.late)
        assert self.silenced == set(twin.silenced)


@pytest.mark.parametrize("silent", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(40))
def test_any_batching_gives_the_same_stream(seed: int, silent: float) -> None:
    rng = random.Random(seed)
    run = Run(rng, script(rng, 150, silent), rng.choice([0, 5, 40]))
    run.go(None)
    run.check()


@pytest.mark.parametrize(
    ("seed", "silent"),
    [(seed, 0.0) for seed in (*range(110), 490, 1233, 4784, 5248)]
    + [(seed, 0.04 + seed % 3 * 0.04) for seed in (*range(110), 468, 478)],
)
def test_restart_from_any_block_goes_on_exactly(seed: int, silent: float) -> None:
    """Seeds 490 and 1233 are those that notice a restart during a restart, and one right behind an end.

    Those beyond notice a restart between two ends, of which the second is not written.
    """
    rng = random.Random(1000 + seed)
    run = Run(rng, script(rng, 120, silent), rng.choice([0, 5, 40]))
    _check_with_restarts(rng, run)


@pytest.mark.parametrize("seed", range(120))
def test_what_is_read_again_is_decoded_by_the_schema_of_then(seed: int) -> None:
    rng = random.Random(5000 + seed)
    run = Run(rng, script(rng, 120, 0.0, given=0.05), rng.choice([5, 40]))
    _check_with_restarts(rng, run)


def test_end_of_a_replay_releases_everything() -> None:
    operator = WindowingOperator(0, "events", SCHEMA, disorder_ms=1000)
    values: list[Any] = [f'{{"type":"A","ts":{ts},"id":{ts}}}'.encode() for ts in (5, 3, 9)]
    operator.ingest(batch_of_values(values))
    assert operator.statistics()["held"] == 3
    operator.advance_watermark(END_OF_TIME, end=True)
    blocks = operator.flush()
    assert [block.columns.ts.tolist() for block in blocks] == [[3, 5, 9]]
    assert blocks[-1].end
    assert blocks[-1].watermark == END_OF_TIME


def _check_with_restarts(rng: random.Random, run: Run) -> None:
    """Go to the end through one to four restarts, and check the blocks."""
    for _ in range(rng.randrange(1, 5)):
        known = run.blocks[-1][1] if run.blocks else 0
        run.go(rng.randrange(known, len(run.steps) + 1))
        # The last blocks of the owner that died may not have arrived.
        del run.blocks[rng.randrange(len(run.blocks) + 1) :]
    run.go(None)
    run.check()
