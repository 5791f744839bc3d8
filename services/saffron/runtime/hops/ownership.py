"""The right to write one internal partition: taking it, keeping it, noticing its loss (fencing without transactions).

1. Append a claim with a nonce and read the partition until it comes by: its offset is the claim's number.
2. Everything before it stands. From the newest block there that counts, and the blocks since the newest
   checkpoint, the new owner takes up the stream.
3. Go on reading the own output. A higher claim means that another owner has taken over: write nothing more.

To find the newest block that counts without reading the whole partition, blocks carry `seen`: the writer knew of no
higher claim up to there. What lies between `seen` and the block must be read; what lies before need not.
"""

from __future__ import annotations

from enum import Enum

from saffron.errors import LogError
from saffron.runtime.hops.tags import BlockTag, ClaimTag, read_tag, valid_blocks
from saffron.runtime.log import Log, Producer, Record, TopicPartition

_FIRST_LOOK = 16
_BATCH = 500


class Standing(Enum):
    """Where a claim stands."""

    CLAIMING = "claiming"  # the own claim has not come by yet
    LOOKING = "looking"  # reading what stands before it
    OWNED = "owned"
    LOST = "lost"


class Ownership:
    """One owner's claim on one partition. `nonce`: 32 hex digits that no other claim has."""

    def __init__(self, log: Log, producer: Producer, where: TopicPartition, *, nonce: str, value: bytes) -> None:
        self.where = where
        self.standing = Standing.CLAIMING
        self.claim = -1
        self.seen = -1
        self.checkpoint = -1
        self.tail: tuple[Record, ...] = ()
        self._nonce = nonce
        self._consumer = log.consumer(f"{where.topic}.owner", committed_only=False, client_id="own-output", lazy=True)
        self._low, high = self._consumer.watermarks(where)
        self._look_from(max(self._low, high - _FIRST_LOOK))
        producer.send(where.topic, where.partition, value, headers=ClaimTag(nonce).headers())

    def step(self) -> bool:
        """Read on; True if anything came by. `tail` is complete once `standing` is OWNED."""
        if self.standing is Standing.LOST:
            return False
        records = self._consumer.poll(_BATCH, 0.0)
        if self.standing is Standing.OWNED:
            self._watch(records)
        else:
            self._records += records
            self._find_claim()
            if self.standing is Standing.LOOKING:
                self._look()
        return bool(records)

    def tag(self, *, carries: bool) -> BlockTag:
        """The tag of a block written now; `carries`: it has a checkpoint record."""
        return BlockTag(self.claim, self.seen, self.checkpoint, carries)

    def close(self) -> None:
        self._consumer.close()

    # ------------------------------------------------------------ inside

    def _look_from(self, offset: int) -> None:
        self._from = offset
        self._records: list[Record] = []
        self._consumer.assign({self.where: offset})

    def _find_claim(self) -> None:
        if self.standing is not Standing.CLAIMING:
            return
        for record in self._records:
            tag = read_tag(record)
            if isinstance(tag, ClaimTag) and tag.nonce == self._nonce:
                self.claim = record.offset
                self.standing = Standing.LOOKING

    def _look(self) -> None:
        """Decide whether what has been read, back to `_from`, is enough; else read again from further back."""
        if not self._records or self._records[-1].offset < self.claim:
            return
        before = [record for record in self._records if record.offset < self.claim]
        newest, needed = self._newest(before)
        if newest is not None:
            needed = min(needed, self._base(before, newest))
        if needed < self._from:
            self._look_from(needed)
            return
        self._own(before, newest)

    def _newest(self, before: list[Record]) -> tuple[Record | None, int]:
        """(the newest block that counts or None, the offset from which on one must have read to know)."""
        claims = [record.offset for record in before if isinstance(read_tag(record), ClaimTag)]
        for record in reversed(before):
            tag = read_tag(record)
            if not isinstance(tag, BlockTag) or any(tag.claim < claim < record.offset for claim in claims):
                continue
            return record, max(self._low, min(tag.seen + 1, record.offset))
        return None, max(self._low, self.claim - 4 * (self.claim - self._from) - _FIRST_LOOK)

    def _base(self, before: list[Record], newest: Record) -> int:
        """The offset of the block from which on the stream's state can be built up to `newest`."""
        last = read_tag(newest)
        assert isinstance(last, BlockTag)
        base = last.checkpoint
        for record in before:
            tag = read_tag(record)
            if record.offset > newest.offset:
                break  # a zombie's, overruled
            if isinstance(tag, BlockTag) and tag.carries and tag.claim == last.claim:
                base = max(base, record.offset)
        if 0 <= base < self._low or (base < 0 < self._low):
            raise LogError(
                f"{self.where.topic}/{self.where.partition}: the newest checkpoint (offset {base}) is gone, the topic "
                f"begins at {self._low}; its retention is shorter than the distance between checkpoints: raise it"
            )
        return max(base, self._low)

    def _own(self, before: list[Record], newest: Record | None) -> None:
        after = [record for record in self._records if record.offset > self.claim]
        if newest is not None:
            last = read_tag(newest)
            assert isinstance(last, BlockTag)
            base = self._base(before, newest)
            self.tail = tuple(valid_blocks([r for r in before if base <= r.offset <= newest.offset]))
            self.checkpoint = base if _carries(self.tail[0]) else -1
        elif self._low > 0:
            raise LogError(f"{self.where.topic}/{self.where.partition}: no block is left to take the stream up from")
        self._records = []
        self.seen = self.claim
        self.standing = Standing.OWNED
        self._watch(after)

    def _watch(self, records: list[Record]) -> None:
        for record in records:
            tag = read_tag(record)
            self.seen = record.offset
            if isinstance(tag, ClaimTag):
                self.standing = Standing.LOST
                return
            if tag.claim == self.claim and tag.carries:
                self.checkpoint = record.offset


def _carries(record: Record) -> bool:
    tag = read_tag(record)
    return isinstance(tag, BlockTag) and tag.carries
