"""Results above the size limit, and the dead letters written in their place.

The decision depends only on the result's bytes and a setting, so that every run decides alike. The bytes are searched,
not parsed: parsing would take many times their memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.runtime.log import TopicPartition

REASON = "result-too-large"

# A quotation mark inside a text is escaped, so none of these patterns occurs in one.
_MATCH = re.compile(rb'\},"start":(-?\d+),"end":(-?\d+),"window":(null|\[[-\d,]+\])')
_TREND = re.compile(rb',"window":(\[[-\d,]+\]),"group":\{')
_EVENT = re.compile(rb'\{"seq":(\d+),"ts":')


@dataclass(frozen=True)
class LargeResult:
    """Result number `index` (from 0) of the block at `offset`, above the size limit.

    `timestamp`: message time of its last event (ms). `body`: its JSON. `size`: its bytes in the output format.
    """

    block: TopicPartition
    offset: int
    index: int
    query: str
    id: str
    timestamp: int
    size: int
    body: bytes

    @property
    def key(self) -> bytes:
        """The dead letter's key: TOPIC/PARTITION/OFFSET.INDEX."""
        return f"{self.block.topic}/{self.block.partition}/{self.offset}.{self.index}".encode()

    def letter(self, limit: int) -> bytes:
        """The dead letter (schemas/dead-letters.yaml). `limit`: the largest size allowed, in bytes."""
        what = f"the result {self.id} of query {self.query} has {self.size} bytes, more than the {limit}"
        place, text, fix = _place(self.body)
        return orjson.dumps(
            {
                "topic": self.block.topic,
                "partition": self.block.partition,
                "offset": self.offset,
                "timestamp": self.timestamp,
                "reason": REASON,
                "detail": f"{what} that SAFFRON_RESULT_BYTES allows: {text}it is not sent; {fix}",
                "value": None,
                "encoding": "utf-8",
                "result": {
                    "index": self.index,
                    "query": self.query,
                    "id": self.id,
                    "bytes": self.size,
                    "limit": limit,
                    **place,
                },
            }
        )


def _place(body: bytes) -> tuple[dict[str, Any], str, str]:
    """The result's place in the stream as fields and as text, and advice to make such results smaller."""
    if found := _MATCH.search(body):
        first: dict[str, int] = {"ts": int(found[1])}
        last: dict[str, int] = {"ts": int(found[2])}
        seqs = [int(one[1]) for one in _EVENT.finditer(body)]
        text = f"from ts {first['ts']} to ts {last['ts']}; "
        if seqs:
            first["seq"], last["seq"] = min(seqs), max(seqs)
            text = f"its {len(seqs)} events reach from {_event(first)} to {_event(last)}; "
        fix = (
            "shorten WITHIN, bound its repetitions ({1,100}), say OUTPUT FIRST or OUTPUT COMPRESSED, or give the"
            " stream a schema without the large attributes"
        )
        return {"first": first, "last": last, "window": orjson.loads(found[3])}, text, fix
    fix = "GROUP BY fewer attributes, or such as are not that long; or return fewer aggregates"
    if found := _TREND.search(body):
        return {"window": orjson.loads(found[1])}, f"its window is {found[1].decode()}; ", fix
    return {}, "", fix


def _event(place: dict[str, int]) -> str:
    return f"seq {place['seq']} (ts {place['ts']})"
