"""Texts for incidents of input topics, for `doctor` and `status`: what happened, where, when, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from saffron.counted import counted
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.input_state import GROWN, LOST, REMADE


@dataclass(frozen=True)
class IncidentReport:
    """An incident in words. `where`: TOPIC/PARTITION, or TOPIC for one that concerns the whole topic (grown)."""

    where: str
    what: str
    fix: str


def incident_reports_of(
    inputs: Iterable[Mapping[str, Any]], streams: Mapping[str, StreamRecord] | None = None
) -> list[IncidentReport]:
    """The reports of all incidents in digests' `inputs` fields, each incident once.

    `streams`: by name; None where they are not known.

    Added partitions are reported once per topic, however many partitions noticed it.
    """
    found: dict[tuple[Any, ...], IncidentReport] = {}
    grown: dict[tuple[str, int, int], dict[int, Mapping[str, Any]]] = {}
    for row in inputs:
        topic, partition = str(row["topic"]), int(row["partition"])
        for one in row["incidents"]:
            if one["kind"] == GROWN:
                grown.setdefault((topic, one["before"], one["after"]), {})[partition] = one
            elif one["kind"] in _TEXTS:
                place = (topic, partition, one["kind"], one["before"], one["at"])
                found[place] = IncidentReport(f"{topic}/{partition}", *_TEXTS[one["kind"]](topic, one))
    return [*found.values(), *(_grown(key, places, streams) for key, places in grown.items())]


def _lost(topic: str, one: Mapping[str, Any]) -> tuple[str, str]:
    first, stop = one["before"], one["after"]
    unread = f"{counted(stop - first, 'record')} (offsets {first} to {stop - 1})"
    what = f"retention took {unread}, not yet read, {_at(one)}"
    keep = f"kafka-configs --alter --entity-type topics --entity-name {topic} --add-config retention.ms=MS"
    return what, f"keep it longer than its readers may be away: {keep}"


def _remade(topic: str, one: Mapping[str, Any]) -> tuple[str, str]:
    what = (
        f"it was deleted and made anew; the old one was read up to offset {one['before']}, the new one is read from "
        f"offset {one['after']} on, {_at(one)}"
    )
    return what, "nothing, if its events go on in time; to begin afresh: saffron stream remove, saffron stream add"


def _grown(
    key: tuple[str, int, int], places: Mapping[int, Mapping[str, Any]], streams: Mapping[str, StreamRecord] | None
) -> IncidentReport:
    topic, before, after = key
    offsets = ", ".join(f"{partition}/{one['offset']}" for partition, one in sorted(places.items()))
    what = (
        f"it had {counted(before, 'partition')} and has {after}, {_at(next(iter(places.values())))} (noticed at "
        f"partition/offset {offsets}): what was open there for a key that moved is not completed"
    )
    return IncidentReport(
        topic, what, f"nothing for what comes; a stream whose partitions stay: {_apart(topic, streams)}"
    )


def _apart(topic: str, streams: Mapping[str, StreamRecord] | None) -> str:
    """The command that makes a stream with partitions of its own from the stream of a topic."""
    if streams is None:
        return "`saffron doctor` names the command"
    record = next((one for one in streams.values() if one.topic == topic), None)
    if record is None:
        return f"add one over {topic} first, `saffron stream add`"
    return f"saffron stream add {record.name}-fixed --from {record.name} --key {record.key or 'ATTR'}"


def _at(one: Mapping[str, Any]) -> str:
    return f"{datetime.fromtimestamp(one['at'] / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


_TEXTS = {LOST: _lost, REMADE: _remade}
