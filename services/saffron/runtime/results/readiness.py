"""Compilation of registered queries ahead of time, and readiness reports to `windowing` for each partition.

A query is compiled for a schema. This is the schema in force on the partition, or a newer version that `windowing`
announces before it lets events through that need it. Before any schema is known the query is reported ready for none.
It is then bound when the schema comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from saffron.engine.events.schema_record import fingerprint
from saffron.engine.operators.composition import in_order
from saffron.engine.operators.containment import Failure, is_of_query
from saffron.engine.operators.standing import compile_text
from saffron.errors import UnavailableError
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.records.query import QueryRecord
from saffron.records.status import FAILED, READY, QueryStatus
from saffron.runtime.kernels.warm import Request, Warmer
from saffron.runtime.log import Log
from saffron.runtime.log.topics import Topics
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.streams.control_topics import Report, follow_queries, follow_statuses
from saffron.runtime.streams.schema_versions import extends
from saffron.runtime.streams.statuses import AnnouncedSchemas, FailedStatuses, Statuses

_LOG = logging.getLogger(__name__)
Chains = Mapping[tuple[str, int], ResultChain]
"""All assigned chains by (stream, partition)."""


@dataclass
class QueryRegistration:
    """The newest version of a query that this service runs.

    `plan`: bound without a schema. `requested`, `compiled`: ids of schemas for which compilation was requested, or is
    done. `failed`: reasons of failed compilations, by schema id. `unpublishable`: the reason why its topic of PUBLISH
    cannot be written, "" if it can; None before that is known.
    """

    name: str
    version: int
    text: str
    shed: str
    plan: Plan
    requested: set[str] = field(default_factory=set)
    compiled: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    unpublishable: str | None = None

    @property
    def stream(self) -> str:
        """The stream that the query reads."""
        return self.plan.stream

    def is_of(self, request: Request) -> bool:
        """True if a compilation result is usable for this query, whatever its version."""
        return (self.text, self.shed, self.stream) == (request.text, request.shed, request.stream)


class Readiness:
    """Follower of `queries` and `query-status`. `trends`: this service runs aggregate queries, else match queries."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        service: str,
        operator: str,
        warming: Warmer,
        statuses: Statuses,
        *,
        trends: bool,
        has_schema: Callable[[str], bool],
        prepare: Callable[[QueryRegistration, str, Mapping[str, str]], str],
        report: Report,
    ) -> None:
        """`has_schema`: whether a stream was given a schema.

        Its queries are then compiled once that schema is in force. `prepare`: makes a query's topic of PUBLISH ready,
        beside the texts of those before it; the reason why it cannot be, "" if it is ready.
        """
        self._queries = follow_queries(log, topics, report)
        self._status_topic = follow_statuses(log, topics, report)
        self._announced = AnnouncedSchemas()
        self._failures = FailedStatuses()
        self._service = service
        self._operator = operator
        self._warming = warming
        self._statuses = statuses
        self._trends = trends
        self._has_schema = has_schema
        self._prepare = prepare
        self._registrations: dict[str, QueryRegistration] = {}
        self._chains: frozenset[tuple[str, int]] = frozenset()

    @property
    def caught_up(self) -> bool:
        """True if both topics were read to their ends."""
        return self._queries.caught_up and self._status_topic.caught_up

    def step(self, chains: Chains) -> bool:
        """Reads both topics, requests compilations, and reports results; True if there was news of any."""
        queries, statuses, warmed = self._queries.step(), self._status_topic.step(), self._warming.step()
        for query in queries:
            before = self._registrations.pop(query.key, None)
            if query.row is not None and (found := self._registration_of(query.row, before)) is not None:
                self._registrations[query.key] = found
                self._warming.prepare()
        for status in statuses:
            self._announced.read(status)
            self._failures.read(status)
            if status.row is None:
                self._statuses.tombstone_read(status.key)
        for done in warmed:
            requested = self._registrations.get(done.request.name)
            if requested is not None and requested.is_of(done.request):
                compiled_for = fingerprint(done.request.schema)
                requested.compiled.add(compiled_for)
                if done.failure:
                    requested.failed[compiled_for] = done.failure
        for stream, partition in self._chains - chains.keys():
            self._statuses.forget(stream, partition)
        self._chains = frozenset(chains)
        for (stream, partition), chain in chains.items():
            schema_id = None if chain.schema is None else fingerprint(chain.schema)
            for registration in self._registrations.values():
                if registration.stream == stream:
                    self._ensure_compiled(registration, partition, chain, schema_id)
        return bool(queries or statuses or warmed)

    @property
    def failed(self) -> frozenset[tuple[str, str]]:
        """Name and stream of each query whose newest version has failed."""
        own = ((one.name, one.stream, one.version) for one in self._registrations.values())
        return frozenset((n, stream) for n, stream, version in own if self._failures.failed(n, stream)[0] == version)

    def has_queries(self, stream: str) -> bool:
        """True if queries of the stream are registered that this service runs."""
        return any(registration.stream == stream for registration in self._registrations.values())

    def fail(self, stream: str, partition: int, failure: Failure) -> None:
        """Records and reports a query's failure on a partition."""
        where = (self._service, stream, partition)
        status = QueryStatus(failure.name, failure.version, *where, FAILED, failure.reason, failure.position)
        self._failures.add(status)
        self._statuses.report(status)

    def close(self) -> None:
        self._warming.close()
        self._queries.close()
        self._status_topic.close()

    # ------------------------------------------------------------ inside

    def _registration_of(self, record: QueryRecord, before: QueryRegistration | None) -> QueryRegistration | None:
        """The registration of a query record, or None if this service does not run it.

        `windowing` rejects invalid queries.
        """
        try:
            plan = compile_text(record.text, None, record.name)
        except Exception as error:
            if not is_of_query(error):
                raise
            return None
        if isinstance(plan, TrendPlan) != self._trends:
            return None
        found = QueryRegistration(record.name, record.version, record.text, record.shed, plan)
        if not plan.delivery.written and (before is None or before.text != record.text):
            _LOG.info("the results of query %s are events of other queries only: PUBLISH writes them", record.name)
        if before is not None and (before.text, before.shed) == (record.text, record.shed) and not before.failed:
            return replace(found, requested=before.requested, compiled=before.compiled)
        return found

    def _ensure_compiled(
        self, query: QueryRegistration, partition: int, chain: ResultChain, schema_id: str | None
    ) -> None:
        """Requests compilation for the partition's schema, or reports its result.

        `schema_id`: of the schema in force.
        """
        schema = chain.schema
        announced = self._announced.schema(query.name, query.version, query.stream, partition)
        if announced is not None and extends(announced, schema):
            schema, schema_id = announced, fingerprint(announced)
        if schema is None or schema_id is None:
            if not self._has_schema(query.stream) and chain.operator is not None and not chain.replaying:
                self._report_ready(query, partition, None)
        elif schema_id in query.failed:
            self._report_failed(query, partition, query.failed[schema_id])
        elif schema_id in query.compiled:
            self._report_ready(query, partition, schema_id)
        elif schema_id not in query.requested:
            query.requested.add(schema_id)
            dependencies = self._dependencies(query)
            request = Request(
                self._operator, query.name, query.version, query.text, query.stream, schema, query.shed, dependencies
            )
            self._warming.ask(request)

    def _dependencies(self, query: QueryRegistration) -> tuple[tuple[str, str], ...]:
        """Queries whose results this one may read (INTO): name and text, each after its own dependencies."""
        plans = {
            name: one.plan
            for name, one in self._registrations.items()
            if isinstance(one.plan, MatchPlan) and one.plan.into and one.stream == query.stream and name != query.name
        }
        return tuple((name, self._registrations[name].text) for name in in_order(plans))

    def _report_failed(self, query: QueryRegistration, partition: int, reason: str) -> None:
        if self._failures.failed(query.name, query.stream)[0] != query.version:
            where = (self._service, query.stream, partition)
            self._statuses.report(QueryStatus(query.name, query.version, *where, FAILED, reason))

    def _before(self, query: QueryRegistration) -> dict[str, str]:
        """Texts of the queries that were registered before this one, without those that have failed.

        So it does not depend on who is compiled first, nor on a restart, which of two queries may have a topic.
        """
        failed = self.failed
        before = takewhile(lambda one: one is not query, self._registrations.values())
        return {one.name: one.text for one in before if not one.unpublishable and (one.name, one.stream) not in failed}

    def _report_ready(self, query: QueryRegistration, partition: int, schema_id: str | None) -> None:
        """Reports a query as ready for a schema (None: for none yet), once its topic of PUBLISH is ready.

        A topic that cannot be written makes the query failed. Without a broker's answer nothing is reported yet.
        """
        if self._failures.failed(query.name, query.stream)[0] == query.version:
            return  # the failure was reported
        if query.unpublishable is None:
            topic = query.plan.delivery.topic
            try:
                query.unpublishable = "" if topic is None else self._prepare(query, topic, self._before(query))
            except UnavailableError as error:
                _LOG.warning("query %s: %s", query.name, error)
                return
        if query.unpublishable:
            self._report_failed(query, partition, query.unpublishable)
            return
        where = (self._service, query.stream, partition)
        self._statuses.report(QueryStatus(query.name, query.version, *where, READY, schema_id=schema_id))
