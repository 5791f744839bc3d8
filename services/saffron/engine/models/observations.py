"""What the last hop tells the model builder: the messages of the observation topics, and how rows become them.

`observations.transitions` (P2), one JSON object per query and commit interval:

    {"query", "version", "stream", "partition", "states": m, "window": {"size", "events"},
     "events": n, "lived": ms, "transitions": [[from, to, count], ...]}

States are 0-based; m - 1 is the completed state, and `to` -1 says that the run died before its window ended.
One count is one event seen by one partial match. `lived` is the event time (ms) that partial matches lived through
meanwhile, summed over them: with the counts it says how many events a partial match meets in a ms, and so how long a
window in time is in events; 0 if unknown. `events` is the number of events applied.

`observations.latency` (P7), one JSON object per service, chain and commit interval:

    {"service", "stream", "partition", "samples": [[function, bin, events, load, nanoseconds], ...]}

made by `LatencySamples` in `latency`. All numbers are integers, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

DIED = -1
"""The target of a transition of a run that ended neither completed nor with its window."""

TRANSITIONS_TOPIC = "observations.transitions"
LATENCY_TOPIC = "observations.latency"


def transition_messages(rows: Iterable[Mapping[str, Any]], *, stream: str, partition: int) -> list[tuple[bytes, bytes]]:
    """(key, value) of each message that the matcher's rows make: one per query and version.

    A row is {"query", "from", "to", "count", "states", "window": {"size", "events"}} with, where known, "version",
    "events" and "lived" (as above; repeated on every row of a query, so the greatest of them counts).
    """
    messages: dict[tuple[str, int], dict[str, Any]] = {}
    counts: dict[tuple[str, int], dict[tuple[int, int], int]] = {}
    for row in rows:
        identity = (str(row["query"]), int(row.get("version", 0)))
        message = messages.setdefault(identity, _message(row, stream, partition))
        for field in ("events", "lived"):
            message[field] = max(message[field], int(row.get(field, 0)))
        cells = counts.setdefault(identity, {})
        cell = (int(row["from"]), int(row["to"]))
        cells[cell] = cells.get(cell, 0) + int(row["count"])
    for identity, cells in counts.items():
        messages[identity]["transitions"] = [[*cell, count] for cell, count in sorted(cells.items())]
    return [(message["query"].encode(), orjson.dumps(message)) for message in messages.values()]


def latency_message(
    samples: Sequence[Sequence[int]], *, service: str, stream: str, partition: int
) -> tuple[bytes, bytes]:
    """(key, value) of a latency message; `samples` are those of `LatencySamples.drain`."""
    body = {"service": service, "stream": stream, "partition": partition, "samples": samples}
    return f"{service}/{stream}/{partition}".encode(), orjson.dumps(body)


def _message(row: Mapping[str, Any], stream: str, partition: int) -> dict[str, Any]:
    window = row["window"]
    return {
        "query": str(row["query"]),
        "version": int(row.get("version", 0)),
        "stream": stream,
        "partition": partition,
        "states": int(row["states"]),
        "window": {"size": int(window["size"]), "events": bool(window["events"])},
        "events": 0,
        "lived": 0,
    }
