"""Standing queries as the commands see them: the topic `queries`, and what the services say on `query-status`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.cli.client import Client, Table
from saffron.control.standing import StandingQueries, summary
from saffron.language.shedding import AUTO
from saffron.runtime.topics import DEFAULT_STREAM

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Standing:
    """One query: its newest message, and the statuses of its version."""

    row: Row
    statuses: tuple[Row, ...]

    @property
    def state(self) -> str:
        """active, paused, rejected, failed, waiting, starting or pending."""
        return summary(str(self.row["op"]), list(self.statuses))[0]

    @property
    def reason(self) -> str | None:
        """Why it is rejected, has failed or waits."""
        return summary(str(self.row["op"]), list(self.statuses))[1]

    @property
    def shed(self) -> str:
        """The name of its shedder."""
        return str(self.row.get("shed", AUTO))

    def view(self) -> dict[str, Any]:
        """As `--json` shows it."""
        parts = ("service", "stream", "partition", "state", "reason", "position")
        order = sorted(self.statuses, key=lambda one: (one["service"], one["stream"], one["partition"] or 0))
        services = [{part: one[part] for part in parts} for one in order]
        return {**self.row, "shed": self.shed, "state": self.state, "reason": self.reason, "services": services}


def read_standing(client: Client) -> dict[str, Standing]:
    """All standing queries by name."""
    statuses = client.table(client.topics.query_status)
    return {name: _standing(row, statuses) for name, row in client.table(client.topics.queries).items()}


def read_versions(client: Client) -> StandingQueries:
    """All versions that still stand in the topics, with the positions from which they were in force."""
    found = StandingQueries()
    for topic, apply in ((client.topics.queries, found.apply_query), (client.topics.query_status, found.apply_status)):
        for record in client.records(topic):
            with suppress(orjson.JSONDecodeError, KeyError, TypeError, ValueError):  # a stranger's message
                value = None if record.value is None else orjson.loads(record.value)
                apply((record.key or b"").decode("utf-8", "replace"), value, record.timestamp)
    return found


def next_version(client: Client, name: str) -> int:
    """A version above every one that is known under this name, removed ones included."""
    row = client.table(client.topics.queries).get(name)
    known = [int(one["version"]) for one in client.table(client.topics.query_status).values() if one["name"] == name]
    return max([*known, int(row["version"]) if row else 0]) + 1


def wait_for(
    client: Client, rows: Sequence[Row], settled: Callable[[Standing], bool], seconds: float
) -> list[Standing]:
    """Follow the statuses until all of `rows` are settled or the time is up; the queries as they are then."""
    found = [Standing(row, ()) for row in rows]

    def until(statuses: Table) -> bool:
        found[:] = [_standing(row, statuses) for row in rows]
        return all(settled(one) for one in found)

    client.wait(client.topics.query_status, until, seconds)
    return found


def removed(one: Standing) -> bool:
    """Whether every partition has dropped it."""
    decided = [status["state"] for status in one.statuses if status["service"] == "windowing"]
    return all(state in ("removed", "rejected") for state in decided)


def stream_row(client: Client, stream: str) -> Row | None:
    """A stream as `streams` has it; the default stream is there even without an entry."""
    row = client.table(client.topics.streams).get(stream)
    if row is None and stream == DEFAULT_STREAM:
        settings = client.settings
        idle = settings.idle_ms or None
        bounds = {"disorder": settings.disorder_ms, "idle": idle}
        return {"name": stream, "topic": client.topics.events, "key": None, "schema": None, **bounds}
    return None if row is None else dict(row)


def _standing(row: Row, statuses: Table) -> Standing:
    found = [one for one in statuses.values() if one["name"] == row["name"] and one["version"] == row["version"]]
    return Standing(row, tuple(found))
