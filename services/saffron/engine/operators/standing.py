"""A standing query as an operator holds it: its registration, its state (paused, failed), and its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Generic, Self, TypeVar

from saffron.engine.operators import aggregates
from saffron.language import compile_query
from saffron.language.cost.shedders import AUTO
from saffron.language.plan.limits import KEPT
from saffron.language.plan.plan import Plan
from saffron.records.query import shedder_of
from saffron.schema.functions import own
from saffron.schema.schema import Schema

R = TypeVar("R")

Compiler = Callable[[str, Schema | None, str], Plan]
"""(text, schema, name) -> plan; QueryError where the text is wrong or, with a schema, does not fit it."""


def compile_text(text: str, schema: Schema | None, name: str) -> Plan:
    """The compiler of the query language, with the user-defined aggregates that this process knows.

    Every partition asks for the same plans, some at each step: the last ones are kept.
    """
    known = (aggregates.changes(), own.changes())
    return _compiled(text, None if schema is None else _InOrder(schema), name, known)


class _InOrder:
    """A schema that equals another one only if all is in the same order, as columns and results are."""

    __slots__ = ("_content", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        values = [getattr(schema, one.name) for one in fields(schema)]
        self._content = tuple(tuple(one.items()) if isinstance(one, Mapping) else one for one in values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InOrder) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


@lru_cache(maxsize=KEPT)
def _compiled(text: str, schema: _InOrder | None, name: str, known: tuple[int, int]) -> Plan:
    """`known`: the numbers of changes of the aggregates and functions that are known."""
    del known
    names = frozenset(aggregates.registered())
    return compile_query(text, None if schema is None else schema.schema, name=name, aggregates=names, unseen=True)


@dataclass(frozen=True)
class Status:
    """The state of a query: "active", "paused", "waiting" (for the stream's schema), "rejected" or "failed".

    `reason`: of the last two.
    """

    version: int
    state: str
    reason: str


@dataclass
class StandingQuery(Generic[R]):
    """A query that was added and not removed; `runs` is what runs it in its engine, there once the text is bound.

    `shed`: its shedder. `earliest`: it is to see the past too. `refusal`: why its text does not bind, or "". `failure`:
    why it was stopped (see `containment`), or "". `foreign`: it is no query of this engine, or not of this stream.
    `timestamps`: those of its plan (see MatchPlan).
    """

    name: str
    version: int
    text: str
    slot: int
    earliest: bool
    shed: str = AUTO
    paused: bool = False
    refusal: str = ""
    failure: str = ""
    foreign: bool = False
    runs: R | None = None
    timestamps: tuple[str, ...] = ()

    @property
    def active(self) -> R | None:
        """The runs of the query, if it takes events now."""
        return None if self.paused else self.runs

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The query of a "query" control's body, of a checkpoint's entry, or of a snapshot's."""
        return cls(
            name=str(record["name"]),
            version=int(record.get("version", 1)),
            text=str(record["text"]),
            slot=int(record.get("slot", 0)),
            earliest=record.get("from") == "earliest",
            shed=shedder_of(record),
            paused=bool(record.get("paused")) or record.get("state") == "paused",
            refusal=str(record.get("refusal", "")),
            failure=str(record.get("failure") or ""),
            foreign=bool(record.get("foreign")),
        )

    def record(self) -> dict[str, Any]:
        """The record of the query in a snapshot, beside the arrays of its runs."""
        return {
            "name": self.name,
            "version": self.version,
            "text": self.text,
            "slot": self.slot,
            "from": "earliest" if self.earliest else "now",
            "shed": self.shed,
            "paused": self.paused,
            "refusal": self.refusal,
            "failure": self.failure,
            "foreign": self.foreign,
            "bound": self.runs is not None,
        }

    @property
    def is_waiting(self) -> bool:
        """Not bound yet, for want of a schema."""
        return self.runs is None and not (self.foreign or self.refusal or self.failure)

    def status(self) -> Status:
        if self.failure:
            return Status(self.version, "failed", self.failure)
        if self.refusal:
            return Status(self.version, "rejected", self.refusal)
        if self.paused:
            return Status(self.version, "paused", "")
        return Status(self.version, "waiting" if self.runs is None else "active", "")
