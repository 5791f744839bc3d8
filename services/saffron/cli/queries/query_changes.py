"""Changes of standing queries by commands: written, and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from saffron.cli import console
from saffron.cli.client import Client
from saffron.cli.queries.standing import ListedQuery, wait_for
from saffron.cli.record_changes import RecordChanges
from saffron.control.queries.query_tables import QueryTables
from saffron.errors import SaffronError
from saffron.records.query import QueryRecord


class QueryRefused(SaffronError):
    """The error for a valid query that cannot be added, or that a service has rejected or failed at."""


def existing(standing: Mapping[str, ListedQuery], name: str) -> ListedQuery:
    """The standing query of a name. QueryRefused: there is none."""
    if name not in standing:
        from saffron.runtime.streams.unknown_names import no_query  # here, for only this needs the language

        raise QueryRefused(no_query(name, standing))
    return standing[name]


def tell_readers(name: str, standing: Mapping[str, ListedQuery]) -> None:
    """Says what becomes of the queries that read the results of one that is removed."""
    from saffron.control.queries.left_readers import left_readers  # here, for only this needs the language

    for warning in left_readers(name, {other: one.record.text for other, one in standing.items()}, None):
        console.say(warning)


class QueryChanges:
    """The changes of queries by one command."""

    def __init__(self, client: Client) -> None:
        self._topic = client.topics.queries
        self._known = QueryTables(client.topics)
        self._changes = RecordChanges(client, self._known)

    def put(self, record: QueryRecord, before: QueryRecord | None) -> QueryRecord:
        """Writes a record as the query's next version, and returns it. `before`: the record that it was made of.

        QueryRefused: another process has changed the query since. That change stays.
        """

        def made() -> QueryRecord:
            if self._known.record(record.name) == before:
                return replace(record, version=self._known.next_version(self._topic, record.name))
            raise QueryRefused(
                f"query {record.name!r} was changed by another process at the same moment, and that change stays: look "
                f"at it (`saffron query show {record.name}`), and repeat yours if it is still wanted"
            )

        return self._changes.change(self._topic, made, lambda one: one)


def wait_until(client: Client, rows: Sequence[QueryRecord], wanted: str, timeout: float, json: bool) -> None:
    """Follows the reports on these records until all are in the wanted state, and prints the outcome."""
    names = ", ".join(row.name for row in rows)
    console.step(f"waiting until every partition has taken up {names} (kernels are compiled the first time)")
    found = wait_for(client, rows, lambda one: one.state in (wanted, "rejected", "failed"), timeout)
    finish(found, wanted, [one for one in found if one.state != wanted], timeout, json)


def finish(
    found: Sequence[ListedQuery], wanted: str, failed: Sequence[ListedQuery], timeout: float, json: bool
) -> None:
    """Prints the outcome of each. QueryRefused: one is not in the wanted state."""
    console.done()
    if json:
        states = [(one.record, one.state if one in failed else wanted, _reason(one, wanted, failed)) for one in found]
        parts = ("name", "version", "state", "reason")
        console.print_json([dict(zip(parts, (r.name, r.version, *said), strict=True)) for r, *said in states])
    for one in found:
        name, reason = one.record.name, f": {why}" if (why := _reason(one, wanted, failed)) else ""
        if one not in failed:
            console.say(f"{name}: {wanted}{reason}")
        elif one.state == "rejected":
            console.say(f"{name} was rejected{reason}")
        elif one.state == "failed":
            console.say(f"{name} has failed{reason}")
        else:
            console.say(f"{name} is not {wanted} after {timeout:g} s but {one.state}{reason}")
    if failed:
        raise QueryRefused(f"{len(failed)} of {len(found)} not {wanted}; `saffron doctor` says what is wrong")


def _reason(one: ListedQuery, wanted: str, failed: Sequence[ListedQuery]) -> str | None:
    """The reason of its state; None of a removed query, whatever had been wrong with it."""
    return one.reason if one in failed or one.state == wanted else None
