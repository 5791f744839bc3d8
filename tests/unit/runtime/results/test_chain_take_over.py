"""What a result chain does where its committed position is lost, wrong or old: it repeats nothing."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.addresses import Address
from saffron.engine.operators.containment import Note
from saffron.engine.operators.operator import History
from saffron.errors import LogError
from saffron.runtime.log import Committed, TopicPartition, TopicSpec
from saffron.runtime.process import search
from saffron.runtime.results.progress import WrittenPlace
from saffron.runtime.telemetry.metric_names import EVENTS_APPLIED, TRANSACTION_ABORTS
from tests.memory.memory_log import Killed, MemoryLog, MemoryProducer
from tests.unit.runtime.fakes import FakeOperator, FakeResults
from tests.unit.runtime.results.chain_bench import LIMITS, OUTPUT, WHERE, Bench
from tests.unit.runtime.some_time import Later

LOSSES = {
    "deleted": None,
    "to the beginning": Committed(0),
    "to the end": Committed(10**6),
    "back, with a note": Committed(1, "reset by hand"),
}


@pytest.mark.parametrize("keep_snapshots", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("blocks", [0, 1, 2, 5])
def test_a_group_that_is_gone_or_set_by_other_tools_repeats_nothing(
    bench: Bench, loss: str, blocks: int, keep_snapshots: bool
) -> None:
    draw = random.Random(f"{loss} {blocks}")
    for _ in range(blocks):
        bench.block(*(draw.choice((0, 0, 1, 3, 9)) for _ in range(3)))
    chain, log = bench.chain()
    if draw.random() < 0.5:
        log.kill_at(draw.randrange(20, 80))
    with contextlib.suppress(Killed):
        bench.drive(chain, 100)
        chain.release(bench.now)
    if not keep_snapshots:
        shutil.rmtree(bench.directory, ignore_errors=True)
    written = len(bench.results())
    bench.broker.forget("matcher")
    if (committed := LOSSES[loss]) is not None:
        bench.broker.offsets["matcher", WHERE] = committed
    bench.block(2, 0, 1)
    again, _ = bench.chain()
    bench.drive(again, bench.now + 300)
    assert bench.results()[:written] == bench.expected()[:written]
    assert bench.results() == bench.expected()


class Publishing(FakeOperator):
    """Most results go to two partitions of the topic `alerts`."""

    def __init__(self, note: Note) -> None:
        del note
        super().__init__()

    def apply(self, block: Block, history: History | None = None) -> FakeResults:
        return FakeResults(super().apply(block, history).rows, (Address("alerts", b"a"), Address("alerts", b"d"), None))


def foreign(bench: Bench, draw: random.Random) -> None:
    """Results of other systems, or of earlier ones, in both partitions of `alerts`: some with a place, some without."""
    producer = MemoryLog(bench.broker).producer()
    for _ in range(draw.randrange(1, 6)):
        place = WrittenPlace("id/other+", 0, draw.choice((0, 2, 5_000)), draw.randrange(4)).headers()
        headers = (("ce_source", b"/test"), *(place if draw.random() < 0.5 else ()))
        producer.send("alerts", draw.randrange(2), b'{"id":"foreign"}', headers=headers)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(8))
def test_a_group_that_is_gone_repeats_nothing_in_topics_of_publish(
    bench: Bench, loss: str, seed: int, shared: bool
) -> None:
    draw = random.Random(f"{loss} {seed}")
    if shared:
        bench.broker.create(TopicSpec("alerts", 2, {}))
        foreign(bench, draw)
    body = {"op": "add", "name": "q", "version": 1, "text": "PATTERN A WITHIN 1 s PUBLISH 'alerts'"}
    query = Control(0, "query", body)
    bench.block(1, controls=(query,))
    for _ in range(3):
        bench.block(*(draw.choice((0, 1, 2, 9)) for _ in range(draw.randrange(3))), 1)
    chain, log = bench.chain(operator=Publishing)
    if draw.random() < 0.5:
        log.kill_at(draw.randrange(20, 80))
    with contextlib.suppress(Killed):
        bench.drive(chain, 100)
        chain.release(bench.now)
    if shared:
        foreign(bench, draw)
    shutil.rmtree(bench.directory, ignore_errors=True)
    bench.broker.forget("matcher")
    if (committed := LOSSES[loss]) is not None:
        bench.broker.offsets["matcher", WHERE] = committed
    bench.block(2, 0, 1)
    again, _ = bench.chain(operator=Publishing)
    bench.drive(again, bench.now + 300)
    places = [OUTPUT, *(TopicPartition("alerts", one) for one in range(2))]
    own = [[one for one in bench.results(place) if b"foreign" not in one] for place in places]
    assert sorted(one for part in own for one in part) == sorted(bench.expected())
    assert all(own)
    assert again.trouble is None


def test_results_of_an_earlier_input_do_not_hide_those_of_the_present_one(bench: Bench) -> None:
    """Both in the topic of all results; the earlier ones name higher offsets, in a partition that is not used now."""
    bench.broker.add_partitions("results", 2)
    place = WrittenPlace("id/earlier+", 0, 5_000, 0).headers()
    old = MemoryLog(bench.broker).producer()
    old.send("results", 1, b'{"id":"earlier"}', headers=(("ce_source", b"/test"), *place))
    bench.block(1, 2)
    chain, _ = bench.chain()
    bench.drive(chain, 50)
    shutil.rmtree(bench.directory, ignore_errors=True)
    bench.broker.forget("matcher")
    again, _ = bench.chain()
    bench.drive(again, bench.now + 100)
    assert bench.results() == bench.expected()


def test_a_topic_of_publish_that_is_deleted_is_created_again(bench: Bench) -> None:
    bench.block(1, 1)
    chain, _ = bench.chain(operator=Publishing)
    bench.drive(chain, 30)
    bench.broker.delete("alerts")
    before = len(bench.expected())
    bench.block(2, 0, 1)
    bench.drive(chain, bench.now + 300)
    places = [TopicPartition("alerts", one) for one in range(2)]
    new = bench.expected()[before:]
    assert sorted(one for place in places for one in bench.results(place)) == sorted(new[:2])
    assert set(new) <= {*bench.results(), *new[:2]}
    assert len(set(bench.results())) == len(bench.results())


def test_a_position_of_version_0_1_0_is_believed(bench: Bench) -> None:
    bench.block(1, 2)
    bench.block(2)
    bench.broker.offsets["matcher", WHERE] = Committed(2)
    old = MemoryLog(bench.broker).producer()
    for body in bench.expected()[:3]:
        old.send("results", 0, body[:-1] + b',"detected_at":0}', headers=[("ce_source", b"/test")])
    chain, _ = bench.chain()
    bench.drive(chain, 100)
    assert bench.results() == bench.expected()


def test_an_input_that_was_made_anew_is_not_read_on(bench: Bench) -> None:
    bench.block(1, 2)
    chain, _ = bench.chain()
    bench.drive(chain, 50)
    chain.release(bench.now)
    before = bench.results()
    bench.broker.delete("admitted")
    bench.broker.create(TopicSpec("admitted", 1, {}))
    bench.counter = bench.seq = 0
    for _ in range(3):
        bench.block(1, 1)
    again, _ = bench.chain()
    bench.drive(again, bench.now + 3_000)
    assert bench.results() == before
    assert again.trouble is not None
    assert "made anew" in again.trouble


@pytest.mark.parametrize("seed", range(60))
def test_an_input_that_lost_its_end_is_read_on_where_it_is_another_one(bench: Bench, seed: int) -> None:
    """Nothing of what comes there is swallowed, and no state of what is gone is used; kills and snapshots included."""
    draw = random.Random(seed)
    limits = replace(LIMITS, snapshot_ms=draw.choice((5, 40, 1_000)))

    def blocks(count: int) -> None:
        for _ in range(count):
            bench.block(*(draw.choice((0, 1, 2, 9)) for _ in range(draw.randrange(1, 3))))
            if draw.random() < 0.3:
                live()

    def live() -> None:
        """A life of the chain, up to its death, its release, or neither."""
        chain, log = bench.chain(limits=limits)
        if draw.random() < 0.4:
            log.kill_at(draw.randrange(10, 60))
        with contextlib.suppress(Killed):
            bench.drive(chain, bench.now + draw.randrange(20, 60))
            if draw.random() < 0.5:
                chain.release(bench.now)

    blocks(10)
    live()
    before = bench.results()
    read = bench.place.read if ("matcher", WHERE) in bench.broker.offsets else 0
    lost_from = draw.randrange(2, 10)
    bench.lose(lost_from)
    kept = len(bench.expected())
    blocks(draw.choice((0, 3, 20)))
    live()
    blocks(draw.choice((1, 3, 20)))
    chain, _ = bench.chain(limits=limits)
    bench.drive(chain, bench.now + 200)
    noticed = [one.kind for one in chain.input.state.incidents]
    assert bench.results() == (before + bench.expected()[kept:] if read > lost_from else bench.expected())
    assert noticed == ["truncated"] * (read > lost_from)
    assert chain.trouble is None


def test_a_chain_at_work_notices_that_its_input_lost_its_end(bench: Bench) -> None:
    for _ in range(6):
        bench.block(2)
    chain, _ = bench.chain()
    bench.drive(chain, 100)
    before = bench.results()
    bench.lose(4)
    kept = len(bench.expected())
    for _ in range(8):
        bench.block(1, 1)
    bench.drive(chain, 300)
    assert bench.results() == before + bench.expected()[kept:]
    assert [(one.kind, one.before, one.after) for one in chain.input.state.incidents] == [("truncated", 7, 4)]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("snapshot_ms", [60, 10**9])
def test_a_lost_end_with_the_newest_claim_in_it_is_noticed_once_its_writer_has_read_beyond(
    bench: Bench, snapshot_ms: int, killed: bool
) -> None:
    limits = replace(LIMITS, snapshot_ms=snapshot_ms)
    for _ in range(6):
        bench.block(2)
    chain, _ = bench.chain(limits)
    bench.drive(chain, 100)
    bench.lose(7)  # nothing is lost: the shedder begins anew, and claims
    for _ in range(3):
        bench.block(2)
    bench.drive(chain, 400)
    before = bench.results()
    bench.lose(4)
    kept = len(bench.expected())
    for _ in range(12):
        bench.block(1)
    if killed:
        chain, _ = bench.chain(limits)
    bench.drive(chain, 2_000)
    assert bench.results() == before + bench.expected()[kept:]
    assert [one.kind for one in chain.input.state.incidents] == ["truncated"]


def test_a_chain_that_stands_has_aborted_nothing(bench: Bench) -> None:
    bench.block(1, 1)
    bench.broker.delete("results")
    chain, _ = bench.chain()
    bench.drive(chain, 5_000)
    assert chain.trouble is not None
    assert bench.metrics.value(TRANSACTION_ABORTS) == 0


def test_a_coordinator_that_does_not_answer_holds_up_its_chain_alone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The producer is made beside the loop. One that comes when the partition is another member's is closed."""
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    closed: list[MemoryProducer] = []

    def close(producer: MemoryProducer) -> None:
        closed.append(producer)

    monkeypatch.setattr(MemoryProducer, "close", close)
    asked: list[Later[Any]] = []

    def later(work: Callable[[], Any]) -> Future[Any]:
        asked.append(Later(work, random.Random(0), chance=0.0))
        return asked[-1]

    bench.block(2)
    chain, _ = bench.chain(starts=later)
    bench.drive(chain, bench.now + 2_000)
    assert chain.trouble == "the coordinator of its transactions is looked for"
    assert len(asked) == 1, "it is asked once, however often the chain looks"
    asked[0].do()
    bench.drive(chain, bench.now + 300)
    assert chain.trouble is None
    assert not closed
    assert chain.position == 2
    other, _ = bench.chain(starts=later)
    other.step(bench.now)
    asked[-1].set_running_or_notify_cancel()
    other.drop()
    asked[-1].do()
    assert closed == [asked[-1].result()]


def test_a_chain_that_stands_keeps_its_producer(bench: Bench) -> None:
    bench.block(1, 1)
    bench.broker.delete("results")
    chain, log = bench.chain()
    log.inject("committed", LogError("away"), after=False)
    bench.drive(chain, 5_000)
    assert bench.broker.epochs["matcher.0"].number == 1
    bench.broker.create(TopicSpec("results", 1, {}))
    bench.drive(chain, 7_000)
    assert bench.results() == bench.expected()
    assert bench.broker.epochs["matcher.0"].number == 1


@pytest.mark.parametrize("after", [False, True])
def test_one_that_stands_after_a_doubtful_commit_counts_it_once(bench: Bench, after: bool) -> None:
    chain, log = bench.chain()
    bench.drive(chain, 100)
    bench.block(1, 1)
    log.inject("commit", LogError("in doubt"), after=after)
    for _ in range(3):
        log.inject("init", LogError("away"), after=False)
    log.inject("committed", LogError("away"), after=False)
    bench.drive(chain, 500)
    assert bench.results() == bench.expected()
    assert (chain.tally.results, bench.metrics.value(EVENTS_APPLIED, "", "")) == (2, 2)
    assert bench.metrics.value(TRANSACTION_ABORTS) == 1


def test_a_chain_that_is_gone_looks_for_nothing_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    bench.block(1, 1)
    searches: list[Future[Any]] = []

    def later(work: Callable[[], Any]) -> Future[Any]:
        del work
        searches.append(Future())
        return searches[-1]

    chain, _ = bench.chain(searches=later)
    bench.drive(chain, 2_000)
    assert len(searches) == 1
    assert not searches[0].cancelled()
    chain.release(bench.now)
    assert searches[0].cancelled()
