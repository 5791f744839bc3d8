"""Ownership of an internal partition: acquiring it, holding it, and detecting its loss (fencing without transactions).

1. Append a claim with a nonce, and read the partition until it appears. Its offset is the claim's number.
2. Restore the stream's state from the blocks before the claim, beginning with the newest checkpoint.
3. Keep reading the own output. A higher claim means that another owner has taken over: stop writing.

Blocks carry `seen`: up to that offset the writer knew of no higher claim. So the newest valid block is found without
reading the whole partition: only the records between `seen` and the block need a look.
"""

from __future__ import annotations

from enum import Enum

from saffron.errors import CutOffError
from saffron.runtime.hops.tags import FOREIGN, BlockTag, ClaimTag, claim_value, read_tag, valid_blocks
from saffron.runtime.log import Consumer, Log, Producer, Record, TopicPartition

_FIRST_RECORDS = 16
_BATCH = 500


class ClaimState(Enum):
    """The progress of a claim."""

    CLAIMING = "claiming"  # the own claim has not been read yet
    READING = "reading"  # reading the records before the claim
    OWNED = "owned"
    LOST = "lost"


class Ownership:
    """One owner's claim on one partition. `nonce`: 32 hex digits that no other claim has.

    CutOffError, from `step`: retention took the blocks that the state is restored from.

    `claim`: its number, -1 before it is known. `seen`: newest own offset read. `landed`: how many own blocks were read.
    `checkpoint`: offset of the newest block with one, or -1. `tail`: records to restore the state from.
    """

    def __init__(self, log: Log, producer: Producer, where: TopicPartition, *, nonce: str) -> None:
        self.where = where
        self.state = ClaimState.CLAIMING
        self.claim = -1
        self.seen = -1
        self.landed = 0
        self.checkpoint = -1
        self.tail: tuple[Record, ...] = ()
        self._nonce = nonce
        self._log = log
        self._consumer = self._reader(lazy=False)
        self._low, high = self._consumer.watermarks(where)
        self._read_from(max(self._low, high - _FIRST_RECORDS))
        producer.send(where.topic, where.partition, claim_value(nonce), headers=ClaimTag(nonce).headers())

    def step(self) -> bool:
        """Reads on; True if a record came. `tail` is complete once `state` is OWNED."""
        if self.state is ClaimState.LOST:
            return False
        records = self._consumer.poll(_BATCH, 0.0)
        if self.state is ClaimState.OWNED:
            self._follow(records)
        else:
            self._records += records
            self._find_claim()
            if self.state is ClaimState.READING:
                self._evaluate()
        return bool(records)

    def tag(self, *, carries: bool) -> BlockTag:
        """The tag of a block written now. `carries`: the block has a checkpoint record."""
        return BlockTag(self.claim, self.seen, self.checkpoint, carries)

    def close(self) -> None:
        self._consumer.close()

    # ------------------------------------------------------------ inside

    def _reader(self, *, lazy: bool) -> Consumer:
        group = f"{self.where.topic}.owner"
        return self._log.consumer(group, committed_only=False, client_id="own-output", lazy=lazy)

    def _read_from(self, offset: int) -> None:
        self._from = offset
        self._records: list[Record] = []
        self._consumer.assign({self.where: offset})

    def _find_claim(self) -> None:
        """Looks for the own claim among the records read."""
        if self.state is not ClaimState.CLAIMING:
            return
        for record in self._records:
            tag = read_tag(record)
            if isinstance(tag, ClaimTag) and tag.nonce == self._nonce:
                self.claim = record.offset
                self.state = ClaimState.READING

    def _evaluate(self) -> None:
        """Decides whether the records read, back to `_from`, suffice. If not, reads again from further back."""
        if not self._records or self._records[-1].offset < self.claim:
            return
        before = [record for record in self._records if record.offset < self.claim]
        newest, needed = self._newest_valid(before)
        if newest is not None:
            needed = min(needed, self._base_offset(before, newest))
        if needed < self._from:
            self._read_from(needed)
            return
        self._take_ownership(before, newest)

    def _newest_valid(self, before: list[Record]) -> tuple[Record | None, int]:
        """The newest valid block or None, and the offset that must have been read to be sure."""
        claims = [record.offset for record in before if isinstance(read_tag(record), ClaimTag)]
        for record in reversed(before):
            tag = read_tag(record)
            if (
                not isinstance(tag, BlockTag)
                or tag is FOREIGN
                or any(tag.claim < claim < record.offset for claim in claims)
            ):
                continue
            return record, max(self._low, min(tag.seen + 1, record.offset))
        return None, max(self._low, self.claim - 4 * (self.claim - self._from) - _FIRST_RECORDS)

    def _base_offset(self, before: list[Record], newest: Record) -> int:
        """The offset of the first block needed to restore the state of `newest`."""
        last = read_tag(newest)
        assert isinstance(last, BlockTag)
        base = last.checkpoint
        for record in before:
            tag = read_tag(record)
            if record.offset > newest.offset:
                break  # overruled: written by a former owner
            if isinstance(tag, BlockTag) and tag.carries and tag.claim == last.claim:
                base = max(base, record.offset)
        if 0 <= base < self._low or (base < 0 < self._low):
            raise CutOffError(self.where.topic, self.where.partition, self._low)
        return max(base, self._low)

    def _take_ownership(self, before: list[Record], newest: Record | None) -> None:
        """Completes the claim: sets `tail`, `seen` and `checkpoint`."""
        after = [record for record in self._records if record.offset > self.claim]
        if newest is not None:
            last = read_tag(newest)
            assert isinstance(last, BlockTag)
            base = self._base_offset(before, newest)
            self.tail = tuple(valid_blocks([r for r in before if base <= r.offset <= newest.offset]))
            self.checkpoint = base if _has_checkpoint(self.tail[0]) else -1
        elif self._low > 0:
            raise CutOffError(self.where.topic, self.where.partition, self._low)
        self._records = []
        self.seen = self.claim
        self.state = ClaimState.OWNED
        self._follow(after)
        # A claim must be found at once. Later records of any writer can wait: readers ignore the loser.
        self._consumer.close()
        self._consumer = self._reader(lazy=True)
        self._consumer.assign({self.where: self.seen + 1})

    def _follow(self, records: list[Record]) -> None:
        """Reads own output: advances `seen` and `checkpoint`, or detects a higher claim."""
        for record in records:
            tag = read_tag(record)
            self.seen = record.offset
            if isinstance(tag, ClaimTag):
                self.state = ClaimState.LOST
                return
            if tag.claim == self.claim:
                self.landed += 1
                self.checkpoint = record.offset if tag.carries else self.checkpoint


def _has_checkpoint(record: Record) -> bool:
    tag = read_tag(record)
    return isinstance(tag, BlockTag) and tag.carries
