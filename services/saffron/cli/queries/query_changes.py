"""Changes of standing queries by commands: written, and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from saffron.cli import console
from saffron.cli.client import Client
from saffron.cli.queries.standing import ListedQuery, next_version, wait_for
from saffron.errors import SaffronError
from saffron.records.query import QueryRecord, renewed, taken_last, version_of
from saffron.records.table import query_table

_TRIES = 8


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
    from saffron.control.left_readers import left_readers  # here, for only this needs the language

    for warning in left_readers(name, {other: one.record.text for other, one in standing.items()}, None):
        console.say(warning)


def put(client: Client, record: QueryRecord, before: QueryRecord | None) -> QueryRecord:
    """Writes a record as the query's next version, and returns it. `before`: the record that it was made of.

    QueryRefused: another process has changed the query since. Its record stays: one that came just before ours is
    written again, as a newer version, unless somebody has written after us, who does the same.
    """
    topic, table = client.topics.queries, query_table(client.topics.queries)
    for one in client.records(topic):
        table.apply(one.key, one.value, one.offset)
    written = replace(record, version=next_version(client, record.name))
    if table.rows.get(record.name) == before:
        client.put(topic, record.name, written.encode())
        if not _overtaken(client, record.name, written.encode(), table.next_offset):
            return written
    raise QueryRefused(
        f"query {record.name!r} was changed by another process at the same moment, and that change stays: look at it "
        f"(`saffron query show {record.name}`), and repeat yours if it is still wanted"
    )


def _overtaken(client: Client, name: str, value: bytes | None, since: int) -> bool:
    """True if another process's record of the query lies between offset `since` and ours, `value`.

    It is then written again, unless a later one than ours is there.
    """
    found = False
    for _ in range(_TRIES):
        own = [one for one in client.records(client.topics.queries) if one.key == name.encode() and one.offset >= since]
        place = max((place for place, one in enumerate(own) if one.value == value), default=len(own))
        others = [
            one.value for one in own[:place] if one.value != value
        ]  # ours may lie there twice: clients send again
        taken = taken_last(name, others, version_of(name, value) - 1)
        if taken is None or own[-1].value != value:
            return found or taken is not None
        found, since = True, own[-1].offset + 1
        value = renewed(name, others[taken], next_version(client, name))
        client.put(client.topics.queries, name, value)
    return found


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
