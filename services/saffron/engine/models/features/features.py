"""The specification of an event's features (papers G1): values that are known before the event is processed.

An event's *kind* is the combined value of a few columns (`FeatureSpec.kinds`). It is the event type of the paper. In a
stream of one type whose queries name symbols, the symbol is part of the kind. Kinds that no query tells apart are one.

Its *vector* holds small numbers, in this order (`FeatureSpec.fields`):

    the code of its kind
    for each kind, binned, how many events of it lie in the predecessor pane (the event itself excluded)
    for each attribute its bin, a null having one of its own
    for each condition 1 where it holds, else 0

Its *key* is the vector as one number: the XOR of a random number for each field and value (Zobrist, G4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from saffron.engine.models.features.event_conditions import Comparison
from saffron.records.envelope import digest

MOST_BINS = 16
"""Bins of an attribute, without the one for null."""
MOST_CONDITIONS = 16

Value = str | int | None


class FeatureError(ValueError):
    """An inconsistent specification; the message has the reason."""


@dataclass(frozen=True)
class Pane:
    """The predecessor pane: the last `length` events, or those of the last `length` ms (at most so much older)."""

    length: int
    events: bool = True


@dataclass(frozen=True)
class Binned:
    """A number or a boolean: its bin is how many `edges` (ascending) are not above it, len(edges) + 1 for null."""

    name: str
    edges: tuple[float, ...]

    @property
    def bins(self) -> int:
        """The number of bins, that of null included."""
        return len(self.edges) + 2


@dataclass(frozen=True)
class FeatureSpec:
    """The specification of a stream's features.

    `kinds`: columns ("type" or attributes that are strings or numbers). `known`: combinations of their values. The code
    of a kind is its place there. None in a combination stands for null, and for every value that no combination names
    in that column. Any other combination has the code len(known).

    `frequency_edges`: ascending, above 0; a frequency's bin is the number of edges that are not above it. `seed`: of
    the random numbers behind keys. Equal specifications give equal keys on every machine.
    """

    kinds: tuple[str, ...] = ("type",)
    known: tuple[tuple[Value, ...], ...] = ()
    pane: Pane = Pane(10)
    frequency_edges: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    attributes: tuple[Binned, ...] = ()
    conditions: tuple[Comparison, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for fits, message in self._checks():
            if not fits:
                raise FeatureError(f"features cannot be computed: {message}")

    @property
    def codes(self) -> int:
        """The number of codes of kinds: the known ones and one for all others."""
        return len(self.known) + 1

    @property
    def fields(self) -> tuple[int, ...]:
        """The number of values of each field of a vector."""
        frequencies = (len(self.frequency_edges) + 1,) * self.codes
        return (self.codes, *frequencies, *(one.bins for one in self.attributes), *(2 for _ in self.conditions))

    @property
    def content(self) -> tuple[int, ...]:
        """The numbers of a vector that the event alone decides: its kind, attributes and conditions."""
        return (0, *range(1 + self.codes, len(self.fields)))

    @property
    def identity(self) -> str:
        """The identity of the specification; counts of different specifications do not compare."""
        return digest(self.body())[:16]

    def body(self) -> dict[str, Any]:
        """The specification as JSON, which `of` reads."""
        return {
            "kinds": list(self.kinds),
            "known": [list(values) for values in self.known],
            "pane": {"length": self.pane.length, "events": self.pane.events},
            "frequency_edges": list(self.frequency_edges),
            "attributes": [{"name": one.name, "edges": list(one.edges)} for one in self.attributes],
            "conditions": [one.body() for one in self.conditions],
            "seed": self.seed,
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> FeatureSpec:
        """The specification whose `body` this is; KeyError, TypeError or FeatureError if it is none."""
        return cls(
            kinds=tuple(str(name) for name in body["kinds"]),
            known=tuple(tuple(values) for values in body["known"]),
            pane=Pane(int(body["pane"]["length"]), bool(body["pane"]["events"])),
            frequency_edges=tuple(int(edge) for edge in body["frequency_edges"]),
            attributes=tuple(
                Binned(str(one["name"]), tuple(float(edge) for edge in one["edges"])) for one in body["attributes"]
            ),
            conditions=tuple(Comparison.of(one) for one in body["conditions"]),
            seed=int(body["seed"]),
        )

    def _checks(self) -> list[tuple[bool, str]]:
        """The rules on the fields: if each holds, and the error where it does not."""
        edges = self.frequency_edges
        return [
            (bool(self.kinds), "no column says what kind an event is"),
            (all(len(values) == len(self.kinds) for values in self.known), "a kind has a value for each column"),
            (len(set(self.known)) == len(self.known), "a kind is known twice"),
            (self.pane.length >= 1, f"a pane of {self.pane.length} holds nothing"),
            (_ascends(edges) and all(edge >= 1 for edge in edges), "edges of frequencies ascend from 1"),
            (all(_ascends(one.edges) for one in self.attributes), "edges of an attribute ascend"),
            (all(len(one.edges) < MOST_BINS for one in self.attributes), f"an attribute has {MOST_BINS} bins at most"),
            (len(self.conditions) <= MOST_CONDITIONS, f"there are {MOST_CONDITIONS} conditions at most"),
            *((not one.wrong, one.wrong) for one in self.conditions),
            (max(self.fields) < 1 << 15, "a number of a vector is below 32,768"),
            (0 <= self.seed < 1 << 63, "the seed has 63 bits"),
        ]


def _ascends(edges: tuple[float, ...]) -> bool:
    return all(one < other for one, other in pairwise(edges))
