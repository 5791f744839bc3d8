"""The columns of a block as its queries read them: the schema's, those no event has had yet, and computed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import conformed
from saffron.engine.events.columns import Columns
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.operators.containment import ADVANCING, Note, is_of_query
from saffron.engine.operators.standing import StandingQuery
from saffron.language.plan.plan import Plan
from saffron.schema.computed import Computed, ComputedRead
from saffron.schema.schema import Kind, Schema

Reader = StandingQuery[Any]


@dataclass(frozen=True)
class _Reading:
    """A computed value as a query reads it."""

    query: Reader
    computed: ComputedRead


class ReadColumns:
    """The attributes that the queries of one operator read.

    `schema`: the one in force, if there is one. `note`: called with one of the queries that read a computed value,
    before it is computed. `failed`: called with a query that reads a value which cannot be computed, and why.
    """

    def __init__(self, note: Note, failed: Callable[[Reader, Exception], None]) -> None:
        self.schema: Schema | None = None
        self._note = note
        self._failed = failed
        self._unseen: dict[str, Sequence[str]] = {}
        self._computed: dict[str, list[_Reading]] = {}
        self._computing = ComputedColumns()

    def add(self, standing: Reader, plan: Plan) -> None:
        """Note the columns that a query reads beside the schema's attributes."""
        self._unseen[standing.name] = tuple(plan.unseen)
        for computed in plan.computed:
            readings = self._computed.get(computed.name, [])
            others = [one for one in readings if one.query.name != standing.name]
            self._computed[computed.name] = [*others, _Reading(standing, computed)]

    def remove(self, name: str) -> None:
        """Forget the columns that only a query of this name reads, and the computed values that are kept of them."""
        self._unseen.pop(name, None)
        for computed, readings in list(self._computed.items()):
            self._computed[computed] = [one for one in readings if one.query.name != name]
            if not self._computed[computed]:
                del self._computed[computed]
                self._computing.forget(computed)

    @property
    def known(self) -> Schema:
        """The schema in force, with computed attributes, and with those that no event has had yet, which are null."""
        return self._known(chain.from_iterable(self._unseen.values()), self._computed)

    def known_to(self, plan: Plan) -> Schema:
        """The schema in force, with what one query reads beside it.

        The runs of a query hold what this has: never what other queries read, of which a restart may bind others first.
        """
        return self._known(plan.unseen, (one.name for one in plan.computed))

    def _known(self, unseen: Iterable[str], computed: Iterable[str]) -> Schema:
        assert self.schema is not None
        more = dict.fromkeys((name for name in unseen if name not in self.schema.kinds), Kind.NULL)
        more |= {name: one.kind for name in computed if (one := Computed.of_name(name)) is not None}
        return replace(self.schema, kinds={**self.schema.kinds, **more}) if more else self.schema

    def fitted(self, block: Block, begin: int, stop: int) -> Block:
        """The block with all attributes of `known`, each of its kind there. What no query in force reads is null.

        So are, outside of rows begin..stop-1, values of a user's own functions: queries in force see these rows alone.
        """
        if self.schema is None:
            return block
        columns = conformed(block.columns, self.known)
        for readings in self._computed.values():
            if active := [one for one in readings if one.query.active is not None]:
                columns = self._with(columns, active, range(begin, stop))
        return block if columns is block.columns else replace(block, columns=columns)

    def fitted_for(self, block: Block, standing: Reader) -> Block:
        """The block as `fitted`, with the computed values of one query alone, whose step this is."""
        assert self.schema is not None
        own = [one.computed for readings in self._computed.values() for one in readings if one.query is standing]
        return replace(block, columns=self._computing.added(conformed(block.columns, self.known), own))

    def _with(self, columns: Columns, readings: Sequence[_Reading], rows: range) -> Columns:
        """The columns with a value that several queries read. Those fail that read it of an event that it fails on."""
        query, first = readings[0].query, readings[0].computed
        self._note(query.name, query.version, ADVANCING)
        types = dict.fromkeys(one for reading in readings for one in reading.computed.types)
        try:
            return self._computing.added(columns, [replace(first, types=tuple(types))], rows)
        except Exception as error:
            if not is_of_query(error):
                raise
            return self._without_failed(columns, readings, rows, error)

    def _without_failed(self, columns: Columns, readings: Sequence[_Reading], rows: range, error: Exception) -> Columns:
        """The columns after `error`: the queries that cause it fail, the others have the value.

        Each query computes the value by itself first. If all of them can, or there is one query alone, all fail with
        `error`.
        """
        if len(readings) > 1:
            for reading in readings:
                self._with(columns, [reading], rows)
        left = [one for one in readings if one.query.active is not None]
        if len(left) < len(readings):
            return self._with(columns, left, rows) if left else columns
        for reading in readings:  # it fails for one alone, or for all together and for nobody alone
            self._failed(reading.query, error)
        return columns
