"""What becomes of a record by the exact path: an event, a `$watermark`, or the reason why it is neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from saffron.schema.schema import Kind

WATERMARK_TYPE = "$watermark"

Scalar = int | float | str | bool | None
Reason = Literal[
    "too-large",
    "not-json",
    "not-csv",
    "not-an-object",
    "too-deep",
    "no-type",
    "no-ts",
    "future-ts",
    "bad-ts",
    "schema",
    "no-frame",
    "unknown-schema",
    "bad-payload",
]
"""Why a record is no event, for counting."""


@dataclass(frozen=True)
class Event:
    """A good event. `values`: those attributes of the schema that are there and not null, by name.

    `misfits`: attributes whose value is of another kind, and null, or displaced, or has a gap (see `Flat`).
    `unknown`: how many the schema does not have. `latest`: it happened at one of ts..latest; None: exactly at ts.
    `fresh`: it has a type, or more attributes than an inferred schema knows its type to have. `growth`: attributes that
    have values which their kinds do not have, and the kinds of these values.
    """

    type: str
    ts: int
    values: Mapping[str, Scalar]
    misfits: tuple[str, ...] = ()
    unknown: int = 0
    latest: int | None = None
    fresh: bool = False
    growth: Mapping[str, Kind] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Partition `number` of the `count` that a routed stream is made from; `silent`: none need wait for it now.

    Of a merged stream: `of` is the number of the partition's source, `among` has those of all sources, and `count` is
    of the partitions of all; `version` of the definition says so. Of others `among` is empty. `lookups`: names of
    those that all events of the partition have from here on, as queries ask for them (`schema.table_names`).
    """

    number: int
    count: int
    silent: bool = False
    of: int = 0
    among: tuple[int, ...] = ()
    version: int = 0
    lookups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A `$watermark`: nothing with a smaller ts will come; `end`: every window opened so far closes.

    `source`: of a re-keyed stream, which source partition says so, for itself alone.
    """

    ts: int
    end: bool
    source: Source | None = None


@dataclass(frozen=True)
class Bad:
    """Why a record is no event: a short code, and a sentence for people."""

    reason: Reason
    detail: str


class Refused(Exception):
    """The record is no event: `bad` says why."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.bad = Bad(reason, detail)
