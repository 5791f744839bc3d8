"""Events that a stream's schema does not know all of: held back until the version that does is in force.

    gathering   of a stream without a schema: until there are events enough to infer one, or the source has had its time
    announced   the version is written to `streams`, and read back: whatever other partitions found is in it, too
    compiled    the services compile, in processes of their own, the queries whose plans it changes
    in force    everybody has said "ready", or nobody has said anything for too long: the version goes into the log,
                then the events

No answer depends on when the events are let go, nor on how many versions it takes. Until a version is in the log
nothing depends on it; a new owner reads the events again and begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saffron.engine.events.decoding.growth import joined
from saffron.engine.events.decoding.infer import INFER_EVENTS, infer_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows.operator import WindowingOperator
from saffron.schema.schema import Schema
from saffron.windowing.activation import Activation


@dataclass(frozen=True)
class Patience:
    """How long events are held back (ms): first ones `few` while they are fewer than `enough`, else `many`.

    `compile`: how long for the services, from the last one that said "ready". `announce`: until a version that was not
    read back is written again.
    """

    enough: int
    few: int
    many: int
    compile: int
    announce: int = 5_000


class UnknownEvents:
    """Of one chain. `announce`: write a version of the stream's schema. `complain`: takes a sentence for the log."""

    def __init__(
        self,
        operator: WindowingOperator,
        activation: Activation,
        patience: Patience,
        announce: Callable[[Schema], None],
        complain: Callable[[str], None],
    ) -> None:
        self._operator = operator
        self._activation = activation
        self._patience = patience
        self._announce = announce
        self._complain = complain
        self._batches: list[RawBatch] = []
        self._held = 0
        self._since = 0
        self._wanted: Schema | None = None
        self._announced: tuple[Schema, int] | None = None
        self._version: Schema | None = None
        self._missing: frozenset[str] = frozenset()
        self._heard_at = 0

    @property
    def wanted(self) -> bool:
        """Whether events are to come here, before the operator."""
        return bool(self._batches) or self._operator.schema is None or self._operator.lacking is not None

    @property
    def holding(self) -> bool:
        return bool(self._batches) or self._operator.lacking is not None

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
        if not self.holding:
            self._announce_own(now_ms)
            return False
        if self._operator.schema is None:
            if self._wanted is None and not self._infer(now_ms):
                return False
        else:
            self._wanted = self._operator.lacking
        if self._wanted is not None:
            said = self._settled(self._wanted, now_ms)
            if said is None or self._compiling(self._following(said, now_ms), now_ms):
                return False
            self._operator.adopt(self._following(said, now_ms))
        for batch in self._batches:
            self._operator.ingest(batch)
        self._batches, self._held, self._wanted = [], 0, None
        return True

    # ------------------------------------------------------------ inside

    def _infer(self, now_ms: int) -> bool:
        """Whether it is time; `_wanted` stays None where no record is an event (dead letters need no schema)."""
        patience = self._patience
        waited = now_ms - self._since
        if not self.full and waited < (patience.few if self._held < patience.enough else patience.many):
            return False
        schema = infer_schema(self._batches)
        if schema.types:
            self._wanted = schema
        return True

    def _announce_own(self, now_ms: int) -> None:
        """`streams` is to have what is in force here: an older version of Saffron, or a record that came too late, may
        have left something out."""
        schema = self._operator.schema
        if schema is not None and not schema.given:
            self._settled(schema, now_ms)

    def _settled(self, wanted: Schema, now_ms: int) -> Schema | None:
        """The version that `streams` has; None until it says all of `wanted`, which is then written there."""
        if wanted.given:
            return wanted
        said = self._activation.announced(wanted)
        if said is not None:
            self._announced = None
        elif self._announced is None or self._announced[0] is not wanted or now_ms >= self._announced[1]:
            self._announced = (wanted, now_ms + self._patience.announce)
            self._announce(wanted)
        return said

    def _following(self, said: Schema, now_ms: int) -> Schema:
        """The version to take up: what is in force here comes first."""
        version = said if self._operator.schema is None else joined(self._operator.schema, said)
        if self._version is None or version != self._version:
            self._version, self._heard_at = version, now_ms
        return self._version

    def _compiling(self, version: Schema, now_ms: int) -> bool:
        """Whether some query still has to be waited for."""
        missing = self._activation.uncompiled(version)
        if self._missing - missing.keys():
            self._heard_at = now_ms
        self._missing = frozenset(missing)
        if not missing:
            return False
        if now_ms - self._heard_at < self._patience.compile:
            self._activation.ask(missing, schema_to_record(version))
            return True
        waits = ", ".join(f"{name} ({service})" for name, (service, _) in sorted(missing.items()))
        self._complain(
            f"stream {self._operator.stream}, partition {self._operator.partition}: the events that need a new version "
            f"of the schema wait no longer until all queries are compiled for it; those go on without: {waits} "
            "(`saffron status` says who is running)"
        )
        return False
