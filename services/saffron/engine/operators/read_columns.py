"""The columns of a block as its queries read them: the schema's, those no event has had yet, and computed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import conformed
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.engine.operators.containment import ADVANCING, Note, is_of_query
from saffron.engine.operators.standing import StandingQuery
from saffron.language.plan.plan import Plan
from saffron.schema.computed import Computed
from saffron.schema.schema import Kind, Schema

Reader = StandingQuery[Any]


class ReadColumns:
    """The attributes that the queries of one operator read.

    `schema`: the one in force, if there is one. `note`: called with one of the queries that read a computed value,
    before it is computed. `failed`: called with a query that reads a value which cannot be computed, and why.
    """

    def __init__(self, note: Note, failed: Callable[[Reader, Exception], None]) -> None:
        self.schema: Schema | None = None
        self._note = note
        self._failed = failed
        self._unseen: set[str] = set()
        self._computed: dict[str, list[Reader]] = {}
        self._computing = ComputedColumns()

    def add(self, standing: Reader, plan: Plan) -> None:
        """Note the columns that a query reads beside the schema's attributes."""
        self._unseen |= set(plan.unseen)
        for computed in plan.computed:
            readers = self._computed.get(computed, [])
            self._computed[computed] = [one for one in readers if one.name != standing.name] + [standing]

    @property
    def known(self) -> Schema:
        """The schema in force, with computed attributes, and with those that no event has had yet, which are null."""
        return self._with(self._unseen, self._computed)

    def known_to(self, plan: Plan) -> Schema:
        """The schema in force, with what one query reads beside it.

        The runs of a query hold what this has: never what other queries read, of which a restart may bind others first.
        """
        return self._with(plan.unseen, plan.computed)

    def _with(self, unseen: Iterable[str], computed: Iterable[str]) -> Schema:
        assert self.schema is not None
        more = dict.fromkeys((name for name in unseen if name not in self.schema.kinds), Kind.NULL)
        more |= {name: one.kind for name in computed if (one := Computed.of_name(name)) is not None}
        return replace(self.schema, kinds={**self.schema.kinds, **more}) if more else self.schema

    def fitted(self, block: Block) -> Block:
        """The block with all attributes of `known`, each of its kind there. What no query in force reads is null."""
        if self.schema is None:
            return block
        columns = conformed(block.columns, self.known)
        for name, standing in self._computed.items():
            readers = [one for one in standing if one.active is not None]
            if readers:
                self._note(readers[0].name, readers[0].version, ADVANCING)
                try:
                    columns = self._computing.added(columns, [name])
                except Exception as error:
                    if not is_of_query(error):
                        raise
                    self._fail(readers, error)
        return block if columns is block.columns else replace(block, columns=columns)

    def fitted_for(self, block: Block, standing: Reader) -> Block:
        """The block as `fitted`, with the computed values of one query alone, whose step this is."""
        assert self.schema is not None
        own = [name for name, readers in self._computed.items() if any(one is standing for one in readers)]
        return replace(block, columns=self._computing.added(conformed(block.columns, self.known), own))

    def _fail(self, readers: Sequence[Reader], error: Exception) -> None:
        for one in readers:
            self._failed(one, error)
