"""Standing queries for commands: the topic `queries`, and the reports of services on `query-status`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.cli.client import Client
from saffron.control.queries.query_tables import QueryTables
from saffron.control.queries.registered_queries import RegisteredQueries, shown, summary
from saffron.records.query import QueryRecord
from saffron.records.status import ENDED, REJECTED, REMOVED, QueryStatus


@dataclass(frozen=True)
class ListedQuery:
    """One query: its newest record, and the statuses of its version. `partitions`: see `summary`."""

    record: QueryRecord
    statuses: tuple[QueryStatus, ...]
    partitions: Mapping[str, int] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """active, paused, rejected, failed, ended, waiting, starting or pending."""
        return summary(self.record.op, self.statuses, self.partitions)[0]

    @property
    def reason(self) -> str | None:
        """The reason why it is rejected, has failed or ended, or waits."""
        return summary(self.record.op, self.statuses, self.partitions)[1]

    def view(self) -> dict[str, Any]:
        """The object of `--json`."""
        return {**self.record.body(), "state": self.state, "reason": self.reason, "services": shown(self.statuses)}


def read_standing(client: Client) -> dict[str, ListedQuery]:
    """All standing queries by name."""
    statuses, partitions = client.statuses(), client.partition_counts()
    return {name: _standing(record, statuses, partitions) for name, record in client.queries().items()}


def read_versions(client: Client) -> RegisteredQueries:
    """All versions that the topics still have, with the positions from which they were in force."""
    found = QueryTables(client.topics)
    found.queries.partitions = client.partition_counts()
    for topic in (client.topics.queries, client.topics.query_status):
        for record in client.records(topic):
            found.apply(topic, record.key, record.value, record.timestamp, record.offset)
    return found.queries


def wait_for(
    client: Client, records: Sequence[QueryRecord], settled: Callable[[ListedQuery], bool], seconds: float
) -> list[ListedQuery]:
    """Follows the statuses until all `records` are settled or the time is up. Returns the queries as they are then.

    A record that another process has written again, as a newer version (`RecordWriter`), takes the place of its own.
    """
    seen: set[tuple[str, int]] = set()
    partitions = client.partition_counts()
    found = [ListedQuery(record, (), partitions) for record in records]

    def newest(record: QueryRecord, statuses: list[QueryStatus]) -> QueryRecord:
        newer = {
            (one.name, one.version) for one in statuses if one.name == record.name and one.version > record.version
        }
        again = client.queries().get(record.name) if newer - seen else None
        seen.update(newer)
        return record if again is None or replace(again, version=record.version) != record else again

    def until(statuses: list[QueryStatus]) -> bool:
        found[:] = [_standing(newest(one.record, statuses), statuses, partitions) for one in found]
        return all(settled(one) for one in found)

    client.wait_for_statuses(until, seconds)
    return found


def removed(one: ListedQuery) -> bool:
    """True if every partition has dropped the query."""
    decided = [status.state for status in one.statuses if status.service == "windowing"]
    return all(state in (REMOVED, REJECTED, ENDED) for state in decided)


def _standing(record: QueryRecord, statuses: Iterable[QueryStatus], partitions: Mapping[str, int]) -> ListedQuery:
    found = [one for one in statuses if (one.name, one.version) == (record.name, record.version)]
    return ListedQuery(record, tuple(found), partitions)
