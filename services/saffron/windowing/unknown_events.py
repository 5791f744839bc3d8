"""Events that the schema in force does not cover: held back until a version that covers them is in force.

    gathering   stream without a schema: until there are enough events to infer one, or a time limit
    announced   the version is written to `streams` and read back, with additions from other partitions
    compiled    the services compile, in separate processes, the queries whose plans it changes
    in force    all services are ready, or a time limit is over: the version goes into the log, then the events

No result depends on the time of release, nor on the number of versions. Until a version is in the log nothing depends
on it: a new owner reads the events again and begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from saffron.engine.events.decoding.growth import joined_in_force
from saffron.engine.events.decoding.infer import INFER_EVENTS, infer_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.windows.operator import WindowingOperator
from saffron.schema.schema import Schema
from saffron.windowing.activation import Activation


@dataclass(frozen=True)
class HoldLimits:
    """Time limits for held events, in ms.

    `few_ms`: for the first events while there are fewer than `enough`, else `many_ms`. `compile_ms`: for compilation,
    from the last service that reported ready.
    """

    enough: int
    few_ms: int
    many_ms: int
    compile_ms: int


class UnknownEvents:
    """The held events of one chain. `announce`: writes a version of the stream's schema, once, however often it is
    called with the same one; its last argument is the time (ms).
    """

    def __init__(
        self,
        operator: WindowingOperator,
        activation: Activation,
        limits: HoldLimits,
        announce: Callable[[Schema, int], None],
        report_error: Callable[[str], None],
    ) -> None:
        self._operator = operator
        self._activation = activation
        self._limits = limits
        self._announce = announce
        self._report_error = report_error
        self._batches: list[RawBatch] = []
        self._held = 0
        self._since = 0
        self._wanted: Schema | None = None
        self._version: Schema | None = None
        self._missing: frozenset[str] = frozenset()
        self._progress_at = 0

    @property
    def wanted(self) -> bool:
        """True if new events must be held here before they go to the operator."""
        return bool(self._batches) or self._operator.schema is None or self._operator.lacking is not None

    @property
    def holding(self) -> bool:
        """True if events are held back."""
        return bool(self._batches) or self._operator.lacking is not None

    @property
    def full(self) -> bool:
        """True if no more events should be read for now."""
        return self._held >= INFER_EVENTS

    def take(self, batch: RawBatch, now_ms: int) -> None:
        """Holds back a batch."""
        if not self._batches:
            self._since = now_ms
        self._batches.append(batch)
        self._held += len(batch)

    def step(self, now_ms: int) -> bool:
        """Infers, announces and waits; True once the operator has received all held events."""
        if not self.holding:
            self._announce_own(now_ms)
            return False
        if self._operator.schema is None:
            if self._wanted is None and not self._infer(now_ms):
                return False
        else:
            self._wanted = self._operator.lacking
        if self._wanted is not None:
            version = self._announced_version(self._wanted, now_ms)
            if version is None or self._compiling(self._next_version(version, now_ms), now_ms):
                return False
            self._operator.adopt(self._next_version(version, now_ms))
        for batch in self._batches:
            self._operator.ingest(batch)
        self._batches, self._held, self._wanted = [], 0, None
        return True

    # ------------------------------------------------------------ inside

    def _infer(self, now_ms: int) -> bool:
        """True if gathering is over. `_wanted` stays None if no record is an event: dead letters need no schema."""
        limits = self._limits
        waited = now_ms - self._since
        if not self.full and waited < (limits.few_ms if self._held < limits.enough else limits.many_ms):
            return False
        self._batches = [self._operator.without_made(batch) for batch in self._batches]
        schema = infer_schema(self._batches)
        if schema.types:
            self._wanted = schema
        return True

    def _announce_own(self, now_ms: int) -> None:
        """Announces the schema in force if `streams` lacks parts of it, as after an upgrade or a late record."""
        schema = self._operator.schema
        if schema is not None and not schema.given:
            self._announced_version(schema, now_ms)

    def _announced_version(self, wanted: Schema, now_ms: int) -> Schema | None:
        """The announced schema, if it covers `wanted`. Otherwise announce `wanted`, and return None."""
        if wanted.given:
            return wanted
        version = self._activation.announced(wanted)
        if version is None:
            self._announce(wanted, now_ms)
        return version

    def _next_version(self, version: Schema, now_ms: int) -> Schema:
        """The version to put in force. Attributes of the schema in force come first."""
        known = self._operator.schema
        version = version if known is None else joined_in_force(known, version)
        if self._version is None or version != self._version:
            self._version, self._progress_at = version, now_ms
        return self._version

    def _compiling(self, version: Schema, now_ms: int) -> bool:
        """True if some query must still be waited for."""
        missing = self._activation.uncompiled(version)
        if self._missing - missing.keys():
            self._progress_at = now_ms
        self._missing = frozenset(missing)
        if not missing:
            return False
        if now_ms - self._progress_at < self._limits.compile_ms:
            self._activation.request_compilation(missing, schema_to_record(version))
            return True
        waits = ", ".join(f"{name} ({service})" for name, (service, _) in sorted(missing.items()))
        self._report_error(
            f"stream {self._operator.stream}, partition {self._operator.partition}: the events that need a new version "
            f"of the schema wait no longer until all queries are compiled for it; those go on without: {waits} "
            "(`saffron status` says who is running)"
        )
        return False
