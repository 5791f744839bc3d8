"""When a query takes effect on a partition: once the service that runs it has said there that it is ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from saffron.engine.containment import is_of_query
from saffron.engine.events.block import Control
from saffron.engine.events.schema import Schema
from saffron.engine.events.schema_record import fingerprint, schema_to_record
from saffron.engine.shed.view import View
from saffron.engine.windows.operator import WindowingOperator
from saffron.language.plan import MatchPlan, Plan
from saffron.windowing.desk import Desk, Wanted

_WAITING_AFTER_MS = 2_000
_COMPILING = (
    "{} is to compile it for the schema inferred from the first events, which wait for it, though not for ever "
    "(`saffron status` says whether it runs)"
)


class Say(Protocol):
    """A word on `query-status`."""

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
    """The queries of one chain. `say` reports on `query-status`."""

    def __init__(self, operator: WindowingOperator, desk: Desk, say: Say) -> None:
        self._operator = operator
        self._desk = desk
        self._say = say
        self._view = View()
        self._done: dict[str, int] = {}
        self._stopped: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._looked = -1
        self._schema: Schema | None = None
        self._schema_id: str | None = None
        self._announced: set[str] = set()

    def seen(self, controls: Iterable[Control]) -> None:
        """Controls of an own block, written now or by an earlier owner."""
        for control in controls:
            self._view.apply(control)

    def step(self, now_ms: int) -> bool:
        """Let what is ready take effect; True if the operator was given anything."""
        unchanged = self._looked == self._desk.version and self._schema is self._operator.schema
        if unchanged and not self._since:
            return False
        self._looked = self._desk.version
        if self._schema is not self._operator.schema:
            self._schema = self._operator.schema
            self._schema_id = None if self._schema is None else fingerprint(schema_to_record(self._schema))
        given = self._stop_failed()
        for wanted in list(self._desk.queries.values()):
            if self._done.get(wanted.name, -1) >= wanted.offset:
                continue
            if self._is_refused(wanted):
                self._done[wanted.name] = wanted.offset
                self._since.pop(wanted.name, None)
                continue
            missing = self._missing(wanted)
            if missing is None:
                self._operator.query(wanted.name, wanted.record)
                self._done[wanted.name] = wanted.offset
                self._since.pop(wanted.name, None)
                given = True
            else:
                self._wait(wanted, missing, now_ms)
        return given

    def report(self) -> None:
        """After a take-over: what is in force, for the earlier owner may have died before it said so."""
        self._report(self._view.queries)

    # ------------------------------------------------------------ before the first event

    def uncompiled(self, schema: Schema) -> dict[str, str]:
        """The queries that wait for a schema and are not compiled for this one: name -> the service that is to."""
        schema_id = fingerprint(schema_to_record(schema))
        missing = {}
        for name, (version, text) in self._operator.unbound.items():
            try:
                plan = self._operator.plan(name, text, schema)
            except Exception as error:  # it will be rejected, or fail, when it is bound
                if not is_of_query(error):
                    raise
                continue
            if (service := self._unready(name, version, plan, schema_id)) is not None:
                missing[name] = service
        return missing

    def announce(self, missing: Mapping[str, str], schema: Mapping[str, Any]) -> None:
        """Ask for compilation for this schema (its record)."""
        for name, service in missing.items():
            version, _ = self._operator.unbound[name]
            self._say(name, version, "waiting", _COMPILING.format(service), None, schema)
        self._announced |= missing.keys()

    def bound(self) -> None:
        """The schema is in force: what was announced as waiting is in force again."""
        self._report(self._announced & self._view.queries.keys())
        self._announced.clear()

    # ------------------------------------------------------------ inside

    def _report(self, names: Iterable[str]) -> None:
        for name in names:
            version, failure = self._view.changed[name], self._view.failed.get(name)
            state = "failed" if failure else "paused" if name in self._view.paused else "active"
            self._say(name, version, state, failure, None)

    def _stop_failed(self) -> bool:
        """Queries in force that have failed on any partition are stopped here, too; True if there are such."""
        found = False
        for name, added in self._view.queries.items():
            version, reason = self._desk.failures.failed(name, self._operator.stream)
            if version == added and name not in self._view.failed and self._stopped.get(name) != added:
                self._operator.fail(name, added, reason)
                self._stopped[name] = added
                found = True
        return found

    def _is_refused(self, wanted: Wanted) -> bool:
        """Whether a service cannot compile it: what is in force stays, as with a wrong one."""
        version = None if wanted.record is None else wanted.record.version
        failed, reason = self._desk.failures.failed(wanted.name, self._operator.stream)
        if version is None or failed != version or self._view.changed.get(wanted.name) == version:
            return False
        self._say(wanted.name, failed, "failed", reason, None)
        return True

    def _missing(self, wanted: Wanted) -> str | None:
        """The service that is not ready yet; None where nobody need be."""
        record = wanted.record
        if record is None or record.version == self._view.changed.get(wanted.name):
            return None
        try:
            plan = self._operator.plan(wanted.name, record.text, None)
            if plan.stream != self._operator.stream:
                return None
            plan = self._operator.plan(wanted.name, record.text, self._operator.schema)
        except Exception as error:
            if not is_of_query(error):
                raise
            return None  # the operator rejects it, with the reason
        return self._unready(wanted.name, record.version, plan, self._schema_id)

    def _unready(self, name: str, version: int, plan: Plan, schema_id: str | None) -> str | None:
        """The service that is to run the query, if it has not said that it can, for this schema."""
        service = "matcher" if isinstance(plan, MatchPlan) else "greta"
        where = (self._operator.stream, self._operator.partition)
        if self._desk.failures.failed(name, self._operator.stream)[0] == version:
            return None  # it will not be: nobody waits for it
        return None if self._desk.marks.ready(name, version, service, *where, schema_id) else service

    def _wait(self, wanted: Wanted, service: str, now_ms: int) -> None:
        assert wanted.record is not None
        since = self._since.setdefault(wanted.name, now_ms)
        if now_ms - since >= _WAITING_AFTER_MS:
            reason = f"{service} has not reported ready: is it running? (`saffron status`; its log says what it does)"
            self._say(wanted.name, wanted.record.version, "waiting", reason, None)
