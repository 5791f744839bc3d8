"""What the message headers of the internal topics say, so that a reader can tell claims and blocks without decoding.

A claim carries `nonce`. A block carries `claim` (number of the writer's claim), `seen` (up to which offset the
writer had read this partition, finding no higher claim, when it wrote the block), `checkpoint` (offset of the newest
block with a checkpoint record that the writer had seen by then; -1 if none) and `carries` (it has one itself).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import pyarrow as pa

from saffron.errors import LogError
from saffron.runtime.log import Record

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ClaimTag:
    """An owner's announcement; the offset of its record is the number of its claim."""

    nonce: str

    def headers(self) -> Headers:
        return (("nonce", self.nonce.encode()),)


@dataclass(frozen=True, slots=True)
class BlockTag:
    """A block's writer and what the writer knew."""

    claim: int
    seen: int
    checkpoint: int
    carries: bool

    def headers(self) -> Headers:
        return (
            ("claim", b"%d" % self.claim),
            ("seen", b"%d" % self.seen),
            ("checkpoint", b"%d" % self.checkpoint),
            ("carries", b"%d" % self.carries),
        )


def claim_value(nonce: str) -> bytes:
    """The value of a claim: like a block's, an Arrow stream whose metadata say what it is, but without events."""
    header = orjson.dumps({"kind": "claim", "nonce": nonce})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([], metadata={b"saffron": header})):
        pass
    return sink.getvalue().to_pybytes()


def read_tag(record: Record) -> ClaimTag | BlockTag:
    """The tag of a record of an internal topic; LogError if it has none (not written by a Saffron service)."""
    found = dict(record.headers)
    try:
        if "nonce" in found:
            return ClaimTag(found["nonce"].decode())
        return BlockTag(int(found["claim"]), int(found["seen"]), int(found["checkpoint"]), found["carries"] == b"1")
    except (KeyError, ValueError) as error:
        raise LogError(
            f"{record.topic}/{record.partition}/{record.offset} is no block of Saffron's (headers {record.headers!r}): "
            "nothing else may write to an internal topic"
        ) from error


def valid_blocks(records: Sequence[Record]) -> list[Record]:
    """Blocks among consecutive `records` that no higher claim among them has overruled."""
    highest = -1
    found: list[Record] = []
    for record in records:
        tag = read_tag(record)
        if isinstance(tag, ClaimTag):
            highest = max(highest, record.offset)
        elif tag.claim >= highest:
            highest = tag.claim
            found.append(record)
    return found
