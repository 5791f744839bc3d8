"""Compiles every standing query ahead of time, and tells `windowing` on which partitions it may take effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan import TrendPlan
from saffron.runtime.follower import Follower
from saffron.runtime.log import Log
from saffron.runtime.result_chain import ResultChain
from saffron.runtime.statuses import Status, Statuses
from saffron.runtime.topics import Topics
from saffron.runtime.warm import Request, Warmer

Chains = Mapping[tuple[str, int], ResultChain]
"""(stream, partition) -> chain, of all that are assigned."""


@dataclass(frozen=True)
class Standing:
    """A query that is ours: its newest version."""

    name: str
    version: int
    text: str
    stream: str


class Readiness:
    """Follows `queries`. `trends`: ours are the aggregate queries, else the match queries."""

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
    ) -> None:
        """`has_schema`: whether a stream was given one (a query over it then waits for it, to be compiled)."""
        self._follower = Follower(log, topics.queries)
        self._service = service
        self._operator = operator
        self._warming = warming
        self._statuses = statuses
        self._trends = trends
        self._has_schema = has_schema
        self._standing: dict[str, Standing] = {}
        self._asked: dict[str, Standing] = {}
        self._compiled: dict[str, Standing] = {}
        self._chains: frozenset[tuple[str, int]] = frozenset()

    @property
    def caught_up(self) -> bool:
        return self._follower.caught_up

    def step(self, chains: Chains) -> None:
        for record in self._follower.step():
            name = (record.key or b"").decode(errors="replace")
            self._standing.pop(name, None)
            if record.value is not None and (found := self._ours(name, record.value)) is not None:
                self._standing[name] = found
        for request in self._warming.step():
            asked = self._asked.get(request.name)
            if asked is not None and asked.version == request.version:
                self._compiled[request.name] = asked
        for stream, partition in self._chains - chains.keys():
            self._statuses.forget(stream, partition)
        self._chains = frozenset(chains)
        for query in self._standing.values():
            self._see_to(query, chains)

    def close(self) -> None:
        self._warming.close()
        self._follower.close()

    # ------------------------------------------------------------ inside

    def _ours(self, name: str, value: bytes) -> Standing | None:
        """The query in a record, if this service is to run it; a wrong one is `windowing`'s to reject."""
        try:
            body: Any = orjson.loads(value)
            version, text = int(body["version"]), str(body["text"])
            plan = compile_query(text, None, name=name)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, QueryError):
            return None
        return Standing(name, version, text, plan.stream) if isinstance(plan, TrendPlan) == self._trends else None

    def _see_to(self, query: Standing, chains: Chains) -> None:
        """Have it compiled, then say so for every partition of its stream that is assigned here."""
        mine = {partition: chain for (stream, partition), chain in chains.items() if stream == query.stream}
        schema = next((chain.schema for chain in mine.values() if chain.schema is not None), None)
        same_text = self._compiled.get(query.name)
        if same_text is not None and same_text.text == query.text:
            self._compiled[query.name] = query
        elif schema is not None and self._asked.get(query.name) != query:
            self._asked[query.name] = query
            self._warming.ask(Request(self._operator, query.name, query.version, query.text, query.stream, schema))
        schemaless = schema is None and not self._has_schema(query.stream)
        for partition, chain in mine.items():
            # Without a schema nothing can be compiled yet: the query is taken up unbound and compiled with the schema.
            unbound = schemaless and chain.operator is not None and not chain.replaying
            if unbound or self._compiled.get(query.name) == query:
                self._statuses.say(Status(query.name, query.version, self._service, query.stream, partition, "ready"))
