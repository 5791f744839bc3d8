"""Texts for incidents of input topics, for `doctor` and `status`: what happened, where, when, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from saffron.counted import counted
from saffron.errors import BEGIN_ANEW
from saffron.records.same_events import same_events
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.input_state import GROWN, LOST, REMADE, TRUNCATED


@dataclass(frozen=True)
class IncidentReport:
    """An incident in words. `where`: TOPIC/PARTITION for records that were lost, else TOPIC."""

    where: str
    what: str
    fix: str


Noticed = list[tuple[int, Mapping[str, Any]]]
"""The partitions that noticed one incident, each with the incident as it was noticed there."""


def incident_reports_of(
    inputs: Iterable[Mapping[str, Any]], streams: Mapping[str, StreamRecord] | None = None
) -> list[IncidentReport]:
    """The reports of all incidents in digests' `inputs` fields, each incident once.

    `streams`: by name; None where they are not known.

    Several streams may be made of one topic, and each of them notices what happened to it, in each partition.
    """
    found: dict[tuple[Any, ...], Noticed] = {}
    for row in inputs:
        partition, generation = int(row["partition"]), 0
        for one in reversed(row["incidents"]):
            kind, numbers = one["kind"], (one["before"], one["after"])
            within = (partition, *numbers)
            place = {LOST: within, TRUNCATED: within, REMADE: (), GROWN: numbers}.get(kind)
            if place is not None:
                key = kind, str(row["topic"]), row.get("id", ""), generation, *place
                found.setdefault(key, []).append((partition, one))
            generation += kind == REMADE  # what is older happened to the topic before
    return [_report(kind, topic, noticed, streams) for (kind, topic, *_), noticed in found.items()]


def _report(kind: str, topic: str, noticed: Noticed, streams: Mapping[str, StreamRecord] | None) -> IncidentReport:
    if kind in (LOST, TRUNCATED):
        return _lost(topic, noticed) if kind == LOST else _truncated(topic, noticed)
    return _remade(topic, noticed) if kind == REMADE else _grown(topic, noticed, streams)


def _lost(topic: str, noticed: Noticed) -> IncidentReport:
    partition, one = noticed[0]
    first, stop = one["before"], one["after"]
    unread = f"{counted(stop - first, 'record')} (offsets {first} to {stop - 1})"
    what = f"retention took {unread}, not yet read, {_at(noticed)}"
    keep = f"kafka-configs --alter --entity-type topics --entity-name {topic} --add-config retention.ms=MS"
    return IncidentReport(f"{topic}/{partition}", what, f"keep it longer than its readers may be away: {keep}")


def _truncated(topic: str, noticed: Noticed) -> IncidentReport:
    """The report of a partition that lost its end."""
    partition, one = noticed[0]
    first, stop = one["after"], one["before"]
    gone = f"{counted(stop - first, 'record')} (offsets {first} to {stop - 1})"
    what = (
        f"it had lost its end, {_at(noticed)}: {gone} had been read, and their results written; what came there since "
        "has results of its own, which may be the same"
    )
    fix = "give it replicas, min.insync.replicas=2 and no unclean.leader.election: a broker lost power or its disk"
    return IncidentReport(f"{topic}/{partition}", what, fix)


def _remade(topic: str, noticed: Noticed) -> IncidentReport:
    what = (
        f"it was deleted and made anew, {_at(noticed)}; the old one was read up to partition/offset "
        f"{_offsets(noticed)}, the new one is read from its first record on"
    )
    return IncidentReport(topic, what, f"nothing, if its events go on in time; to begin afresh: {BEGIN_ANEW}")


def _grown(topic: str, noticed: Noticed, streams: Mapping[str, StreamRecord] | None) -> IncidentReport:
    before, after = noticed[0][1]["before"], noticed[0][1]["after"]
    what = (
        f"it had {counted(before, 'partition')} and has {after}, {_at(noticed)} (noticed at "
        f"partition/offset {_offsets(noticed)}): what was open there for a key that moved is not completed"
    )
    return IncidentReport(
        topic, what, f"nothing for what comes; a stream whose partitions stay: {_apart(topic, streams)}"
    )


def _apart(topic: str, streams: Mapping[str, StreamRecord] | None) -> str:
    """The commands that make a stream with partitions of its own of the events of a topic's stream."""
    if streams is None:
        return "`saffron doctor` names the command"
    record = next((one for one in streams.values() if one.topic == topic), None)
    if record is None:
        return f"add one over {topic} first, `saffron stream add`"
    return same_events(record, f"{record.name}-fixed", record.key if record.is_routed else record.key or "ATTR")


def _offsets(noticed: Noticed) -> str:
    """How far each partition had been read, by each stream that reads otherwise than another."""
    places = sorted({(partition, int(one["offset"])) for partition, one in noticed})
    return ", ".join(f"{partition}/{offset}" for partition, offset in places)


def _at(noticed: Noticed) -> str:
    """When it was first noticed."""
    first = min(one["at"] for _, one in noticed)
    return f"{datetime.fromtimestamp(first / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
