"""Raw records to columns: the scanner for the common form, the exact path for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column
from saffron.engine.events.decoding.exact import decode_exactly
from saffron.engine.events.decoding.rules.event_times import DAY
from saffron.engine.events.decoding.rules.outcomes import Bad, Event, Mark, Reason, Source
from saffron.engine.events.decoding.scan import scan_events
from saffron.engine.events.decoding.scan_tables import (
    Cells,
    cells_for,
    fields_of,
    grown,
    places_of,
    scratch_for,
    strings_for,
    texts,
)
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.events.rests import is_wide
from saffron.schema.numbers import EXACT, pair_of
from saffron.schema.schema import NULL_INT, Kind, Schema, widened

_T = TypeVar("_T", bound=np.generic)


@dataclass(frozen=True)
class BadRecord:
    """Record `row` of the batch is no event: a short code, and a sentence for people."""

    row: int
    reason: Reason
    detail: str


@dataclass(frozen=True)
class WatermarkRecord:
    """A `$watermark` in a batch: record `row`, with time `ts`. `source`: its partition, in a routed stream."""

    row: int
    ts: int
    end: bool
    source: Source | None = None


@dataclass(frozen=True)
class Decoded:
    """The m good events of a batch in order of arrival, and facts on the rest of the batch.

    - `rows`: int64 [m], ascending, the record that each event comes from. `ts`: int64 [m].
    - `type`, `attributes`: columns of length m, as in `Columns`.
    - `latest`: int64 [m], None where all times are exact.
    - `misfits`: attribute -> values that became null (inferred schema) or were displaced (`Flat`).
    - `unknown_attributes`: values left out, since the schema does not have them.
    - `fresh`: int64 [.], records of events with types or attributes that an inferred schema does not know.
    - `growth`: attributes with values that their kinds do not have -> kinds that have all of them. The batch decodes to
      the same values under a schema with these kinds, except for the values that are null here, or whole numbers of
      INT.
    """

    rows: NDArray[np.int64]
    ts: NDArray[np.int64]
    type: Column
    attributes: Mapping[str, Column]
    bad: tuple[BadRecord, ...]
    watermarks: tuple[WatermarkRecord, ...]
    misfits: Mapping[str, int]
    unknown_attributes: int
    fresh: NDArray[np.int64]
    latest: NDArray[np.int64] | None = None
    growth: Mapping[str, Kind] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def mistyped(self) -> int:
        """The number of values that became null."""
        return sum(self.misfits.values())


class Decoder:
    """Decodes batches by one schema. `max_future`: how far, in ms, a ts may be ahead of its message's own time."""

    def __init__(self, schema: Schema, max_future: int = DAY) -> None:
        self.schema = schema
        self.max_future = max_future
        self._fields = fields_of(schema)
        self._scratch = scratch_for(schema, self._fields)

    def decode(self, batch: RawBatch) -> Decoded:
        """Decode a batch. Bad records raise no error (see `Decoded.bad`)."""
        cells, values = self._scan(batch)
        if batch.refused:
            cells.exact[np.isin(batch.offsets, list(batch.refused))] = 1
        draft = _Draft(self.schema, cells, values)
        for row in np.flatnonzero(cells.exact).tolist():
            draft.put(row, self._exactly(batch, row))
        return draft.decoded()

    def knows(self, batch: RawBatch) -> NDArray[np.bool_]:
        """bool [n]: the records whose type, attributes and kinds of values are the schema's; False is no certain no."""
        cells, _ = self._scan(batch)
        known: NDArray[np.bool_] = (cells.exact == 0) & (cells.unknown == 0) & (cells.fresh == 0)
        for name, (_, place) in places_of(self.schema).items():
            if self.schema.kinds[name] is Kind.INT:
                known &= np.abs(cells.ints[place]) <= EXACT  # of null the absolute value is negative
        return known

    def _exactly(self, batch: RawBatch, row: int) -> Event | Mark | Bad:
        if batch.refused and (known := batch.refused.get(int(batch.offsets[row]))) is not None:
            return Bad(cast("Reason", known[0]), known[1])
        time = None if batch.times is None else int(batch.times[row])
        return decode_exactly(batch.value(row), self.schema, time, self.max_future)

    def _scan(self, batch: RawBatch) -> tuple[Cells, list[list[str]]]:
        """Run the scanner over the batch: its cells, and the strings of each row of codes."""
        n = len(batch)
        cells = cells_for(self.schema, n)
        strings = strings_for(self.schema)
        # Always read-only, since a kernel is compiled again for writable arrays.
        buffer = batch.buffer.view()
        buffer.flags.writeable = False
        starts, ends = np.ascontiguousarray(batch.starts), np.ascontiguousarray(batch.ends)
        has_times = batch.times is not None
        times = np.ascontiguousarray(batch.times) if batch.times is not None else np.empty(0, dtype=np.int64)
        event = scan_events(
            buffer, starts, ends, times, has_times, self.max_future, 0, self._fields, strings, cells, self._scratch
        )
        while event < n:
            strings = grown(strings, len(strings.counts), int(ends[event] - starts[event]))
            event = scan_events(
                buffer,
                starts,
                ends,
                times,
                has_times,
                self.max_future,
                event,
                self._fields,
                strings,
                cells,
                self._scratch,
            )
        return cells, texts(strings, len(cells.codes))


def prepare_decoder() -> None:
    """Compile the scanner, or load it: a service does so at its start, so that its first event does not wait."""
    Decoder(Schema({}, {}, {})).decode(batch_of_values([b"{}"], times=np.zeros(1, np.int64)))


class _Draft:
    """The cells of a batch, with the outcomes of the exact path written into them."""

    def __init__(self, schema: Schema, cells: Cells, values: list[list[str]]) -> None:
        self._cells = cells
        self._by_kind: dict[Kind, NDArray[Any]] = {
            Kind.INT: cells.ints,
            Kind.FLOAT: cells.floats,
            Kind.NUMBER: cells.numbers,
            Kind.BOOL: cells.bools,
            Kind.STRING: cells.codes,
            Kind.ARRAY: cells.codes,
        }
        self._values = values
        self._codes: dict[int, dict[str, int]] = {}
        self._good = cells.exact == 0
        self._bad: list[BadRecord] = []
        self._watermarks: list[WatermarkRecord] = []
        self._misfits: Counter[str] = Counter()
        self._given = schema.given
        self._places = places_of(schema)
        self._narrow = [name for name, kind in schema.kinds.items() if kind is Kind.INT]
        self._growth: dict[str, Kind] = {}

    def _grow(self, kinds: Mapping[str, Kind]) -> None:
        """Note attributes whose values need other kinds than theirs."""
        for name, kind in kinds.items():
            joined = widened(self._growth.get(name, Kind.NULL), kind)
            self._growth.setdefault(name, kind)
            if joined is not None:
                self._growth[name] = joined

    def put(self, row: int, outcome: Event | Mark | Bad) -> None:
        """Take the exact path's word for a record."""
        self._cells.unknown[row] = self._cells.fresh[row] = 0
        if isinstance(outcome, Bad):
            self._bad.append(BadRecord(row, outcome.reason, outcome.detail))
        elif isinstance(outcome, Mark):
            self._watermarks.append(WatermarkRecord(row, outcome.ts, outcome.end, outcome.source))
        else:
            self._good[row] = True
            self._put_event(row, outcome)

    def _put_event(self, row: int, event: Event) -> None:
        """Write an event of the exact path into the cells of its row; missing values become null.

        Its misfits and growth are added to those of the batch.
        """
        cells = self._cells
        self._misfits.update(event.misfits)
        self._grow(event.growth)
        cells.unknown[row], cells.fresh[row] = event.unknown, event.fresh
        cells.ts[row] = event.ts
        if len(cells.latest):
            cells.latest[row] = NULL_INT if event.latest is None else event.latest
        cells.codes[0, row] = self._code(0, event.type)
        for name, (kind, place) in self._places.items():
            value = event.values.get(name)
            column = self._by_kind[kind][place]
            if value is None:
                column[row] = kind.null
            elif kind.has_texts:
                column[row] = self._code(place, str(value))
            else:
                column[row] = pair_of(cast("float", value)) if kind is Kind.NUMBER else value

    def _code(self, place: int, text: str) -> int:
        codes = self._codes.get(place)
        if codes is None:
            codes = self._codes[place] = {known: code for code, known in enumerate(self._values[place])}
        code = codes.get(text)
        if code is None:
            code = codes[text] = len(codes)
            self._values[place].append(text)
        return code

    def decoded(self) -> Decoded:
        """The outcome of the batch, once all rows of the exact path are put.

        `growth` also has the INT attributes with a whole number that float64 does not hold: these become LONG.
        """
        rows = np.flatnonzero(self._good).astype(np.int64, copy=False)
        attributes = {name: self._column(kind, place, rows) for name, (kind, place) in self._places.items()}
        self._grow({name: Kind.LONG for name in self._narrow if is_wide(attributes[name].data)})
        return Decoded(
            rows=rows,
            ts=_taken(self._cells.ts, rows),
            type=self._column(Kind.STRING, 0, rows),
            attributes=attributes,
            bad=tuple(self._bad),
            watermarks=tuple(self._watermarks),
            misfits=dict(self._misfits),
            unknown_attributes=int(self._cells.unknown[rows].sum()),
            fresh=self._fresh(rows),
            latest=self._latest_of(rows),
            growth=self._growth,
        )

    def _fresh(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._given:
            return rows[:0]
        fresh: NDArray[np.int64] = rows[(self._cells.fresh[rows] != 0) | (self._cells.unknown[rows] != 0)]
        return fresh

    def _latest_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        if not len(self._cells.latest):
            return None
        latest = np.maximum(self._cells.latest, self._cells.ts)
        return _taken(latest, rows) if (latest > self._cells.ts).any() else None

    def _column(self, kind: Kind, place: int, rows: NDArray[np.int64]) -> Column:
        values = tuple(self._values[place]) if kind.has_texts else ()
        return Column(kind, _taken(self._by_kind[kind][place], rows), values)


def _taken(cells: NDArray[_T], rows: NDArray[np.int64]) -> NDArray[_T]:
    """The cells of `rows`; the array itself where that is all of them."""
    return cells if len(rows) == len(cells) else cells[rows]
