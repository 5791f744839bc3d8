"""Matches over imprecise time as JSON: as those of exact time, with the intervals of events and a confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.match.assemble import digits, identify, seeds
from saffron.engine.match.returns import evaluator
from saffron.engine.match.rows import SEQ, TIME, TS
from saffron.engine.match.values import value_at
from saffron.engine.uncertain.runs import LATEST, UncertainRuns
from saffron.engine.uncertain.table import MATCHES, PICKED

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Event:
    text: orjson.Fragment
    lo: int
    hi: int


class LikelyMatches:
    """The matches that one query found in a block. Valid until the next one.

    "ts" of an event is [lo, hi] where it is no single instant; "start" is the earliest, "end" the latest at which an
    event of the match can have happened; "confidence" stands last.
    """

    def __init__(self, runs: UncertainRuns, name: str, partition: int) -> None:
        work, columns = runs.work, runs.rows.columns
        count, picked = int(work.counters[MATCHES]), int(work.counters[PICKED])
        self._runs, self._name, self._partition = runs, name, partition
        self._places = work.picked[:picked] & runs.rows.mask
        self._counts = work.counts[:count].copy()
        self._window = work.found[:count, 1].copy()
        self._ends = work.found[:count, 2].copy()
        self._chance = work.chance[:count].copy()
        last = work.found[:count, 0] & runs.rows.mask
        self.position = columns[SEQ][last].astype(np.int64)
        self.last_time = columns[TIME][last].astype(np.int64)
        self._items = [(item.name, evaluator(item.expr, self._value)) for item in runs.plan.returns]

    def __len__(self) -> int:
        return len(self.position)

    def json(self, chosen: Ints) -> list[bytes]:
        """These matches as JSON objects."""
        if not len(chosen):
            return []
        begins = np.concatenate([[0], self._ends])
        bound = [self._places[begins[one] : self._ends[one]] for one in chosen.tolist()]
        ids = digits(self._ids(chosen, bound)).tobytes().decode()
        events = self._events(np.unique(np.concatenate(bound)))
        counts, windows, chances = self._counts[chosen], self._window[chosen].tolist(), self._chance[chosen].tolist()
        return [
            self._text(ids[32 * n : 32 * n + 32], _split(bound[n].tolist(), counts[n].tolist()), events, low, chance)
            for n, (low, chance) in enumerate(zip(windows, chances, strict=True))
        ]

    def _ids(self, chosen: Ints, bound: Sequence[Ints]) -> NDArray[np.uint64]:
        """uint64 [n, 2]: hashes of partition, window, and the events by component, as those of exact time."""
        plan = self._runs.plan
        heads = [np.full(len(chosen), self._partition)]
        if plan.window.slide is not None:
            heads += [self._window[chosen], self._window[chosen] + plan.window.size]
        ids = np.empty((len(chosen), 2), np.uint64)
        seqs = self._runs.rows.columns[SEQ][np.concatenate(bound)].astype(np.int64)
        identify(seeds(plan.text), np.ascontiguousarray(np.stack(heads)), self._counts[chosen], seqs, ids)
        return ids

    def _events(self, places: Ints) -> dict[int, _Event]:
        """The events at these places, written once however many matches have them."""
        columns, schema = self._runs.rows.columns, self._runs.schema
        made = {}
        for place in places.tolist():
            lo, hi = int(columns[TS][place]), int(columns[LATEST][place])
            kind = str(self._value("type", place))
            body = {"seq": int(columns[SEQ][place]), "ts": lo if lo == hi else [lo, hi], "type": kind}
            body |= {name: self._value(name, place) for name in schema.types.get(kind, ())}
            made[place] = _Event(orjson.Fragment(orjson.dumps(body)), lo, hi)
        return made

    def _text(
        self, identity: str, bound: list[list[int]], events: Mapping[int, _Event], low: int, chance: float
    ) -> bytes:
        plan = self._runs.plan
        taken = [events[place] for part in bound for place in part]
        variables = {}
        for component, part in zip(plan.components, bound, strict=True):
            texts = [events[place].text for place in part]
            variables[component.variable] = texts if component.closure else texts[0]
        body = {
            "id": identity,
            "query": self._name,
            "partition": self._partition,
            "key": {name: self._value(name, bound[0][0]) for name in plan.key},
            "start": min(event.lo for event in taken),
            "end": max(event.hi for event in taken),
            "window": None if plan.window.slide is None else [low, low + plan.window.size],
            "events": variables,
            "return": {name: evaluate(bound) for name, evaluate in self._items},
            "confidence": chance,
        }
        return orjson.dumps(body)

    def _value(self, attribute: str, place: int) -> Any:
        """An attribute of the event at a place of the ring of rows; None where it is null."""
        runs = self._runs
        return value_at(runs.rows, runs.schema, runs.strings, attribute, place)


def _split(places: list[int], counts: list[int]) -> list[list[int]]:
    """The places by component."""
    ends = list(accumulate(counts))
    return [places[end - count : end] for count, end in zip(counts, ends, strict=True)]
