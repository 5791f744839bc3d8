"""When a query takes effect on a partition: once the service that runs it has said there that it is ready."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from saffron.engine.events.block import Control
from saffron.engine.events.schema import Schema
from saffron.engine.shed.view import View
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan import MatchPlan
from saffron.windowing.desk import Desk, Wanted

_WAITING_AFTER_MS = 2_000

Say = Callable[[str, int, str, str | None, int | None], None]
"""(query, version, state, reason, position)"""


class Activation:
    """The queries of one chain. `say` reports on `query-status`."""

    def __init__(self, operator: WindowingOperator, desk: Desk, say: Say) -> None:
        self._operator = operator
        self._desk = desk
        self._say = say
        self._view = View()
        self._done: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._looked = -1
        self._schema: Schema | None = None

    def seen(self, controls: Iterable[Control]) -> None:
        """Controls of an own block, written now or by an earlier owner."""
        for control in controls:
            self._view.apply(control)

    def step(self, now_ms: int) -> bool:
        """Let what is ready take effect; True if the operator was given anything."""
        unchanged = self._looked == self._desk.version and self._schema is self._operator.schema
        if unchanged and not self._since:
            return False
        self._looked, self._schema = self._desk.version, self._operator.schema
        given = False
        for wanted in list(self._desk.queries.values()):
            if self._done.get(wanted.name, -1) >= wanted.offset:
                continue
            missing = self._missing(wanted)
            if missing is None:
                self._operator.query(wanted.name, wanted.body)
                self._done[wanted.name] = wanted.offset
                self._since.pop(wanted.name, None)
                given = True
            else:
                self._wait(wanted, missing, now_ms)
        return given

    def report(self) -> None:
        """After a take-over: what is in force, for the earlier owner may have died before it said so."""
        for name, version in self._view.queries.items():
            self._say(name, version, "paused" if name in self._view.paused else "active", None, None)

    # ------------------------------------------------------------ inside

    def _missing(self, wanted: Wanted) -> str | None:
        """The service that is not ready yet; None where nobody need be."""
        body = wanted.body
        if not body or not isinstance(body.get("text"), str):
            return None
        if body.get("version") == self._view.queries.get(wanted.name):
            return None
        try:
            plan = compile_query(body["text"], self._operator.schema, name=wanted.name)
        except QueryError:
            return None  # the operator rejects it, with the reason
        if plan.stream != self._operator.stream:
            return None
        service = "matcher" if isinstance(plan, MatchPlan) else "greta"
        where = (self._operator.stream, self._operator.partition)
        return None if self._desk.marks.ready(wanted.name, body.get("version", 0), service, *where) else service

    def _wait(self, wanted: Wanted, service: str, now_ms: int) -> None:
        assert wanted.body is not None
        since = self._since.setdefault(wanted.name, now_ms)
        if now_ms - since >= _WAITING_AFTER_MS:
            reason = f"{service} has not reported ready: is it running? (`saffron status`; its log says what it does)"
            self._say(wanted.name, wanted.body["version"], "waiting", reason, None)
