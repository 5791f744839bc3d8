"""Which blocks a reader applies: each once, none missing, none of a zombie's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import encode_block
from saffron.errors import GapError, TruncatedError
from saffron.runtime.hops.block_reader import BlockReader, ReaderState
from saffron.runtime.hops.tags import BlockTag, ClaimTag
from saffron.runtime.log import Record
from tests.unit.runtime.fakes import columns


def block(counter: int, size: int = 1, controls: tuple[Control, ...] = ()) -> Block:
    seqs = list(range(counter, counter + size))
    return Block(columns(seqs, seqs, seqs), counter, counter + size, 0, counter=counter, controls=controls)


def record(offset: int, content: Block, claim: int = 0, seen: int | None = None) -> Record:
    tag = BlockTag(claim, offset - 1 if seen is None else seen, -1, False)
    return Record("windows", 0, offset, 0, None, encode_block(replace(content, claim=claim)), tag.headers())


def claim(offset: int) -> Record:
    return Record("windows", 0, offset, 0, None, b"", ClaimTag("0" * 32).headers())


def reader() -> BlockReader:
    made = BlockReader(ReaderState(counter=0))
    assert made.accept(claim(0)) is None
    return made


def test_blocks_follow_each_other_by_their_counters() -> None:
    made = reader()
    assert made.accept(record(1, block(0, 3))) is not None
    assert made.accept(record(2, block(3, 0))) is not None, "an empty block moves the watermark"
    assert made.accept(record(3, block(3))) is not None
    assert made.state == ReaderState(0, 4)


def test_a_repeat_is_ignored() -> None:
    made = reader()
    made.accept(record(1, block(0, 3)))
    assert made.accept(record(2, block(0, 3))) is None
    assert (made.repeated, made.state.counter) == (1, 3)


def test_a_gap_is_loud_and_names_what_is_missing() -> None:
    made = reader()
    made.accept(record(1, block(0, 3)))
    with pytest.raises(GapError, match=r"^windows/0: records 3 to 4 are missing before offset 2;"):
        made.accept(record(2, block(5)))


def test_a_block_of_a_lower_claim_is_ignored() -> None:
    made = reader()
    made.accept(claim(1))
    assert made.accept(record(2, block(0), claim=0, seen=0)) is None
    assert made.ignored == 1
    assert made.accept(record(3, block(0), claim=1)) is not None


def test_a_block_of_a_lower_claim_whose_writer_did_not_find_the_higher_one_says_that_the_end_was_lost() -> None:
    made = reader()
    made.accept(claim(4))
    with pytest.raises(TruncatedError) as told:
        made.accept(record(6, block(0), claim=2, seen=4))
    assert told.value.offset == 2


def test_a_reader_may_start_in_the_middle_at_a_checkpoint_only() -> None:
    made = BlockReader()
    assert made.accept(record(10, block(7))) is None
    start = block(8, controls=(Control(8, "checkpoint", {}),))
    assert made.accept(record(11, start)) is not None
    assert made.state.counter == 10


def test_a_record_of_someone_elses_is_passed_over_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    made = reader()
    for offset in (1, 2):
        assert made.accept(Record("windows", 0, offset, 0, None, b"x", (("their", b"header"),))) is None
    assert made.foreign == 2
    assert [one.message for one in caplog.records] == [
        "windows/0/1 is no block of Saffron's, and passed over: nothing else may write to that topic"
    ]
    assert made.accept(record(3, block(0))) is not None


@pytest.mark.parametrize(
    "wrong", [{"seen": None}, {"claim": b"x"}, {"checkpoint": b""}, {"nonce": None}, {"nonce": b"\xff"}]
)
@pytest.mark.parametrize("left", [1, 4])
def test_a_record_of_someone_elses_with_our_headers_is_passed_over(wrong: dict[str, Any], left: int) -> None:
    headers = dict(BlockTag(0, 0, -1, False).headers()[:left]) | wrong
    made = reader()
    assert made.accept(Record("windows", 0, 1, 0, None, b"x", tuple(headers.items()))) is None
    assert made.foreign == 1
    assert made.accept(record(2, block(0))) is not None


@pytest.mark.parametrize("counter", [0, 2, 4, 9])
def test_a_claim_that_was_not_there_before_shows_that_the_topic_lost_its_end(counter: int) -> None:
    """Whatever the counter of its block: it need not leave a gap."""
    made = reader()
    for offset in range(1, 5):
        made.accept(record(offset, block(offset - 1)))
    with pytest.raises(TruncatedError, match="from offset 3 on"):
        made.accept(record(5, block(counter), claim=3))


def test_a_reader_from_the_middle_does_not_take_a_claim_that_it_has_not_read_for_a_new_one() -> None:
    made = BlockReader()
    checkpoint = (Control(0, "checkpoint", {}),)
    assert made.accept(record(8, block(3), claim=5)) is None, "late, of an owner before"
    assert made.accept(record(9, block(4, 1, checkpoint), claim=7)) is not None
