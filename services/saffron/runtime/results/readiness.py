"""Compiles every standing query ahead of time, and tells `windowing` on which partitions it may take effect.

A query is compiled for a schema: the one in force on the partition, or the version above it that `windowing` announces
there before it lets events through that need it. Before either is known the query is "ready" for none: it is taken up
unbound, and bound at the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from saffron.engine.events.schema_record import fingerprint
from saffron.engine.operators.composition import in_order
from saffron.engine.operators.containment import Failure, is_of_query
from saffron.engine.operators.standing import compile_text
from saffron.language.plan.plan import MatchPlan, Plan, TrendPlan
from saffron.records.query import QueryRecord
from saffron.records.status import FAILED, READY, QueryStatus
from saffron.runtime.kernels.warm import Request, Warmer
from saffron.runtime.log import Log
from saffron.runtime.log.topics import Topics
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.streams.control_topics import Report, follow_queries, follow_statuses
from saffron.runtime.streams.schema_versions import is_above
from saffron.runtime.streams.statuses import Announced, FailedMarks, Statuses

Chains = Mapping[tuple[str, int], ResultChain]
"""(stream, partition) -> chain, of all that are assigned."""


@dataclass(frozen=True)
class Standing:
    """A query that is ours: its newest version. `plan`: of its text alone. `asked`, `compiled`: ids of schemas that
    it is (to be) compiled for; `failed`: what it failed with, by schema, if it cannot be."""

    name: str
    version: int
    text: str
    shed: str
    plan: Plan
    asked: set[str] = field(default_factory=set)
    compiled: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        return self.plan.stream

    def is_of(self, request: Request) -> bool:
        """Whether what was compiled is what it needs, whatever its version."""
        return (self.text, self.shed, self.stream) == (request.text, request.shed, request.stream)


class Readiness:
    """Follows `queries` and `query-status`. `trends`: ours are the aggregate queries, else the match queries."""

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
        report: Report,
    ) -> None:
        """`has_schema`: whether a stream was given one (a query over it then waits for it, to be compiled)."""
        self._queries = follow_queries(log, topics, report)
        self._words = follow_statuses(log, topics, report)
        self._announced = Announced()
        self._failures = FailedMarks()
        self._service = service
        self._operator = operator
        self._warming = warming
        self._statuses = statuses
        self._trends = trends
        self._has_schema = has_schema
        self._standing: dict[str, Standing] = {}
        self._chains: frozenset[tuple[str, int]] = frozenset()

    @property
    def caught_up(self) -> bool:
        return self._queries.caught_up and self._words.caught_up

    def step(self, chains: Chains) -> None:
        for query in self._queries.step():
            before = self._standing.pop(query.key, None)
            if query.row is not None and (found := self._ours(query.row, before)) is not None:
                self._standing[query.key] = found
        for word in self._words.step():
            self._announced.read(word)
            self._failures.read(word)
            if word.row is None:
                self._statuses.withdrawn(word.key)
        for done in self._warming.step():
            asked = self._standing.get(done.request.name)
            if asked is not None and asked.is_of(done.request):
                compiled_for = fingerprint(done.request.schema)
                asked.compiled.add(compiled_for)
                if done.failure:
                    asked.failed[compiled_for] = done.failure
        for stream, partition in self._chains - chains.keys():
            self._statuses.forget(stream, partition)
        self._chains = frozenset(chains)
        for (stream, partition), chain in chains.items():
            schema_id = None if chain.schema is None else fingerprint(chain.schema)
            for standing in self._standing.values():
                if standing.stream == stream:
                    self._see_to(standing, partition, chain, schema_id)

    @property
    def failed(self) -> frozenset[tuple[str, str]]:
        """(name, stream) of the queries whose newest version has failed."""
        own = ((one.name, one.stream, one.version) for one in self._standing.values())
        return frozenset((n, stream) for n, stream, version in own if self._failures.failed(n, stream)[0] == version)

    def fail(self, stream: str, partition: int, failure: Failure) -> None:
        """A query has failed on a partition: it is said, and kept."""
        where = (self._service, stream, partition)
        status = QueryStatus(failure.name, failure.version, *where, FAILED, failure.reason, failure.position)
        self._failures.note(status)
        self._statuses.say(status)

    def close(self) -> None:
        self._warming.close()
        self._queries.close()
        self._words.close()

    # ------------------------------------------------------------ inside

    def _ours(self, record: QueryRecord, before: Standing | None) -> Standing | None:
        """The query in a record, if this service is to run it; a wrong one is `windowing`'s to reject."""
        try:
            plan = compile_text(record.text, None, record.name)
        except Exception as error:
            if not is_of_query(error):
                raise
            return None
        if isinstance(plan, TrendPlan) != self._trends:
            return None
        found = Standing(record.name, record.version, record.text, record.shed, plan)
        if before is not None and (before.text, before.shed) == (record.text, record.shed) and not before.failed:
            return replace(found, asked=before.asked, compiled=before.compiled)
        return found

    def _see_to(self, query: Standing, partition: int, chain: ResultChain, schema_id: str | None) -> None:
        """Have it compiled for the partition's schema (`schema_id`: in force), then say so."""
        schema = chain.schema
        announced = self._announced.schema(query.name, query.version, query.stream, partition)
        if announced is not None and is_above(announced, schema):
            schema, schema_id = announced, fingerprint(announced)
        if schema is None or schema_id is None:
            if not self._has_schema(query.stream) and chain.operator is not None and not chain.replaying:
                self._say(query, partition, None)
        elif schema_id in query.failed:
            self._say_failed(query, partition, query.failed[schema_id])
        elif schema_id in query.compiled:
            self._say(query, partition, schema_id)
        elif schema_id not in query.asked:
            query.asked.add(schema_id)
            makers = self._makers(query)
            request = Request(
                self._operator, query.name, query.version, query.text, query.stream, schema, query.shed, makers
            )
            self._warming.ask(request)

    def _makers(self, query: Standing) -> tuple[tuple[str, str], ...]:
        """The queries whose results it may read (INTO), each after those whose results that one reads."""
        plans = {
            name: one.plan
            for name, one in self._standing.items()
            if isinstance(one.plan, MatchPlan) and one.plan.into and one.stream == query.stream and name != query.name
        }
        return tuple((name, self._standing[name].text) for name in in_order(plans))

    def _say_failed(self, query: Standing, partition: int, reason: str) -> None:
        if self._failures.failed(query.name, query.stream)[0] != query.version:
            where = (self._service, query.stream, partition)
            self._statuses.say(QueryStatus(query.name, query.version, *where, FAILED, reason))

    def _say(self, query: Standing, partition: int, schema_id: str | None) -> None:
        if self._failures.failed(query.name, query.stream)[0] == query.version:
            return  # what is said of it stands
        where = (self._service, query.stream, partition)
        self._statuses.say(QueryStatus(query.name, query.version, *where, READY, schema_id=schema_id))
