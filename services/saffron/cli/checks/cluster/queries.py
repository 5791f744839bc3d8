"""The check of standing queries: active, refused, or waiting."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.cli.queries.standing import ListedQuery
from saffron.records.status import FAILED


def check_queries(look: Look) -> Iterator[Finding]:
    """Findings on each query, by the reports of the services."""
    for name, one in look.queries.items():
        where = f"query {name}"
        if one.state in ("active", "paused"):
            yield ok("queries", one.state, where)
        elif one.state == "failed":
            fix = f"saffron query replace {name} FILE (its old text, too, once the cause is gone), or remove {name}"
            yield error("queries", f"failed, {_stopped(one)}: {one.reason}", where, fix)
        elif one.state == "rejected":
            fix = f"saffron query replace {name} FILE, or saffron query remove {name}"
            yield error("queries", f"rejected: {one.reason}", where, fix)
        elif one.state == "ended":
            yield error(
                "queries", f"ended: {one.reason}", where, f"saffron query remove {name}, or add its stream again"
            )
        else:
            fix = f"saffron query show {name} says of which service; is it up?"
            yield warning("queries", f"{one.state}: {one.reason or 'not all services have answered'}", where, fix)


def _stopped(one: ListedQuery) -> str:
    """The positions at which windowing has stopped it, in words."""
    said = [status for status in one.statuses if status.service == "windowing" and status.state == FAILED]
    places = sorted((status.partition or 0, status.position) for status in said if status.position is not None)
    shown = ", ".join(f"at {position} of partition {partition}" for partition, position in places)
    return f"stopped {shown}" if shown else "never in force"
