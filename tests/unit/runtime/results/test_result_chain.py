"""One partition of the last hop: places inside a block, doubtful transactions, snapshots that may not be used."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.operators.containment import ADVANCING, OBSERVING, RESTORING, SAVING, Failure, Note
from saffron.engine.operators.operator import History, State
from saffron.errors import AbortableError, FencedError, LogError, TooLargeError
from saffron.runtime.hops.input_state import LOST, Incident, InputState
from saffron.runtime.log import Committed, TopicPartition
from saffron.runtime.results import chain_plan
from saffron.runtime.results.chain_plan import CommitPacing, CommittedPlace, Place
from saffron.runtime.results.last_step import LastStep
from saffron.runtime.results.snapshots import Snapshot, Snapshots
from saffron.runtime.telemetry.metric_names import COMPLEX_EVENTS, EVENTS_APPLIED, TRANSACTION_ABORTS
from tests.memory.memory_log import Killed, MemoryLog
from tests.unit.runtime.fakes import FakeOperator, FakeResults
from tests.unit.runtime.results.chain_bench import LETTERS, LIMITS, Bench
from tests.unit.runtime.some_time import Later

T = TypeVar("T")


def test_a_place_comes_back_from_what_is_kept_with_the_group() -> None:
    for place in (Place(7, 0, 7), Place(7, 3, 7), Place(7, 0, 8), Place(7, 3, 2)):
        known = InputState("id1", 3, (Incident(LOST, 5, 1, 1, 4),))
        assert Place.from_committed(place.to_committed(known)) == CommittedPlace(place, known)
    assert Place.from_committed(Committed(7, '{"index":3,"said":2}')) == CommittedPlace(Place(7, 3, 2), InputState()), (
        "of version 0.1.0"
    )
    for metadata in ("", "{", "[]", "7", '{"index":null}', "set by hand"):
        assert Place.from_committed(Committed(7, metadata)) is None


def test_results_and_position_are_committed_together(bench: Bench) -> None:
    bench.block(1, 0, 2)
    chain, _ = bench.chain()
    bench.drive(chain, 30)
    assert bench.results() == bench.expected()
    assert bench.place.offset == 2


def test_an_event_with_very_many_results_is_cut_into_transactions(bench: Bench) -> None:
    bench.block(0, 30, 1)
    chain, log = bench.chain()
    log.kill_at(60)
    with pytest.raises(Killed):
        bench.drive(chain, 30)
    assert 0 < bench.place.index < 31
    assert len(bench.results()) == bench.place.index
    again, _ = bench.chain()
    bench.drive(again, bench.now + 200)
    assert bench.results() == bench.expected()


def test_an_event_that_is_applied_again_for_the_rest_of_its_results_is_counted_once(bench: Bench) -> None:
    bench.block(0, 30, 1)
    chain, log = bench.chain()
    while "matcher" not in {group for group, _ in bench.broker.offsets} or not bench.place.index:
        bench.now += 1
        chain.take(bench.polled())
        chain.step(bench.now)
    log.inject("commit", AbortableError("x"), after=False)
    bench.drive(chain, bench.now + 200)
    assert bench.results() == bench.expected()
    assert bench.metrics.value(TRANSACTION_ABORTS) == 1
    assert bench.metrics.value(EVENTS_APPLIED, "", "") == 3


def test_large_results_are_cut_into_transactions_by_their_bytes(bench: Bench) -> None:
    bench.block(0, 100, 1)
    size = len(bench.expected()[0])
    chain, _ = bench.chain(replace(LIMITS, commit_ms=10_000, results=10_000, bytes=10 * size))
    bench.drive(chain, 1)
    assert bench.results() == bench.expected()
    assert chain.tally.commits == 2, "a few at first, whose size is not known, then as many as that allows"


def test_in_place_of_a_result_that_is_too_large_stands_a_dead_letter(bench: Bench) -> None:
    bench.block(1, 0, 12)
    *small, first, second = bench.expected()
    limits = replace(LIMITS, result_bytes=len(small[-1]))
    chain, log = bench.chain(limits)
    log.inject("commit", AbortableError("x"), after=False)
    bench.drive(chain, 200)
    again, _ = bench.chain(limits)
    bench.drive(again, bench.now + 200)
    assert bench.results() == small
    records = bench.broker.partition(LETTERS).read(0, 100, True)[0]
    assert [record.key for record in records] == [b"admitted/0/1.11", b"admitted/0/1.12"]
    letters = [orjson.loads(record.value or b"") for record in records]
    assert [one["result"]["id"] for one in letters] == [orjson.loads(one)["id"] for one in (first, second)]
    assert (chain.tally.results, chain.tally.too_large) == (11, 2)
    assert bench.place.offset == 2


def test_what_the_topic_does_not_take_all_the_same_is_told(bench: Bench) -> None:
    bench.block(1)
    chain, log = bench.chain()
    log.inject("commit", TooLargeError("x"), after=False)
    bench.drive(chain, 200)
    assert chain.trouble == "x"
    bench.drive(chain, bench.now + 2_000)
    assert bench.results() == bench.expected()
    assert not chain.trouble


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [AbortableError("x"), LogError("in doubt")])
def test_a_doubtful_commit_is_settled_by_the_log(bench: Bench, error: LogError, after: bool) -> None:
    bench.block(2, 1)
    bench.block(1)
    chain, log = bench.chain()
    log.inject("commit", error, after=after)
    bench.drive(chain, 200)
    assert bench.results() == bench.expected()
    assert bench.metrics.value(TRANSACTION_ABORTS) == 1
    assert (chain.tally.results, bench.metrics.value(EVENTS_APPLIED, "", "")) == (4, 3), "each counted once"


def test_a_fenced_owner_waits_before_it_takes_the_partition_back(bench: Bench) -> None:
    bench.block(1)
    chain, log = bench.chain()
    log.inject("commit", FencedError("x"), after=False)
    bench.drive(chain, 400)
    assert bench.results() == []
    bench.drive(chain, 700)
    assert bench.results() == bench.expected()


def test_what_a_chain_commits_when_it_is_released_is_counted(bench: Bench) -> None:
    bench.block(2, 1)
    chain, _ = bench.chain(replace(LIMITS, commit_ms=10_000))
    bench.drive(chain, 5)
    assert bench.metrics.value(COMPLEX_EVENTS, "fake") == 0
    chain.release(bench.now)
    assert bench.metrics.value(COMPLEX_EVENTS, "fake") == len(bench.results()) == 3


def test_positions_move_without_results_too(bench: Bench) -> None:
    bench.block(0, 0, 0)
    chain, _ = bench.chain()
    bench.drive(chain, 100)
    assert bench.place == Place(2, 0, 2, claim=0)


def test_a_snapshot_saves_the_replay_and_changes_nothing(bench: Bench) -> None:
    bench.block(1, 2)
    chain, _ = bench.chain()
    bench.drive(chain, 30)
    chain.release(bench.now)
    bench.block(2, 2)
    again, _ = bench.chain()
    again.step(bench.now)
    assert again.position == 2
    bench.drive(again, bench.now + 50)
    assert bench.results() == bench.expected()


def test_a_snapshot_newer_than_the_committed_place_is_not_used(bench: Bench) -> None:
    bench.block(1, 2)
    bench.block(2)
    reader = {"claim": 0, "counter": 3, "next_seq": 3, "watermark": 0, "schema": None}
    Snapshots(bench.directory).write(Snapshot(3, reader, FakeOperator().snapshot()))
    chain, _ = bench.chain()
    bench.drive(chain, 100)
    assert bench.results() == bench.expected()


def test_results_go_on_while_a_snapshot_is_written_and_the_next_one_waits_for_it(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[tuple[Callable[[], Any], Future[Any]]] = []

    def later(work: Callable[[], T]) -> Future[T]:
        asked.append((work, Future()))
        return asked[-1][1]

    chain, _ = bench.chain(replace(LIMITS, snapshot_ms=20), later)
    for _ in range(8):
        bench.block(1)
        bench.drive(chain, bench.now + 40)
    assert bench.results() == bench.expected()
    assert len(asked) == 1
    work, future = asked[0]
    future.set_result(work())
    bench.block(1)
    bench.drive(chain, bench.now + 40)
    assert len(asked) == 2
    written = bench.now
    asked[1][1].set_exception(OSError("no space left"))
    bench.block(1)
    bench.drive(chain, bench.now + 40)
    assert bench.results() == bench.expected(), "results go on without it"
    assert len(asked) == 3, "it is tried again"
    asked[2][1].set_exception(OSError("no space left"))
    bench.drive(chain, bench.now + 10)
    assert chain.snapshot_age(bench.now) > bench.now - written
    assert "a snapshot cannot be written, and is tried again: no space left" in caplog.text


def test_a_place_within_a_block_that_brokers_do_not_store_is_not_committed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction goes on to the end of the block."""
    chain, _ = bench.chain()
    bench.drive(chain, 20)
    monkeypatch.setattr(chain_plan, "MOST_METADATA", 10)
    bench.block(1, 9)
    bench.block(3)
    places = []
    while bench.now < 100:
        bench.drive(chain, bench.now + 1)
        places.append(bench.place)
    assert bench.results() == bench.expected()
    assert {place.index for place in places} == {0}


def test_blocks_are_applied_while_a_transaction_ends_and_their_results_wait_for_it(bench: Bench) -> None:
    asked: list[Future[Any]] = []

    def later(work: Callable[[], T]) -> Future[T]:
        asked.append(Later(work, random.Random(0), chance=0.0))
        return asked[-1]

    chain, _ = bench.chain(commits=later)
    bench.block(1)
    bench.drive(chain, 30)
    assert (len(asked), len(bench.results()), chain.position) == (1, 0, 2)
    bench.block(0)
    bench.drive(chain, 31)
    assert (len(bench.results()), chain.position, chain.tally.commits) == (0, 3, 0)
    bench.block(1)
    bench.drive(chain, 32)
    assert (len(bench.results()), chain.position, chain.tally.commits) == (1, 4, 1)
    bench.drive(chain, 100)
    chain.release(100)
    assert bench.results() == bench.expected()


def test_a_chain_works_as_long_as_it_commits_and_longer_where_it_is_never_idle() -> None:
    commits = CommitPacing()
    assert commits.remaining_ms(100) == -100
    commits.begin()
    commits.end(100, 140)
    assert commits.remaining_ms(150) == 110
    commits.mark_idle()
    assert commits.remaining_ms(150) == 30


def test_a_gap_in_the_input_stops_this_partition_alone_and_what_was_found_before_it_stands(bench: Bench) -> None:
    bench.block(1)
    right = bench.expected()
    bench.counter += 5
    bench.block(1)
    chain, _ = bench.chain()
    bench.drive(chain, 5_000)
    assert bench.results() == right
    assert chain.trouble is not None
    assert "are missing before offset" in chain.trouble


class Noting(FakeOperator):
    """Takes a step of a query whenever it is asked for anything."""

    def __init__(self, note: Note) -> None:
        super().__init__()
        self._note = note

    def apply(self, block: Block, history: History | None = None) -> FakeResults:
        self._note("q", 1, ADVANCING)
        return super().apply(block, history)

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        self._note("q", 1, OBSERVING)
        return super().observations()

    def snapshot(self) -> State:
        self._note("q", 1, SAVING)
        return super().snapshot()

    def restore(self, state: State) -> None:
        self._note("q", 1, RESTORING)
        super().restore(state)


def test_no_query_is_at_work_while_the_log_is_written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the process then is no query's fault."""
    calls = 0

    def at_rest(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            assert LastStep(bench.directory).take_deaths(2**62) == []
            return real(*arguments, **more)

        return called

    for _ in range(6):
        bench.block(2)
    producer = type(MemoryLog(bench.broker).producer())
    for name in ("begin", "send", "send_offsets", "commit"):
        monkeypatch.setattr(producer, name, at_rest(getattr(producer, name)))
    for until in (40, 1_300, 2_700):
        chain, _ = bench.chain(replace(LIMITS, observe_ms=1), operator=Noting)
        bench.drive(chain, until)
    assert calls > 12


class Stopping(Noting):
    """Notes which queries it must stop."""

    def __init__(self, note: Note, stopped: set[str]) -> None:
        super().__init__(note)
        self._stopped = stopped

    def stop(self, name: str, version: int, reason: str) -> None:
        self._stopped.add(name)


def test_all_that_a_process_has_died_of_twice_stay_stopped_though_the_blocks_have_been_taken(bench: Bench) -> None:
    """The log has ended these queries since: only the deaths say that their blocks must not be taken with them."""
    for _ in range(3):
        bench.block(1)
    chain, _ = bench.chain(operator=Noting)
    bench.drive(chain, 100)
    for query in ("q", "r", "q", "r"):
        step = LastStep(bench.directory)
        step.set_offset(1)
        step.enter(query, 1, ADVANCING)
        LastStep(bench.directory).take_deaths(3)
    stopped: set[str] = set()
    chain, _ = bench.chain(operator=lambda note: Stopping(note, stopped))
    bench.drive(chain, 200)
    assert stopped == {"q", "r"}


class Breaking(FakeOperator):
    """A query that fails at an event, as `failure` says, unless it was stopped before."""

    def __init__(self, event: int, failure: Failure) -> None:
        super().__init__()
        self._event = event
        self._failure = failure
        self._is_stopped = False
        self._new: list[Failure] = []

    def apply(self, block: Block, history: History | None = None) -> FakeResults:
        if not self._is_stopped and self._event in range(block.first_seq, block.next_seq):
            self._new.append(self._failure)
            self._is_stopped = True
        return super().apply(block, history)

    def failures(self) -> list[Failure]:
        new, self._new = self._new, []
        return new

    def stop(self, name: str, version: int, reason: str) -> None:
        self._is_stopped |= (name, version) == (self._failure.name, self._failure.version)


HOW = {
    "alone": Failure("q", 1, ADVANCING, 1, "why"),
    "having touched others": Failure("q", 1, ADVANCING, 1, "why", anew=True),
    "with one that the log has ended": Failure("q", 1, ADVANCING, 1, "why", logged=True),
}


@pytest.mark.parametrize("failure", HOW.values(), ids=HOW)
@pytest.mark.parametrize("op", ["add", "remove", "fail", None])
def test_a_failure_in_blocks_that_are_taken_again_is_told_unless_the_log_has_ended_its_query(
    bench: Bench, op: str | None, failure: Failure
) -> None:
    """`op`: what a control record does to the query later. Without one it is in force, and fails for the first time."""
    body = {"op": op, "name": "q", "version": 2, "added": 1}
    ends = () if op is None else (Control(2, "query", body),)
    bench.block(1)
    bench.block(1)
    bench.block(1, controls=ends)
    bench.block(1)
    fails_at = 99 if op is None else 1
    chain, _ = bench.chain(operator=lambda note: Breaking(fails_at, failure))
    bench.drive(chain, 100)
    chain.release(bench.now)
    assert len(bench.told) == (op is not None)
    shutil.rmtree(bench.directory)
    bench.told.clear()
    chain, _ = bench.chain(operator=lambda note: Breaking(1, failure))
    bench.drive(chain, 300)
    assert not chain.replaying
    assert [(one.name, one.version) for one in bench.told] == ([("q", 1)] if op is None else [])
    bench.block(1)
    bench.drive(chain, 400)
    assert bench.results() == bench.expected()
    assert [one.name for one in bench.place.failed] == (["q"] if op is None and not failure.logged else [])


def test_topics_of_observations_may_have_fewer_partitions_than_that_of_results(bench: Bench) -> None:
    bench.broker.add_partitions("results", 3)
    for _ in range(5):
        bench.block(1, 1)
    chain, _ = bench.chain(output=TopicPartition("results", 2))
    bench.drive(chain, 200)
    assert bench.results(TopicPartition("results", 2)) == bench.expected()
    assert bench.broker.epochs["matcher.0"].number == 1, "it has taken over once"
    assert bench.place.is_between(6)
