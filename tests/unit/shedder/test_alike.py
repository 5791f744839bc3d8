"""Services and replay decide alike: the same history, told by messages, gives the same blocks of `admitted`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from jsonschema import Draft202012Validator

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.operator import ShedderOperator
from saffron.experiments.virtual import VirtualReplay, VirtualRun
from saffron.experiments.virtual_loop import Loop
from saffron.experiments.virtual_pace import Rate
from saffron.runtime.hops.tags import BlockTag
from saffron.runtime.log import Record
from saffron.runtime.log.topics import schema_folder
from saffron.runtime.replay.fused import Query
from saffron.runtime.telemetry.metric_names import SHED_EVENTS
from saffron.shedder.hop import ShedderHop
from tests.unit.experiments.test_virtual import ABC, stream

RARE = """QUERY rare PATTERN SEQ(D a, A b, C c)
WHERE skip-till-next-match { a.x < 2 } WITHIN 200 EVENTS"""
QUERIES = [Query("abc", ABC), Query("rare", RARE)]
COSTS = {"abc": 150_000.0, "rare": 40_000.0}
LOAD = Draft202012Validator(yaml.safe_load((schema_folder() / "load.yaml").read_text())["schema"])


@dataclass
class Services:
    """The shedder's hop in place of the operator, with messages in place of calls; what both decided is compared."""

    operator: ShedderOperator
    hop: ShedderHop
    offset: int = 0
    decided: list[tuple[Any, ...]] = field(default_factory=list)
    ahead: list[Block] = field(default_factory=list)
    sent: list[Block] = field(default_factory=list)

    def arrived(self, events: int, appended_ms: float) -> None:
        """The operator hears of a block with the first call that needs it: the hop is given its record."""
        block = self.ahead.pop(0)
        assert len(block.columns) == events
        headers = BlockTag(0, block.counter, -1, False).headers()
        record = Record("windows", 0, self.offset, appended_ms, None, encode_block(block), headers)  # type: ignore[arg-type]
        self.offset += 1
        self.operator.arrived(events, appended_ms)
        self.hop.take([record], 0)

    def apply(self, block: Block, now_ms: float, appended_ms: float) -> Block:
        """Of the operator; the hop decides by the time at which its oldest record was appended."""
        for waiting in list(self.hop.queue)[:1]:  # an empty block went with the one before
            object.__setattr__(waiting.record, "timestamp", appended_ms)
        self.sent += self.hop.emit(now_ms, flush=False)  # type: ignore[arg-type]
        admitted = self.operator.apply(block, now_ms=now_ms, appended_ms=appended_ms)
        self.decided.append((outcome(admitted), outcome(decode_block(encode_block(self.sent.pop(0))))))
        return admitted

    def observe(self, load: dict[str, Any]) -> None:
        """A message, as it would stand in the topic."""
        self.operator.observe(load)
        body = {**load, "stream": "events", "partition": 0, "offset": self.offset, "at": 0}
        value = orjson.dumps(body)
        LOAD.validate(orjson.loads(value))
        self.hop.take_load(orjson.loads(value), 0)

    def statistics(self) -> Any:
        return self.operator.statistics()


def outcome(block: Block) -> tuple[Any, ...]:
    """What was decided of a block."""
    mask = block.columns.dropped
    orders = [control.body for control in block.controls if control.kind == "keep"]
    return block.first_seq, None if mask is None else mask.tolist(), orders


def lived(shedder: str, monkeypatch: pytest.MonkeyPatch) -> Services:
    """What replay's shedder, and the services' beside it, have decided at the end."""
    run: Callable[..., Any] = Loop.run
    found: list[Services] = []

    def beside(self: Loop, blocks: list[Block], arrivals: Any) -> Any:
        twin = replay._shedder(replay._chains[0], blocks)
        hop = ShedderHop(twin, "windows", credit_events=1, patience_ms=10**9)
        hop._reader.state = hop._reader.state.__class__(0, blocks[0].counter)
        found.append(Services(self.shedder, hop, ahead=list(blocks)))
        self.shedder = found[0]  # type: ignore[assignment]
        yield from run(self, blocks, arrivals)

    monkeypatch.setattr(Loop, "run", beside)
    settings = VirtualRun(Overload(1000.0), Rate.of("2x"), shedder, stated=COSTS)
    replay = VirtualReplay(QUERIES, settings)
    for _ in replay.results([stream(6_000)]):
        pass
    return found[0]


@pytest.mark.parametrize("shedder", ["auto", "gspice-h"])
def test_the_same_history_is_decided_alike(shedder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    services = lived(shedder, monkeypatch)
    pairs = services.decided
    assert any(mask is not None or orders for (_, mask, orders), _ in pairs)
    for replayed, served in pairs:
        assert replayed == served
    masks = [np.array(mask) for (_, mask, _), _ in pairs if mask is not None]
    if shedder == "gspice-h":
        dropped = [sum(int(((mask >> slot) & 1).sum()) for mask in masks) for slot in (0, 1)]
        assert dropped[0] != dropped[1], "queries differ in what they cost, and in what they lose"
    counted = Counter[tuple[str, ...]]()
    for one in (one for block in services.hop.take_counts() for one in block if one.metric is SHED_EVENTS):
        counted[one.labels] += int(one.amount)
    told = services.hop.operator.statistics()["shed_by_reason"]
    assert counted == Counter({(query, why): count for query, some in told.items() for why, count in some.items()})
