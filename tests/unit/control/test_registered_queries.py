from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from saffron.control.queries.registered_queries import RegisteredQueries, summary
from saffron.records.query import QueryRecord
from saffron.records.status import QueryStatus
from saffron.records.table import Applied

RECORD = QueryRecord("q", 1, "add", "PATTERN ...")
QUERY = {"name": "q", "version": 1, "op": "add", "text": "PATTERN ...", "from": "now", "shed": "auto"}


def status(state: str, service: str = "windowing", partition: int | None = 0, **more: Any) -> QueryStatus:
    return replace(QueryStatus("q", 1, service, "events", partition, state), **more)


def apply_query(queries: RegisteredQueries, at: int, **more: Any) -> None:
    queries.apply_query(Applied("q", 0, replace(RECORD, **more)), at)


def apply_status(queries: RegisteredQueries, row: QueryStatus) -> None:
    queries.apply_status(Applied(row.key, 0, row))


@pytest.mark.parametrize(
    ("op", "statuses", "expected"),
    [
        ("add", [], "pending"),
        ("add", [status("ready", "matcher", None)], "starting"),
        ("add", [status("ready")], "starting"),
        ("add", [status("active")], "active"),
        ("add", [status("active"), status("ready", "greta", None)], "active"),
        ("add", [status("active"), status("paused", partition=1)], "starting"),
        ("add", [status("active"), status("rejected", "matcher", None, reason="no")], "rejected"),
        ("add", [status("waiting", reason="for greta")], "waiting"),
        ("add", [status("active"), status("ended", partition=None, reason="no stream")], "ended"),
        ("pause", [status("active")], "starting"),
        ("pause", [status("paused")], "paused"),
        ("resume", [status("active")], "active"),
    ],
)
def test_summary(op: str, statuses: list[QueryStatus], expected: str) -> None:
    state, reason = summary(op, statuses)
    assert state == expected
    assert (reason is not None) == (expected in ("rejected", "ended", "waiting", "pending"))


@pytest.mark.parametrize("op", ["add", "pause", "resume"])
def test_a_version_is_in_force_when_every_partition_of_the_stream_has_taken_it_up(op: str) -> None:
    wanted = "paused" if op == "pause" else "active"
    rows = [status(wanted, partition=partition) for partition in (2, 0, 3, 1)]
    counts = {"events": 4, "trades": 9}
    told = [summary(op, rows[:count], counts) for count in range(1, 5)]
    assert told == [
        ("starting", "not yet on partitions 0, 1, 3"),
        ("starting", "not yet on partitions 1, 3"),
        ("starting", "not yet on partition 1"),
        (wanted, None),
    ]
    assert summary(op, [*rows, status(wanted, partition=4)], counts) == (wanted, None)  # the topic was made anew
    assert summary(op, [], counts)[0] == "pending"


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([None, None], None),
        (["'x' is not seen yet"] * 3, "'x' is not seen yet"),
        (["'x' is not seen yet", None, "'x' is not seen yet"], "partitions 0, 2: 'x' is not seen yet"),
        (
            ["'x' is not seen yet", "'x' is known from 5 on", None],
            "partition 0: 'x' is not seen yet; partition 1: 'x' is known from 5 on",
        ),
        (
            [None, *(f"'x' is known from {at} on" for at in range(1, 6))],
            "; ".join(f"partition {at}: 'x' is known from {at} on" for at in range(1, 4)) + "; and 2 other reports",
        ),
    ],
)
def test_the_reason_of_an_active_query_says_of_which_partitions_it_is_true(
    reasons: list[str | None], expected: str | None
) -> None:
    """What one partition has not seen yet, another one may have. The order is by chance: the last word came last."""
    rows = [status("active", partition=partition, reason=reason) for partition, reason in enumerate(reasons)]
    assert summary("add", rows) == summary("add", rows[::-1]) == ("active", expected)


def test_statuses_of_an_older_version_do_not_count() -> None:
    queries = RegisteredQueries()
    apply_query(queries, 10)
    apply_status(queries, status("active", position=5))
    assert queries.view("q")["state"] == "active"
    apply_query(queries, 20, version=2, text="PATTERN SEQ(A a)")
    assert queries.view("q") == {
        **QUERY,
        "version": 2,
        "text": "PATTERN SEQ(A a)",
        "changed_at": 20,
        "state": "pending",
        "reason": "no service has answered yet",
        "services": [],
    }
    apply_status(queries, status("active", version=2, position=9))
    assert queries.view("q")["services"] == [
        {"service": "windowing", "stream": "events", "partition": 0, "state": "active", "reason": None, "position": 9}
    ]


def test_the_partitions_of_older_versions_do_not_count() -> None:
    queries = RegisteredQueries()
    queries.partitions = {"events": 2}
    apply_query(queries, 20, version=2)
    apply_status(queries, status("active", version=2))
    apply_status(queries, status("active", partition=1))
    assert queries.view("q")["state"] == queries.versions("q")[0]["state"] == "starting"
    apply_status(queries, status("active", partition=1, version=2))
    assert queries.view("q")["state"] == "active"


def test_versions_rise_past_removed_ones() -> None:
    queries = RegisteredQueries()
    assert queries.next_version("q") == 1
    apply_query(queries, 10, version=4)
    queries.apply_query(Applied("q", 1, None), 20)
    assert queries.names() == []
    assert queries.get("q") is None
    assert queries.next_version("q") == 5
    apply_status(queries, status("removed", version=7))  # from before this process began
    assert queries.next_version("q") == 8
    with pytest.raises(KeyError):
        queries.view("q")


def test_a_tombstone_removes_one_status() -> None:
    queries = RegisteredQueries()
    apply_query(queries, 10)
    apply_status(queries, status("active"))
    apply_status(queries, status("ready", "matcher", None))
    queries.apply_status(Applied("q/matcher/events", 0, None))
    queries.apply_status(Applied("unknown/matcher/events", 0, None))
    assert [one["service"] for one in queries.view("q")["services"]] == ["windowing"]


def test_versions_are_kept_with_the_positions_from_which_they_were_in_force() -> None:
    queries = RegisteredQueries()
    apply_query(queries, 10)
    apply_status(queries, status("active", position=5))
    apply_status(queries, status("active", partition=1, position=6))
    apply_status(queries, status("active"))  # said again after a restart, without a position
    apply_query(queries, 20, version=2, op="pause")
    apply_status(queries, status("paused", version=2, position=9))
    newest, first = queries.versions("q")
    assert (newest["version"], newest["op"], newest["state"], newest["changed_at"]) == (2, "pause", "paused", 20)
    assert newest["positions"] == [{"stream": "events", "partition": 0, "position": 9}]
    assert (first["state"], [one["position"] for one in first["positions"]]) == ("replaced", [5, 6])
    for version in range(3, 90):
        apply_query(queries, version, version=version)
    assert [one["version"] for one in queries.versions("q")] == list(range(89, 39, -1))
