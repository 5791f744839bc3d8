"""Observations for the model builder: rows of an operator in the last hop, packed into messages.

`observations.transitions` (P2) has one JSON object per query and commit interval (fields: schemas/). One count is one
event met by one partial match. States are 0-based. In state 0 nothing is bound yet, and every event meets it once.
State m - 1 is the completed one. A state after of -1 says that the run died before its window ended. Where a run split,
each successor beyond the first is one more count, and is counted under the state after -2 besides.

`lived` is the event time (ms) that partial matches lived through meanwhile, summed over them. With the counts it gives
the events that a partial match meets in a ms, and so the events in a window of time. `nanoseconds` is the time that the
query's blocks took in all. It is a sample for the fit of what each transition takes. `followed` has the outcomes of
partial matches that were tracked (see `ages`).

`observations.features` (G2) has one JSON object per query and commit interval: the operator's row. It says how often
each key occurred, and has the keys of the events of matches, and the vectors behind keys.

`observations.latency` (P7) has one JSON object per chain and commit interval, from `latency.LatencySamples`.

All numbers are integers, so that their sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

_KEYED = orjson.OPT_NON_STR_KEYS

DIED = -1
"""The state after of a run that ended neither completed nor with its window."""
FORKED = -2
"""Counts successors of runs that split, beyond one for each run and event; no state of its own."""


def transition_messages(rows: Iterable[Mapping[str, Any]], *, stream: str, partition: int) -> list[tuple[bytes, bytes]]:
    """(key, value) of each message that the matcher's rows make: one per query and version, in order of appearance.

    A row is {"query", "query_version", "states", "window": {"size", "events"}, "from", "to", "count"}. Where known it
    has "nanoseconds", "events", "lived" and "followed". The first three are of the query: the greatest of its rows is
    taken.
    """
    messages: dict[tuple[str, int], dict[str, Any]] = {}
    cells: dict[tuple[str, int], dict[tuple[int, int], int]] = {}
    for row in rows:
        identity = (str(row["query"]), int(row["query_version"]))
        message = messages.setdefault(identity, _message(row, stream, partition))
        for field in ("events", "lived", "nanoseconds"):
            message[field] = max(message[field], int(row.get(field, 0)))
        message["followed"] += row.get("followed", ())
        table = cells.setdefault(identity, {})
        cell = int(row["from"]), int(row["to"])
        table[cell] = table.get(cell, 0) + int(row["count"])
    for identity, table in cells.items():
        messages[identity]["transitions"] = [[*cell, count] for cell, count in sorted(table.items())]
    return [(message["query"].encode(), orjson.dumps(message)) for message in messages.values()]


def feature_messages(rows: Iterable[Mapping[str, Any]], *, stream: str, partition: int) -> list[tuple[bytes, bytes]]:
    """(key, value) of each message of `observations.features`: a row (see `FeatureCounts.add`) with its place."""
    return [
        (str(row["query"]).encode(), orjson.dumps({**row, "stream": stream, "partition": partition}, option=_KEYED))
        for row in rows
    ]


def latency_message(
    samples: Mapping[str, Sequence[Sequence[int]]], *, stream: str, partition: int
) -> tuple[bytes, bytes]:
    """(key, value) of a latency message; `samples` are those of `LatencySamples.drain`."""
    return stream.encode(), orjson.dumps({"stream": stream, "partition": partition, **samples})


def _message(row: Mapping[str, Any], stream: str, partition: int) -> dict[str, Any]:
    """The message of a query's version, with sums of 0, before its rows are added. `row`: any of them."""
    window = row["window"]
    return {
        "query": str(row["query"]),
        "query_version": int(row["query_version"]),
        "stream": stream,
        "partition": partition,
        "states": int(row["states"]),
        "window": {"size": int(window["size"]), "events": bool(window["events"])},
        "events": 0,
        "lived": 0,
        "nanoseconds": 0,
        "followed": [],
    }
