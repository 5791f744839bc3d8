"""Reader of an internal partition: yields each block that counts exactly once, and detects missing blocks.

Blocks of a claim lower than the highest one seen are ignored: they come from a writer that has lost the partition.
Blocks already applied are ignored as repeats. Records of other programs are passed over, and told. A gap in the
counters raises GapError, since continuing would lose events.

A claim's number is its offset. A writer that finds the end of its topic lost claims it there. So these are signs
that the topic has other records than were read, and raise TruncatedError:

- a claim lower than the offset up to which the topic was read, but higher than those seen
- a claim that was seen and is not there when the topic is read again
- a block of a lower claim whose writer has read beyond the newest one without finding it. A writer that has lost the
  partition stops reading there

A topic that is lost exactly from its newest claim on is not noticed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block
from saffron.errors import BEGIN_ANEW, GapError, TruncatedError
from saffron.runtime.hops.tags import FOREIGN, BlockTag, ClaimTag, read_tag
from saffron.runtime.log import Record

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReaderState:
    """Position of a reader: the highest claim seen, and the counter expected in the next block.

    `counter` is None for a reader that starts in the middle of the topic. It then accepts a first block with counter 0,
    or the first block that carries a checkpoint.
    """

    claim: int = -1
    counter: int | None = None


class BlockReader:
    """Reader of one partition of `windows` or `admitted`, record by record.

    `decode`: makes a block of a message; `open_block` decodes its columns later. `ignored` and `repeated` count skipped
    blocks, `foreign` records that no service of Saffron wrote. `read`: the highest claim before an offset, and that
    offset, up to which the topic was read, by an earlier owner too; the claim is -1 where it is not known.
    """

    def __init__(self, state: ReaderState | None = None, decode: Callable[[bytes], Block] = decode_block) -> None:
        self.state = state or ReaderState()
        self._decode = decode
        self.read = (-1, 0)
        self.ignored = 0
        self.repeated = 0
        self.foreign = 0

    def accept(self, record: Record) -> Block | None:
        """The block of `record` if it is to be applied now, else None.

        GapError: blocks before it are missing. TruncatedError: the topic is not the one that was read.
        """
        tag = read_tag(record)
        if tag is FOREIGN:
            self._pass_over(record)
            return None
        self._see_claim(record, tag)
        if not isinstance(tag, BlockTag):
            return None
        if tag.claim < self.state.claim:
            self.ignored += 1
            return None
        block = self._decode(record.value or b"")
        expected = self.state.counter
        if expected is None:
            return self._start(tag, block)
        if block.counter > expected:
            raise GapError(
                f"{record.topic}/{record.partition}: records {expected} to {block.counter - 1} are missing before "
                f"offset {record.offset}; retention has removed them or the topic was tampered with. Remove its stream "
                f"and add it again: {BEGIN_ANEW}"
            )
        if block.counter < expected:
            self.repeated += 1
            return None
        self.state = ReaderState(tag.claim, block.next_counter)
        return block

    def _see_claim(self, record: Record, tag: ClaimTag | BlockTag) -> None:
        """Records the claim that a record is, or names, and that the record is read."""
        number = record.offset if isinstance(tag, ClaimTag) else tag.claim
        known, stop = self.read
        missed = isinstance(tag, BlockTag) and number < self.state.claim <= tag.seen
        if missed or 0 <= known < number < stop:
            raise TruncatedError(record.topic, record.partition, number)
        if number > self.state.claim:
            self.state = ReaderState(number, self.state.counter)
        if record.offset >= stop:  # else what was read earlier is read again
            if self.state.claim < known:
                raise TruncatedError(record.topic, record.partition, max(self.state.claim, 0))
            sure = known >= 0 or isinstance(tag, ClaimTag)
            self.read = (self.state.claim if sure else -1, record.offset + 1)

    def _pass_over(self, record: Record) -> None:
        self.foreign += 1
        if self.foreign == 1:  # once: whoever writes one may write many
            where = f"{record.topic}/{record.partition}/{record.offset}"
            _LOG.warning("%s is no block of Saffron's, and passed over: nothing else may write to that topic", where)

    def _start(self, tag: BlockTag, block: Block) -> Block | None:
        """The block if a reader can start with it, else None."""
        begins = block.counter == 0 or any(control.kind == "checkpoint" for control in block.controls)
        if not begins:
            self.ignored += 1
            return None
        self.state = ReaderState(tag.claim, block.next_counter)
        return block
