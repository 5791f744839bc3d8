"""Activation of queries on a partition: a query takes effect once the service that runs it has reported ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from saffron.engine.events.block import Control
from saffron.engine.events.schema_record import fingerprint, schema_to_record
from saffron.engine.operators.containment import is_of_query
from saffron.engine.shed.drops.view import View
from saffron.engine.windows.operator import WindowingOperator
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.runtime.streams.schema_versions import Version, is_complete
from saffron.schema.schema import Schema
from saffron.windowing.control_follower import ControlFollower, QueryEntry
from saffron.windowing.lookup_wait import LookupWait

_WAITING_AFTER_MS = 2_000
_COMPILING = (
    "{} is to compile it for the schema inferred from new events, which wait for it, though not for ever "
    "(`saffron status` says whether it runs)"
)


class ReportStatus(Protocol):
    """A function that reports a query's status on `query-status`."""

    def __call__(
        self,
        name: str,
        version: int,
        state: str,
        reason: str | None,
        position: int | None,
        schema: Mapping[str, Any] | None = None,
    ) -> None: ...


class Activation:
    """The queries of one chain. `stem`: of the stream."""

    def __init__(
        self, operator: WindowingOperator, control: ControlFollower, report_status: ReportStatus, stem: str
    ) -> None:
        self._stem = stem
        self._operator = operator
        self._control = control
        self._report_status = report_status
        self._view = View()
        self._decided: dict[str, int] = {}
        self._stopped: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._uncompiled: set[str] = set()
        self._lookups = LookupWait(operator)
        self._seen_version = -1
        self._schema: Schema | None = None
        self._schema_id: str | None = None
        self._requested: set[str] = set()
        self._reported_idle: dict[str, int] = {}
        """Name -> version of queries reported as failed or waiting, which were never in force."""
        self._known: tuple[Version, Schema, bool] | None = None
        self._changes: tuple[Schema, str, Mapping[str, tuple[int, Plan]]] | None = None

    def apply_controls(self, controls: Iterable[Control]) -> None:
        """Applies the control records of an own block, written now or by an earlier owner."""
        for control in controls:
            self._view.apply(control)

    def step(self, now_ms: int, *, unread: bool = False) -> bool:
        """Puts ready queries in force; True if the operator received any.

        `unread`: no record of the partition was taken yet. What writes its first ones knows the queries, too.
        """
        unchanged = self._seen_version == self._control.version and self._schema is self._operator.schema
        if unchanged and not self._since:
            return False
        self._seen_version = self._control.version
        if self._schema is not self._operator.schema:
            self._schema = self._operator.schema
            self._schema_id = None if self._schema is None else fingerprint(schema_to_record(self._schema))
        given = self._stop_failed()
        expected: dict[str, str] = {}
        for wanted in list(self._control.queries.values()):
            if self._decided.get(wanted.name, -1) >= wanted.offset:
                continue
            if self._is_refused(wanted):
                self._decide(wanted)
                continue
            if wanted.record is None:
                self._report_dropped(wanted.name)
            missing = self._missing(wanted, now_ms, unread=unread)
            if missing is None:
                self._operator.query(wanted.name, wanted.record)
                self._reported_idle.pop(wanted.name, None)
                self._changes = None
                self._decide(wanted)
                given = True
            else:
                self._report_waiting(wanted, missing, now_ms)
                expected |= self._made_by(wanted)
        self._operator.expect(expected)
        return given

    @property
    def waiting(self) -> frozenset[str]:
        """Names of the queries that wait for their service."""
        return frozenset(self._uncompiled)

    def report_all(self) -> None:
        """Reports all queries in force.

        Called after a take-over, since the earlier owner may have died before its report.
        """
        self._report_states(self._view.queries)

    # ------------------------------------------------------------ before events that need a new version

    def announced(self, wanted: Schema) -> Schema | None:
        """The stream's announced schema, if it covers `wanted` and all earlier announcements; else None."""
        version = self._control.schemas.of(self._stem)
        if version is None:
            return None
        if self._known is None or self._known[0] is not version or self._known[1] is not wanted:
            self._known = (version, wanted, is_complete(version, wanted))
        return version.schema if self._known[2] else None

    def uncompiled(self, schema: Schema) -> dict[str, tuple[str, int]]:
        """Queries whose plans change with `schema` and that are not compiled for it: service and query version
        by name.
        """
        if self._changes is None or self._changes[0] is not schema:
            self._changes = (schema, fingerprint(schema_to_record(schema)), self._operator.changed(schema))
        _, schema_id, changed = self._changes
        missing = {}
        for name, (version, plan) in changed.items():
            if (service := self._service_not_ready(name, version, plan, schema_id)) is not None:
                missing[name] = (service, version)
        return missing

    def request_compilation(self, missing: Mapping[str, tuple[str, int]], schema: Mapping[str, Any]) -> None:
        """Requests compilation of the queries in `missing` for a schema record."""
        for name, (service, version) in missing.items():
            self._report_status(name, version, "waiting", _COMPILING.format(service), None, schema)
        self._requested |= missing.keys()

    def schema_in_force(self) -> None:
        """Reports the queries that waited for the schema as in force again."""
        self._report_states(self._requested & self._view.queries.keys())
        self._requested.clear()

    # ------------------------------------------------------------ inside

    def _decide(self, wanted: QueryEntry) -> None:
        """Mark a record as decided: nothing is left to do for it."""
        self._decided[wanted.name] = wanted.offset
        self._since.pop(wanted.name, None)
        self._uncompiled.discard(wanted.name)
        self._lookups.forget(wanted.name)

    def _report_states(self, names: Iterable[str]) -> None:
        """Reports the states of queries in force."""
        for name in names:
            version, failure = self._view.changed[name], self._view.failed.get(name)
            state = "failed" if failure else "paused" if name in self._view.paused else "active"
            at = self._view.reached.get(name)
            self._report_status(name, version, state, failure or self._operator.reported(name), at)

    def _stop_failed(self) -> bool:
        """Stops queries in force that have failed on any partition; True if there were any."""
        found = False
        for name, added in self._view.queries.items():
            version, reason = self._control.failures.failed(name, self._operator.stream)
            if version == added and name not in self._view.failed and self._stopped.get(name) != added:
                self._operator.fail(name, added, reason)
                self._stopped[name] = added
                found = True
        return found

    def _is_refused(self, wanted: QueryEntry) -> bool:
        """True if a service cannot compile the query. The version in force then stays, as for an invalid query."""
        version = None if wanted.record is None else wanted.record.version
        failed, reason = self._control.failures.failed(wanted.name, self._operator.stream)
        if version is None or failed != version or self._view.changed.get(wanted.name) == version:
            return False
        self._reported_idle[wanted.name] = failed
        self._report_status(wanted.name, failed, "failed", reason, None)
        return True

    def _report_dropped(self, name: str) -> None:
        """Reports the removal of a query that was never in force. The operator reports that of others."""
        version = self._reported_idle.pop(name, None)
        if version is not None and name not in self._view.queries:
            self._report_status(name, version, "removed", None, None)

    def _unready_service(self, wanted: QueryEntry) -> str | None:
        """The service that the query still waits for, or None."""
        record = wanted.record
        if record is None or record.version == self._view.changed.get(wanted.name):
            return None
        if self._plan(wanted.name, record.text, None) is None:
            return None
        plan = self._plan(wanted.name, record.text, self._operator.schema)
        if plan is None:
            return None
        return self._service_not_ready(wanted.name, record.version, plan, self._schema_id)

    def _plan(self, name: str, text: str, schema: Schema | None) -> Plan | None:
        """The plan of a query; None: it reads another stream, or is wrong, which the operator says with the reason."""
        try:
            plan = self._operator.plan(name, text, schema)
        except Exception as error:
            if not is_of_query(error):
                raise
            return None
        return plan if plan.stream == self._operator.stream else None

    def _service_not_ready(self, name: str, version: int, plan: Plan, schema_id: str | None) -> str | None:
        """The service that runs the query, if it has not reported ready for this schema; else None."""
        service = "matcher" if isinstance(plan, MatchPlan) else "greta"
        where = (self._operator.stream, self._operator.partition)
        if self._control.failures.failed(name, self._operator.stream)[0] == version:
            return None  # failed: it will never be ready
        return None if self._control.ready.is_ready(name, version, service, *where, schema_id) else service

    def _missing(self, wanted: QueryEntry, now_ms: int, *, unread: bool) -> str | None:
        """The sentence on what the query still waits for; None if it waits for nothing."""
        service = self._unready_service(wanted)
        (self._uncompiled.discard if service is None else self._uncompiled.add)(wanted.name)
        if service is not None:
            return f"{service} has not reported ready: is it running? (`saffron status`; its log says what it does)"
        record = wanted.record
        if record is None or unread or record.version == self._view.changed.get(wanted.name):
            return None
        return self._lookups.reason(wanted.name, record.text, now_ms)

    def _made_by(self, wanted: QueryEntry) -> dict[str, str]:
        """The event type that a query which waits makes here (INTO) -> its name."""
        plan = None if wanted.record is None else self._plan(wanted.name, wanted.record.text, None)
        return {plan.into: wanted.name} if isinstance(plan, MatchPlan) and plan.into is not None else {}

    def _report_waiting(self, wanted: QueryEntry, reason: str, now_ms: int) -> None:
        """Reports a query that has waited for some time."""
        assert wanted.record is not None
        since = self._since.setdefault(wanted.name, now_ms)
        if now_ms - since >= _WAITING_AFTER_MS:
            self._reported_idle[wanted.name] = wanted.record.version
            self._report_status(wanted.name, wanted.record.version, "waiting", reason, None)
