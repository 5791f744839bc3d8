"""The columns of a block as its queries read them: the schema's, those no event has had yet, and computed ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import conformed
from saffron.engine.events.computed_columns import ComputedColumns
from saffron.errors import FunctionError
from saffron.language.plan.plan import Plan
from saffron.schema.computed import Computed
from saffron.schema.schema import Kind, Schema


class ReadColumns:
    """The attributes that the queries of one operator read.

    `schema`: the one in force, if there is one. `failed`: is told the name of a query and why: a user's function whose
    value it reads has failed on an event.
    """

    def __init__(self, failed: Callable[[str, FunctionError], None]) -> None:
        self.schema: Schema | None = None
        self._failed = failed
        self._unseen: set[str] = set()
        self._computed: dict[str, dict[str, None]] = {}
        self._computing = ComputedColumns()

    def add(self, name: str, plan: Plan) -> None:
        """Note the columns that a query reads beside the schema's attributes."""
        self._unseen |= set(plan.unseen)
        for computed in plan.computed:
            self._computed.setdefault(computed, {})[name] = None

    @property
    def known(self) -> Schema:
        """The schema in force, with computed attributes, and with those that no event has had yet, which are null."""
        assert self.schema is not None
        more = dict.fromkeys(self._unseen - self.schema.kinds.keys(), Kind.NULL)
        more |= {name: one.kind for name in self._computed if (one := Computed.of_name(name)) is not None}
        return replace(self.schema, kinds={**self.schema.kinds, **more}) if more else self.schema

    def fitted(self, block: Block) -> Block:
        """The block with all attributes of `known`, each of its kind there."""
        columns = block.columns
        if self.schema is not None:
            columns = self._computing.added(conformed(columns, self.known), self._computed, self._cannot_compute)
        return block if columns is block.columns else replace(block, columns=columns)

    def _cannot_compute(self, name: str, error: FunctionError) -> None:
        for query in self._computed[name]:
            self._failed(query, error)
