"""Changes of standing queries by commands: checked, written, and waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from saffron.cli import console
from saffron.cli.client import Client
from saffron.cli.queries.standing import Standing, next_version, wait_for
from saffron.cli.queries.texts import QueryText, bind_text
from saffron.control.checks import Checked, Refused, check_partitions
from saffron.control.checks import check as checked
from saffron.engine.operators.composition import makers_first
from saffron.errors import SaffronError
from saffron.language.cost.shedding import AUTO
from saffron.records.query import QueryRecord


class QueryRefused(SaffronError):
    """The error for a valid query that cannot be added, or that a service has rejected or failed at."""


def in_makers_order(texts: Sequence[QueryText]) -> list[QueryText]:
    """The queries under their final names, each after those whose results it reads."""
    named = {bind_text(one.text, None, one.name).plan.name: one.text for one in texts}
    if len(named) < len(texts):
        raise QueryRefused(f"two of the queries have the same name; the names are {', '.join(named)}")
    order = makers_first(lambda text, schema, name: bind_text(text, schema, name).plan, named)
    return [QueryText(name, named[name]) for name in order]


def require_addable(
    client: Client, texts: Sequence[QueryText], shedder: str = AUTO, beside: Mapping[str, str] = MappingProxyType({})
) -> list[Checked]:
    """Queries as they would be added; QueryError or QueryRefused: one cannot be. `beside`: texts of others by name."""
    streams = client.known_streams()
    found = []
    for one in texts:
        try:
            query = checked(one.text, one.name, streams, beside)
            check_partitions(query.plan, streams.all()[query.plan.stream], client.log.partitions)
            query.require_shedder(shedder)
        except Refused as refused:
            raise QueryRefused(f"{one.name}: {refused}") from refused
        found.append(query)
    return found


def existing(standing: Mapping[str, Standing], name: str) -> Standing:
    """The standing query of a name. QueryRefused: there is none."""
    if name not in standing:
        there = f"there are {', '.join(sorted(standing))}" if standing else "there is none"
        raise QueryRefused(f"there is no query {name!r}; {there}")
    return standing[name]


def put(client: Client, record: QueryRecord) -> QueryRecord:
    """Writes a record as the query's next version, and returns it."""
    written = replace(record, version=next_version(client, record.name))
    client.put(client.topics.queries, record.name, written.encode())
    return written


def wait_until(client: Client, rows: Sequence[QueryRecord], wanted: str, timeout: float, json: bool) -> None:
    """Follows the reports on these records until all are in the wanted state, and prints the outcome."""
    names = ", ".join(row.name for row in rows)
    console.step(f"waiting until every partition has taken up {names} (kernels are compiled the first time)")
    found = wait_for(client, rows, lambda one: one.state in (wanted, "rejected", "failed"), timeout)
    finish(found, wanted, [one for one in found if one.state != wanted], timeout, json)


def finish(found: Sequence[Standing], wanted: str, failed: Sequence[Standing], timeout: float, json: bool) -> None:
    """Prints the outcome of each. QueryRefused: one is not in the wanted state."""
    console.done()
    if json:
        states = [(one.record, one.state if one in failed else wanted, one.reason) for one in found]
        parts = ("name", "version", "state", "reason")
        console.print_json([dict(zip(parts, (r.name, r.version, *said), strict=True)) for r, *said in states])
    for one in found:
        name, reason = one.record.name, f": {one.reason}" if one.reason else ""
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
