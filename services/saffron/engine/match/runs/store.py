"""The events that one query keeps in one partition: their rows, the slots of their keys, the windows they lie in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.strings import Pinned, Strings
from saffron.engine.kernels.jit import Function
from saffron.engine.match.core.classify import OPENS, TypeMasks
from saffron.engine.match.core.held import column_name, held_kinds
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.core.keys import Keys
from saffron.engine.match.core.rows import SEQ, SLOT, TIME, TS, TYPE, UNTIL, Rows
from saffron.engine.match.core.stream import Range, interned, key_matrix, slots_by_code, taken, type_bits
from saffron.engine.match.core.windows import Windows
from saffron.engine.match.runs.adopting import adopt_keys, adopt_rows
from saffron.engine.match.runs.feature_keys import keep_keys
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import key_names
from saffron.schema.schema import Schema

Array = NDArray[np.generic]
Ints = NDArray[np.int64]
Chosen = slice | NDArray[np.intp]
Places = tuple[slice, slice]


class Classified(Protocol):
    """A program, as far as a store reads it."""

    @property
    def plan(self) -> MatchPlan: ...
    @property
    def type_masks(self) -> TypeMasks: ...
    @property
    def classify(self) -> Function | None: ...
    @property
    def classify_names(self) -> Names: ...
    @property
    def step_names(self) -> Names: ...


class EventStore:
    """Rows, keys and windows of one query.

    `slot`: the bit of `Columns.dropped` that is this query's. `columns`: of rows, beside those of all events.
    `touched` [keys]: the last row of each key, -1 for none. `constants`: those of the program's main kernel.
    """

    def __init__(
        self,
        program: Classified,
        schema: Schema,
        strings: Strings,
        *,
        slot: int,
        columns: Iterable[str] = (),
    ) -> None:
        self.slot = slot
        self.plan = program.plan
        self.schema = schema
        self.strings = strings
        self.windows = Windows(self.plan.window)
        held = {column_name(name): np.dtype(kind.dtype) for name, kind in held_kinds(schema).items()}
        self.rows = Rows(held | dict.fromkeys(columns, np.dtype(np.int64)))
        self.keys = Keys(len(self.key_names))
        self.touched = np.full(8, -1, np.int64)
        self._program = program
        self._pinned = Pinned(strings, program.step_names.constants, program.classify_names.constants)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The words that make up a key, by name."""
        return key_names(self.plan.key, self.schema.kinds)

    @property
    def constants(self) -> Ints:
        return self._pinned.codes[0]

    def close(self) -> None:
        """Release the operator's strings that this query holds."""
        self._pinned.release()

    def string_codes(self) -> Iterator[NDArray[np.int32]]:
        """The codes of all strings that the rows hold."""
        for name, column in self.rows.columns.items():
            if column.dtype == np.int32:
                yield self.rows.live(name).astype(np.int32)

    # ---------------------------------------------------------------- events

    def instants(self, part: Range) -> Ints:
        """[n] by which windows go."""
        return part.seq if self.plan.window.events else part.ts

    def clock(self) -> Ints:
        """The column of rows by which windows measure: positions or times."""
        return np.asarray(self.rows.columns[SEQ if self.plan.window.events else TS], np.int64)

    def classify(self, part: Range) -> Ints:
        """[n] the components that each event may be to the query, as bits."""
        program, codes = self._program, part.data("type")
        bits = type_bits(part.columns.type, program.type_masks.of)
        if program.classify is None or not bits.any():
            return taken(bits, codes)
        arrays: list[Array] = []
        for name, kind in program.classify_names.attributes.items():
            arrays.append(part.data(name))
            if kind.has_texts:
                arrays.append(self.strings.mapping(name, part.column(name)))
        masks = np.empty(len(part), np.int64)
        with np.errstate(all="ignore"):
            program.classify(codes, bits, self._pinned.codes[1], self.strings.ranks(), masks, *arrays)
        return masks

    def open(self, part: Range, masks: Ints, opened: Iterable[int] | None) -> None:
        """Note the windows that open in a part, and forget it of `masks`. `opened`: where (None: as the masks say)."""
        if self.plan.window.opens is None:
            return
        instants = self.instants(part)
        if opened is None:
            at = np.flatnonzero(masks & OPENS)
            self.windows.open(part.seq[at], instants[at])
        else:
            positions = np.fromiter(opened, np.int64)
            if len(positions):
                # An opener that was dropped whole opens at the instant of the next event that is there.
                at = np.minimum(np.searchsorted(part.seq, positions), len(part) - 1)
                self.windows.open(positions, positions if self.plan.window.events else instants[at])
        masks &= ~OPENS

    def slots(self, part: Range, chosen: Chosen, create: NDArray[np.bool_]) -> Ints:
        """[n] the slot of each chosen event's key, -1 for one that has none; made where `create` is set."""
        if len(self.plan.key) == 1:
            slots = slots_by_code(part, self.plan.key[0], self.strings, chosen, create, self.keys)
            if slots is not None:
                return slots
        keys, present = key_matrix(part, self.key_names, self.strings, chosen, len(create))
        if present is None:
            return self.keys.slots(keys, create)
        # A key that lacks a part is no key, whatever value stands for the part.
        return np.where(present, self.keys.slots(keys, create & present), -1)

    def keep(self, part: Range, chosen: Chosen, slots: Ints, until: Ints) -> Places:
        """Store the chosen events; their places. `slots`, `until` [n]: of their keys, and their last instants."""
        places = self.rows.append(len(slots))
        self.rows.write(TYPE, places, interned(part, "type", self.strings, chosen))
        self.rows.write(UNTIL, places, until)
        self.rows.write(SLOT, places, slots)
        for name, values in ((SEQ, part.seq), (TS, part.ts), (TIME, part.time)):
            self.write(name, places, values, chosen)
        keep_keys(self.rows, part, places, chosen)
        for name, kind in held_kinds(self.schema).items():
            if kind.has_texts:
                self.rows.write(column_name(name), places, interned(part, name, self.strings, chosen))
            else:
                self.write(column_name(name), places, part.data(name).astype(kind.dtype, copy=False), chosen)
        return places

    def write(self, name: str, places: Places, values: Array, chosen: Chosen) -> None:
        """Fill a column at these places with the chosen values."""
        if isinstance(chosen, slice):
            self.rows.write(name, places, values[chosen])
        else:
            self.rows.gather(name, places, values, chosen)

    def widen(self) -> None:
        """Room for a last row of each key."""
        slots = self.keys.capacity
        if slots > len(self.touched):
            self.touched = np.pad(self.touched, (0, slots - len(self.touched)), constant_values=-1)

    def expire(self, now: int) -> Ints:
        """Give up the rows that no window holds at `now`; the slots of keys that are gone with them."""
        freed = self.rows.expire(now, self.touched)
        if len(freed):
            self.keys.forget(freed)
        return freed

    # ---------------------------------------------------------------- another schema, snapshots

    def adopt(self, fresh: EventStore) -> None:
        """Go on under the wider schema of `fresh`."""
        adopt_rows(self.rows, self.schema, fresh.schema)
        self.keys = adopt_keys(self.keys, self.plan.key, fresh.plan.key, self.schema, fresh.schema)
        self._pinned.release()
        self._pinned, self._program = fresh._pinned, fresh._program
        self.plan, self.schema = fresh.plan, fresh.schema

    def saved(self) -> dict[str, Any]:
        """The store's state as flat arrays."""
        return {
            "touched": self.touched.copy(),
            **{f"rows.{name}": array for name, array in self.rows.arrays().items()},
            **{f"keys.{name}": array.copy() for name, array in self.keys.arrays().items()},
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore the state of `saved`."""
        self.rows = Rows.restored(part_of(arrays, "rows"))
        self.keys = Keys.restored(part_of(arrays, "keys"))
        self.touched = np.array(arrays["touched"], np.int64)


def part_of(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    """The arrays of a part of a snapshot, by their names there."""
    prefix = f"{name}."
    return {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
