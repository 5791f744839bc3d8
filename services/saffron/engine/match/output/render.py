"""Matches of one query as JSON (docs/language.md, "Results"), rendered on demand, a slice at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import is_null
from saffron.engine.events.json_pieces import Pieces, cut, names
from saffron.engine.match.core.held import kind_in, stored_values
from saffron.engine.match.core.kernel_layout import AT_ONCE, DEADLINE_OF, DUE_OF
from saffron.engine.match.core.rows import SEQ, TIME, TS, TYPE, Rows
from saffron.engine.match.general.pending import UNTIMED
from saffron.engine.match.output.assemble import assemble
from saffron.engine.match.output.returns import evaluator
from saffron.engine.match.output.sequences import bound
from saffron.engine.match.output.tails import Tails
from saffron.engine.match.output.values import Stored, value_at
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.selection.entries import Entries
from saffron.engine.operators.addresses import Address, addresses
from saffron.engine.operators.identity import digits, identify, seeds
from saffron.language.plan.expressions import Expr
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.pattern import Component
from saffron.schema.schema import Kind
from saffron.schema.table_names import LOOKUP_MARK

Ints = NDArray[np.int64]

_FEW = 16
"""The ratio of all places to given ones beyond which the given ones are sorted."""


class Written(ABC):
    """Matches of one query, in a form that `_taken` reads. Valid until the next block.

    `last`: places of the events that stand last; `lows`, `serials`: of the matches' own windows, if they have any.
    `position`: of each one's last event, or what is given.
    """

    def __init__(
        self,
        runs: Stored,
        name: str,
        partition: int,
        last: Ints,
        *,
        lows: Ints | None,
        serials: Ints | None,
        position: Ints | None = None,
    ) -> None:
        self._runs = runs
        self._name = name
        self._partition = partition
        self._lows, self._serials = lows, serials
        self.position = runs.rows.columns[SEQ][last].astype(np.int64) if position is None else position
        self.last_time = runs.rows.columns[TIME][last].astype(np.int64)

    def __len__(self) -> int:
        return len(self.position)

    @property
    @abstractmethod
    def first(self) -> Ints:
        """[n] positions of the entries' first events."""

    @property
    def stored(self) -> Rows:
        """The rows in which places are."""
        return self._runs.rows

    def events_of(self, chosen: Ints) -> tuple[Ints, Ints]:
        """[n] how many events these entries have; [.] the places of all of them, entry by entry."""
        counts, places = self._taken(chosen)
        return counts.sum(axis=1), places

    def ids(self, chosen: Ints) -> NDArray[np.uint64]:
        """uint64 [n, 2]: the ids of these entries."""
        counts, places = self._taken(chosen)
        return self._ids(chosen, counts, self._runs.rows.identities(places))

    def json(self, chosen: Ints) -> list[bytes]:
        """These entries as JSON objects; empty texts where only other queries read them (INTO)."""
        if not len(chosen) or not self._runs.plan.delivery.written:
            return [b""] * len(chosen)
        plan, rows = self._runs.plan, self._runs.rows
        counts, places = self._taken(chosen)
        ids = digits(self._ids(chosen, counts, rows.identities(places)))
        heads, head_ends = self._heads(chosen, *self._span(chosen, counts, places))
        tails, tail_ends = self._tails(chosen, counts, places)
        if plan.delivery.values:  # no events: the components stand in no result
            counts, places = counts[:, :0], places[:0]
        used, where = _distinct(places, rows.capacity)
        texts, text_ends = self._events(Pieces(), used)
        frame, frame_at = self._frame()
        lengths = np.diff(text_ends, prepend=0)
        closures = np.array([component.closure for component in self._shown], np.uint8)
        size = int(lengths[where].sum()) + len(where) + len(heads) + len(tails)
        out = np.empty(size + len(chosen) * (32 + len(frame) + 4 * len(closures)), np.uint8)
        result_ends = np.empty(len(chosen), np.int64)
        assemble(
            ids, frame, frame_at, heads, head_ends, np.ascontiguousarray(counts), where, closures,
            texts, text_ends, tails, tail_ends, out, result_ends,
        )  # fmt: skip
        return cut(out[: result_ends[-1]], result_ends)

    def addresses(self, chosen: Ints) -> list[Address] | None:
        """The topics and keys to which PUBLISH sends these entries; None without PUBLISH."""

        def values(key: Expr) -> list[bytes]:
            return Tails(self._runs, *self._taken(chosen), self._value).values(key)

        return addresses(self._runs.plan.delivery, values, len(chosen))

    @property
    def _shown(self) -> Sequence[Component]:
        """The components whose events stand in results."""
        plan = self._runs.plan
        return () if plan.delivery.values else plan.components[: plan.positive]

    @property
    def _seed(self) -> str:
        """The text from which ids of results are hashed."""
        return self._runs.plan.text

    @abstractmethod
    def _taken(self, chosen: Ints) -> tuple[Ints, Ints]:
        """[n, components] how many events each component has; [.] the places of all of them, match by match."""

    def _times(self, pieces: Pieces, used: Ints) -> Ints:
        """[n, columns] the pieces that make up the times of the events at these places."""
        return pieces.numbers(self._runs.rows.columns[TS][used])[:, None]

    @abstractmethod
    def _span(self, chosen: Ints, counts: Ints, places: Ints) -> tuple[Ints, Ints, Ints]:
        """The place of each match's first event, and its first and last instant."""

    def _tails(self, chosen: Ints, counts: Ints, places: Ints) -> tuple[NDArray[np.uint8], Ints]:
        """The text after each result's events, from the closing brace on, and the end of each text."""
        return Tails(self._runs, counts, places, self._value).texts()

    def _ids(self, chosen: Ints, counts: Ints, seqs: Ints) -> NDArray[np.uint64]:
        """uint64 [n, 2]: hashes of partition, window, time of a repeated report, and the events by component."""
        words = [np.full(len(chosen), self._partition)]
        if self._lows is not None and self._serials is not None:
            words += [self._lows[chosen], self._lows[chosen] + self._runs.plan.window.size]
            if self._runs.plan.window.opens is not None:
                words.append(self._serials[chosen])
        words += self._repeated(chosen)
        ids = np.empty((len(chosen), 2), np.uint64)
        identify(seeds(self._seed), np.ascontiguousarray(np.stack(words)), counts, seqs, ids)
        return ids

    def _repeated(self, chosen: Ints) -> list[Ints]:
        """[n] each: numbers that distinguish several reports of one match; no column if there are none."""
        return []

    def _events(self, pieces: Pieces, used: Ints) -> tuple[NDArray[np.uint8], Ints]:
        """The events at these places as JSON, one after another, and where each ends.

        Under an inferred schema null attributes are left out, so that no result depends on the attributes of other
        events that were known by then. What other queries look up in tables is left out as well.
        """
        columns, strings, schema = self._runs.rows.columns, self._runs.strings.values, self._runs.schema
        seq, ts = pieces.numbers(columns[SEQ][used]), self._times(pieces, used)
        types = columns[TYPE][used]
        named = {code: str(strings[code]) for code in np.unique(types).tolist()}
        nothing = pieces.literal(b"")
        width = 5 + ts.shape[1] + 2 * max((len(schema.attributes_of(text)) for text in named.values()), default=0)
        order = np.full((len(used), width), nothing, np.int64)
        for code, text in named.items():
            own = np.flatnonzero(types == code)
            order[own, 0] = pieces.literal(b'{"seq":')
            order[own, 1] = seq[own]
            order[own, 2] = pieces.literal(b',"ts":')
            order[own, 3 : 3 + ts.shape[1]] = ts[own]
            at = 3 + ts.shape[1]
            order[own, at] = pieces.literal(b',"type":' + orjson.dumps(text))
            for attribute in schema.attributes_of(text):
                kind = kind_in(schema, attribute)
                if schema.kinds[attribute] is Kind.NULL or attribute.startswith(LOOKUP_MARK):
                    continue
                values = stored_values(self._runs.rows, kind, attribute, used[own])
                left_out = np.zeros(len(own), np.bool_) if schema.given else is_null(kind, values)
                name = pieces.literal(b"," + orjson.dumps(attribute) + b":")
                order[own, at + 1] = np.where(left_out, nothing, name)
                order[own, at + 2] = np.where(left_out, nothing, pieces.column(kind, values, strings))
                at += 2
            order[own, at + 1] = pieces.literal(b"}")
        return pieces.join(order)

    def _heads(self, chosen: Ints, first: Ints, start: Ints, end: Ints) -> tuple[NDArray[np.uint8], Ints]:
        """The text between id and events of each result: query, partition, key, start, end, window."""
        runs, plan, pieces = self._runs, self._runs.plan, Pieces()
        opening = b'","query":' + orjson.dumps(self._name) + b',"partition":%d,"key":{' % self._partition
        order: list[NDArray[np.int64] | int] = []
        for name in plan.key:
            order.append(pieces.literal(opening + orjson.dumps(attribute_shown(name)) + b":"))
            kind = kind_in(runs.schema, name)
            order.append(pieces.column(kind, stored_values(runs.rows, kind, name, first), runs.strings.values))
            opening = b","
        order += [
            pieces.literal((opening if not plan.key else b"") + b'},"start":'),
            pieces.numbers(start),
        ]
        order += [pieces.literal(b',"end":'), pieces.numbers(end)]
        if self._lows is None:
            order.append(pieces.literal(b',"window":null'))
        else:
            lows = self._lows[chosen]
            order += [pieces.literal(b',"window":['), pieces.numbers(lows)]
            order += [pieces.literal(b","), pieces.numbers(lows + plan.window.size), pieces.literal(b"]")]
        return pieces.join(np.stack([np.broadcast_to(np.asarray(column), len(chosen)) for column in order], axis=1))

    def _frame(self) -> tuple[NDArray[np.uint8], Ints]:
        opening = b',"events":{'
        texts = [b'{"id":"']
        for component in self._shown:
            texts.append(opening + names([component.variable])[0] + (b":[" if component.closure else b":"))
            opening = b","
        return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])

    def _value(self, attribute: str, place: int) -> Any:
        """An attribute of the event at a place of the ring of rows."""
        runs = self._runs
        return value_at(runs.rows, runs.schema, runs.strings, attribute, place)


class Matches(Written):
    """The matches that a query over exact times reports of a block: entries of runs' nodes.

    `position`: of each entry's last event, or what is given.
    """

    def __init__(
        self, runs: QueryRuns, entries: Entries, name: str, partition: int, position: Ints | None = None
    ) -> None:
        self._query = runs
        self._found = entries.found
        last = self._found[2] & runs.rows.mask
        super().__init__(runs, name, partition, last, lows=entries.lows, serials=entries.serials, position=position)

    @property
    def first(self) -> Ints:
        found: Ints = self._runs.rows.columns[SEQ][self._found[0] & self._runs.rows.mask].astype(np.int64)
        return found

    @property
    def deadline(self) -> Ints:
        """[n] when the window closed for whose end each waited, if it did."""
        deadline: Ints = self._found[DEADLINE_OF]
        return deadline

    def as_events(self) -> tuple[Ints, dict[str, list[Any]]]:
        """The events that INTO makes of the entries: ids, int64 [n] (never 0), and values by item of RETURN."""
        runs, chosen = self._runs, np.arange(len(self))
        counts, places = bound(self._query, self._found)
        ids = self._ids(chosen, counts, runs.rows.identities(places))[:, 0].view(np.int64)
        parts = [part.tolist() for part in np.split(places, np.cumsum(counts)[:-1])]
        width = runs.plan.positive
        events = [parts[at : at + width] for at in range(0, len(parts), width)]
        items = [(item.name, evaluator(item.expr, self._value)) for item in runs.plan.returns]
        return np.where(ids == 0, 1, ids), {name: [value(one) for one in events] for name, value in items}

    def _taken(self, chosen: Ints) -> tuple[Ints, Ints]:
        return bound(self._query, self._found[:, chosen])

    def _span(self, chosen: Ints, counts: Ints | None = None, places: Ints | None = None) -> tuple[Ints, Ints, Ints]:
        first, last = self._found[0, chosen] & self._runs.rows.mask, self._found[2, chosen] & self._runs.rows.mask
        ts = self._runs.rows.columns[TS]
        return first, ts[first].astype(np.int64), self._end(chosen, ts[last].astype(np.int64))

    def _repeated(self, chosen: Ints) -> list[Ints]:
        _, period = self._query.program.due
        return [self._found[DUE_OF, chosen]] if period else []

    def _end(self, chosen: Ints, last: Ints) -> Ints:
        """[n] when each match ends: with its last event (`last`), or when the time of its last NOT is over."""
        if self._query.program.due == UNTIMED:
            return last
        due = self._found[DUE_OF, chosen]
        return np.where(due == AT_ONCE, last, due)


def _distinct(places: Ints, capacity: int) -> tuple[Ints, Ints]:
    """The distinct places, in order, and for each place its number among them."""
    if _FEW * len(places) < capacity:
        used, number = np.unique(places, return_inverse=True)
        return used, number.astype(np.int64, copy=False)
    number = np.zeros(capacity, np.int64)
    number[places] = 1
    used = np.flatnonzero(number)
    number[used] = np.arange(len(used))
    return used, number[places]
