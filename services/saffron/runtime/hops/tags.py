"""Message headers of internal topics, which distinguish claims from blocks without decoding the value.

A claim has `nonce`. A block has four headers:

    claim        number of the writer's claim
    seen         offset up to which the writer had read this partition without finding a higher claim
    checkpoint   offset of the newest block with a checkpoint known to the writer, or -1
    carries      whether the block itself has a checkpoint

A record with none of these headers is *foreign*: some other program wrote it. Readers pass it over, as they do the
block of a former owner. Else one message in one stream's topic would end the services of all streams, for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson
import pyarrow as pa

from saffron.runtime.log import Record

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ClaimTag:
    """Headers of a claim. The offset of its record is the claim's number."""

    nonce: str

    def headers(self) -> Headers:
        return (("nonce", self.nonce.encode()),)


@dataclass(frozen=True, slots=True)
class BlockTag:
    """Headers of a block: its writer's claim, and the writer's knowledge of the partition."""

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


FOREIGN = BlockTag(-2, -1, -1, False)
"""The tag of a foreign record: of a lower claim than any, so that nothing takes it for a block that counts."""

_NAMES = frozenset(("nonce", "claim", "seen", "checkpoint", "carries"))


def claim_value(nonce: str) -> bytes:
    """The value of a claim's record: an Arrow stream without events, whose metadata name its kind."""
    header = orjson.dumps({"kind": "claim", "nonce": nonce})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([], metadata={b"saffron": header})):
        pass
    return sink.getvalue().to_pybytes()


def read_tag(record: Record) -> ClaimTag | BlockTag:
    """The tag of a record of an internal topic; FOREIGN: it has none, or what another program wrote under its names."""
    found = dict(record.headers)
    if _NAMES.isdisjoint(found):
        return FOREIGN
    try:
        if "nonce" in found:
            return ClaimTag(found["nonce"].decode())
        return BlockTag(int(found["claim"]), int(found["seen"]), int(found["checkpoint"]), found["carries"] == b"1")
    except (KeyError, ValueError, TypeError, AttributeError):  # a header may have no value
        return FOREIGN


def valid_blocks(records: Iterable[Record]) -> Iterator[Record]:
    """The blocks among consecutive `records` that no higher claim before them overrules."""
    highest = -1
    for record in records:
        tag = read_tag(record)
        if isinstance(tag, ClaimTag):
            highest = max(highest, record.offset)
        elif tag.claim >= highest:
            highest = tag.claim
            yield record
