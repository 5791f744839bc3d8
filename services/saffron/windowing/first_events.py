"""The first events of a stream without a schema: held back until one is inferred, and the queries are compiled for it.

    gathering   until there are enough events to infer a schema from, or the source has had its time
    announced   the schema stands on `query-status`; the services compile, in processes of their own, what waits for it
    let go      everybody has said "ready", or nobody has said anything for too long: the schema goes into the log, then
                the events

No answer depends on when the events are let go: the queries stand in the log before the schema, which binds them, in
any case. Until the schema is in the log nothing depends on it; a new owner reads the events again and begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saffron.engine.events.infer import INFER_EVENTS, infer_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.events.schema import Schema
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows.operator import WindowingOperator
from saffron.windowing.activation import Activation


@dataclass(frozen=True)
class Patience:
    """How long first events are held back (ms): `few` while they are fewer than `enough`, else `many`.

    `compile`: how long for the services, from the last one that said "ready".
    """

    enough: int
    few: int
    many: int
    compile: int


class FirstEvents:
    """Of one chain. `complain`: takes a sentence for the log."""

    def __init__(
        self,
        operator: WindowingOperator,
        activation: Activation,
        patience: Patience,
        complain: Callable[[str], None],
    ) -> None:
        self._operator = operator
        self._activation = activation
        self._patience = patience
        self._complain = complain
        self._batches: list[RawBatch] = []
        self._held = 0
        self._since = 0
        self._schema: Schema | None = None
        self._missing: frozenset[str] = frozenset()
        self._heard_at = 0

    @property
    def wanted(self) -> bool:
        """Whether events are to come here, before the operator."""
        return bool(self._batches) or self._operator.schema is None

    @property
    def holding(self) -> bool:
        return bool(self._batches)

    @property
    def full(self) -> bool:
        """Whether no more events are to be read for now."""
        return self._held >= INFER_EVENTS

    def take(self, batch: RawBatch, now_ms: int) -> None:
        if not self._batches:
            self._since = now_ms
        self._batches.append(batch)
        self._held += len(batch)

    def step(self, now_ms: int) -> bool:
        """Infer, announce, wait; True when the operator has been given everything."""
        if not self._batches:
            return False
        if self._operator.schema is None:
            if self._schema is None and not self._infer(now_ms):
                return False
            if self._schema is not None:
                if self._compiling(self._schema, now_ms):
                    return False
                self._operator.adopt(self._schema)
        for batch in self._batches:
            self._operator.ingest(batch)
        self._batches, self._held, self._schema = [], 0, None
        return True

    # ------------------------------------------------------------ inside

    def _infer(self, now_ms: int) -> bool:
        """Whether it is time; `_schema` stays None where no record is an event (dead letters need no schema)."""
        patience = self._patience
        waited = now_ms - self._since
        if not self.full and waited < (patience.few if self._held < patience.enough else patience.many):
            return False
        schema = infer_schema(self._batches)
        if schema.types:
            self._schema = schema
            self._heard_at = now_ms
        return True

    def _compiling(self, schema: Schema, now_ms: int) -> bool:
        """Whether some query still has to be waited for."""
        missing = self._activation.uncompiled(schema)
        if self._missing - missing.keys():
            self._heard_at = now_ms
        self._missing = frozenset(missing)
        if not missing:
            return False
        if now_ms - self._heard_at < self._patience.compile:
            self._activation.announce(missing, schema_to_record(schema))
            return True
        waits = ", ".join(f"{name} ({service})" for name, service in sorted(missing.items()))
        self._complain(
            f"stream {self._operator.stream}, partition {self._operator.partition}: the first events wait no longer "
            f"until all queries are compiled; those go on without: {waits} (`saffron status` says who is running)"
        )
        return False
