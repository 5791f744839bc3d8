"""Matches over imprecise time as JSON: as those of exact time, with the intervals of events and a confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.schema import NULL_INT, Kind
from saffron.engine.match.assemble import digits, identify, seeds
from saffron.engine.match.query import column_name
from saffron.engine.match.returns import evaluator
from saffron.engine.match.rows import SEQ, TIME, TS
from saffron.engine.uncertain.runs import LATEST, UncertainRuns
from saffron.engine.uncertain.table import MATCHES, PICKED

Ints = NDArray[np.int64]


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
        ids = digits(self._ids(chosen, bound))
        return [
            self._text(one, places, bytes(text)) for one, places, text in zip(chosen.tolist(), bound, ids, strict=True)
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

    def _text(self, match: int, places: Ints, identity: bytes) -> bytes:
        plan, columns = self._runs.plan, self._runs.rows.columns
        ends = np.cumsum(self._counts[match])
        by_component = [part.tolist() for part in np.split(places, ends[:-1])]
        low = int(self._window[match])
        body = {
            "id": identity.decode(),
            "query": self._name,
            "partition": self._partition,
            "key": {name: self._value(name, int(places[0])) for name in plan.key},
            "start": int(columns[TS][places].min()),
            "end": int(columns[LATEST][places].max()),
            "window": None if plan.window.slide is None else [low, low + plan.window.size],
            "events": {
                component.variable: [self._event(place) for place in part]
                if component.closure
                else self._event(part[0])
                for component, part in zip(plan.components, by_component, strict=True)
            },
            "return": {name: evaluate(by_component) for name, evaluate in self._items},
            "confidence": float(self._chance[match]),
        }
        return orjson.dumps(body)

    def _event(self, place: int) -> dict[str, Any]:
        columns, schema = self._runs.rows.columns, self._runs.schema
        lo, hi = int(columns[TS][place]), int(columns[LATEST][place])
        kind = str(self._value("type", place))
        attributes = {name: self._value(name, place) for name in schema.types.get(kind, ())}
        return {"seq": int(columns[SEQ][place]), "ts": lo if lo == hi else [lo, hi], "type": kind, **attributes}

    def _value(self, attribute: str, place: int) -> Any:
        """An attribute of the event at a place of the ring of rows; None where it is null."""
        column = self._runs.rows.columns.get(column_name(attribute))
        if column is None:
            return None
        value = column[place].item()
        if attribute == "ts":
            return value
        kind = Kind.STRING if attribute == "type" else self._runs.schema.kinds[attribute]
        if kind is Kind.FLOAT:
            return None if value != value else value  # noqa: PLR0124  NaN is null
        if kind is Kind.INT:
            return None if value == NULL_INT else value
        if value < 0:
            return None
        return self._runs.strings.value(value) if kind is Kind.STRING else bool(value)
