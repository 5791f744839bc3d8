"""When a query takes effect on a partition: once the service that runs it has said there that it is ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from saffron.engine.events.block import Control
from saffron.engine.events.schema_record import fingerprint, schema_to_record
from saffron.engine.operators.containment import is_of_query
from saffron.engine.shed.drops.view import View
from saffron.engine.windows.operator import WindowingOperator
from saffron.language.plan.plan import MatchPlan, Plan
from saffron.runtime.streams.schema_versions import Version, settled
from saffron.schema.schema import Schema
from saffron.windowing.follower import Desk, Wanted

_WAITING_AFTER_MS = 2_000
_COMPILING = (
    "{} is to compile it for the schema inferred from new events, which wait for it, though not for ever "
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
    """The queries of one chain. `say` reports on `query-status`. `stem`: of the stream."""

    def __init__(self, operator: WindowingOperator, desk: Desk, say: Say, stem: str) -> None:
        self._stem = stem
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
        self._asked: set[str] = set()
        self._known: tuple[Version, Schema, bool] | None = None
        self._changes: tuple[Schema, str, Mapping[str, tuple[int, Plan]]] | None = None

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
                self._changes = None
                self._done[wanted.name] = wanted.offset
                self._since.pop(wanted.name, None)
                given = True
            else:
                self._wait(wanted, missing, now_ms)
        return given

    @property
    def waiting(self) -> frozenset[str]:
        """The queries that wait for the service that is to run them."""
        return frozenset(self._since)

    def report(self) -> None:
        """After a take-over: what is in force, for the earlier owner may have died before it said so."""
        self._report(self._view.queries)

    # ------------------------------------------------------------ before events that need a new version

    def announced(self, wanted: Schema) -> Schema | None:
        """The version that `streams` has, if it is at or above this one and says all that was ever said."""
        version = self._desk.schemas.of(self._stem)
        if version is None:
            return None
        if self._known is None or self._known[0] is not version or self._known[1] is not wanted:
            self._known = (version, wanted, settled(version, wanted))
        return version.said if self._known[2] else None

    def uncompiled(self, schema: Schema) -> dict[str, tuple[str, int]]:
        """The queries whose plans this version changes, and that are not compiled for it: name -> the service that is
        to compile it, and which version of the query."""
        if self._changes is None or self._changes[0] is not schema:
            self._changes = (schema, fingerprint(schema_to_record(schema)), self._operator.changed(schema))
        _, schema_id, changed = self._changes
        missing = {}
        for name, (version, plan) in changed.items():
            if (service := self._unready(name, version, plan, schema_id)) is not None:
                missing[name] = (service, version)
        return missing

    def ask(self, missing: Mapping[str, tuple[str, int]], schema: Mapping[str, Any]) -> None:
        """Ask for compilation for this version of the schema (its record)."""
        for name, (service, version) in missing.items():
            self._say(name, version, "waiting", _COMPILING.format(service), None, schema)
        self._asked |= missing.keys()

    def taken_up(self) -> None:
        """The version is in force: what was said to be waiting for it is in force again."""
        self._report(self._asked & self._view.queries.keys())
        self._asked.clear()

    # ------------------------------------------------------------ inside

    def _report(self, names: Iterable[str]) -> None:
        for name in names:
            version, failure = self._view.changed[name], self._view.failed.get(name)
            state = "failed" if failure else "paused" if name in self._view.paused else "active"
            self._say(name, version, state, failure or self._operator.told(name), None)

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
