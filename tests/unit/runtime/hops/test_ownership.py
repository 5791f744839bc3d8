"""Taking over an internal partition, step by step, whatever zombies have left there."""

from __future__ import annotations

import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.errors import CutOffError
from saffron.runtime.hops.block_reader import BlockReader
from saffron.runtime.hops.ownership import ClaimState, Ownership
from saffron.runtime.hops.tags import BlockTag, ClaimTag
from saffron.runtime.log import TopicPartition, TopicSpec
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import columns

WHERE = TopicPartition("windows", 0)


class Partition:
    """A partition written by hand: a letter for each owner."""

    def __init__(self) -> None:
        self.broker = MemoryBroker(lambda: 0)
        self.broker.create(TopicSpec(WHERE.topic, 1, {}))
        self.log = MemoryLog(self.broker)
        self._producer = self.log.producer()
        self._claims: dict[str, int] = {}

    @property
    def high(self) -> int:
        return self.broker.partition(WHERE).high

    def claim(self, owner: str) -> int:
        self._claims[owner] = self.high
        self._producer.send(WHERE.topic, 0, b"", headers=ClaimTag(owner * 32).headers())
        return self._claims[owner]

    def block(
        self, owner: str, counter: int, *, seen: int | None = None, checkpoint: int = -1, carries: bool = False
    ) -> int:
        offset = self.high
        tag = BlockTag(self._claims[owner], offset - 1 if seen is None else seen, checkpoint, carries)
        block = Block(columns([counter], [0], [0]), counter, counter + 1, 0, claim=tag.claim, counter=counter)
        self._producer.send(WHERE.topic, 0, encode_block(block), headers=tag.headers())
        return offset

    def foreign(self, count: int) -> None:
        for _ in range(count):
            self._producer.send(WHERE.topic, 0, b'{"type":"A"}', headers=())

    def own(self) -> Ownership:
        """A new owner, as far as it gets."""
        ownership = Ownership(self.log, self._producer, WHERE, nonce="f" * 32)
        for _ in range(50):
            ownership.step()
        return ownership

    def applied(self) -> list[int]:
        """The counters of the blocks that every reader applies."""
        records = self.broker.partition(WHERE).read(0, 1000, False)[0]
        reader = BlockReader()
        return [block.counter for block in map(reader.accept, records) if block is not None]


def counters(ownership: Ownership) -> list[int]:
    return [decode_block(record.value or b"").counter for record in ownership.tail]


def test_an_empty_partition_is_owned_with_nothing_to_take_up() -> None:
    ownership = Partition().own()
    assert (ownership.state, ownership.claim, ownership.tail) == (ClaimState.OWNED, 0, ())


def test_the_stream_is_taken_up_from_the_newest_checkpoint() -> None:
    partition = Partition()
    partition.claim("a")
    partition.block("a", 0)
    base = partition.block("a", 1, carries=True)
    partition.block("a", 2, checkpoint=base)
    ownership = partition.own()
    assert counters(ownership) == [1, 2]
    assert ownership.tag(carries=False) == BlockTag(4, 4, base, False)


def test_without_a_checkpoint_everything_is_taken_up() -> None:
    partition = Partition()
    partition.claim("a")
    for counter in range(40):
        partition.block("a", counter)
    assert counters(partition.own()) == list(range(40))


def test_a_checkpoint_far_back_is_found() -> None:
    partition = Partition()
    partition.claim("a")
    base = partition.block("a", 0, carries=True)
    for counter in range(1, 100):
        partition.block("a", counter, checkpoint=base)
    assert counters(partition.own()) == list(range(100))


def test_a_zombies_block_behind_a_higher_claim_is_not_taken_up() -> None:
    #  a  a0  b  b1  a1(zombie)  f
    partition = Partition()
    partition.claim("a")
    partition.block("a", 0)
    partition.claim("b")
    partition.block("b", 1)
    partition.block("a", 1, seen=1)
    assert counters(partition.own()) == [0, 1]
    assert partition.applied() == [0, 1]


def test_a_zombie_that_wrote_much_hides_neither_claim_nor_blocks_before_it() -> None:
    partition = Partition()
    partition.claim("a")
    partition.block("a", 0)
    partition.claim("b")
    partition.block("b", 1)
    for counter in range(1, 60):
        partition.block("a", counter, seen=1)
    assert counters(partition.own()) == [0, 1]
    assert partition.applied() == [0, 1]


@pytest.mark.parametrize("many", [1, 5, 100])
def test_records_of_other_programs_hide_neither_claims_nor_blocks(many: int) -> None:
    partition = Partition()
    partition.foreign(many)
    partition.claim("a")
    partition.foreign(many)
    partition.block("a", 0, carries=True)
    partition.foreign(many)
    partition.block("a", 1)
    partition.foreign(many)
    ownership = partition.own()
    assert (ownership.state, counters(ownership)) == (ClaimState.OWNED, [0, 1])
    partition.foreign(many)
    assert ownership.step()
    assert ownership.state is ClaimState.OWNED
    assert partition.applied() == [0, 1]


def test_a_claim_without_blocks_stands_all_the_same() -> None:
    #  a  a0  b  a1(zombie)  f
    partition = Partition()
    partition.claim("a")
    partition.block("a", 0)
    partition.claim("b")
    partition.block("a", 1, seen=1)
    assert counters(partition.own()) == [0]


def test_an_owner_stops_at_a_higher_claim_even_an_old_owners_late_one() -> None:
    partition = Partition()
    ownership = partition.own()
    partition.claim("z")
    ownership.step()
    assert ownership.state is ClaimState.LOST
    assert not ownership.step()


def test_an_owner_goes_on_when_a_zombie_only_writes_blocks() -> None:
    partition = Partition()
    partition.claim("a")
    ownership = partition.own()
    partition.block("a", 0)
    ownership.step()
    assert ownership.state is ClaimState.OWNED


def test_a_topic_cut_off_behind_its_newest_checkpoint_is_refused_with_the_remedy() -> None:
    partition = Partition()
    partition.claim("a")
    base = partition.block("a", 0, carries=True)
    partition.block("a", 1, checkpoint=base)
    partition.broker.trim(WHERE, 2)
    with pytest.raises(CutOffError, match=r"records before offset 2 are gone.*: saffron stream remove NAME"):
        partition.own()


def test_a_topic_emptied_by_retention_is_no_fresh_start() -> None:
    partition = Partition()
    partition.claim("a")
    partition.block("a", 0)
    partition.broker.trim(WHERE, 2)
    with pytest.raises(CutOffError, match="records before offset 2 are gone"):
        partition.own()
