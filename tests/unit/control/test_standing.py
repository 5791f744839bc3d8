from __future__ import annotations

from typing import Any

import pytest

from saffron.control.standing import StandingQueries, summary
from saffron.runtime.topics import status_key

QUERY = {"name": "q", "version": 1, "op": "add", "text": "PATTERN ...", "from": "now", "shed": "auto"}


def status(state: str, service: str = "windowing", partition: int | None = 0, **more: Any) -> dict[str, Any]:
    parts = {"name": "q", "version": 1, "service": service, "stream": "events", "partition": partition}
    return {**parts, "state": state, "reason": None, "position": None, **more}


def apply_status(queries: StandingQueries, row: dict[str, Any]) -> None:
    key = status_key(row["name"], row["service"], row["stream"], row["partition"])
    queries.apply_status(key.decode(), row, 0)


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
        ("pause", [status("active")], "starting"),
        ("pause", [status("paused")], "paused"),
        ("resume", [status("active")], "active"),
    ],
)
def test_summary(op: str, statuses: list[dict[str, Any]], expected: str) -> None:
    state, reason = summary(op, statuses)
    assert state == expected
    assert (reason is not None) == (expected in ("rejected", "waiting", "pending"))


def test_statuses_of_an_older_version_do_not_count() -> None:
    queries = StandingQueries()
    queries.apply_query("q", QUERY, 10)
    apply_status(queries, status("active", position=5))
    assert queries.view("q")["state"] == "active"
    queries.apply_query("q", {**QUERY, "version": 2, "text": "PATTERN SEQ(A a)"}, 20)
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


def test_versions_rise_past_removed_ones() -> None:
    queries = StandingQueries()
    assert queries.next_version("q") == 1
    queries.apply_query("q", {**QUERY, "version": 4}, 10)
    queries.apply_query("q", None, 20)
    assert queries.names() == []
    assert queries.get("q") is None
    assert queries.next_version("q") == 5
    apply_status(queries, status("removed", version=7))  # from before this process began
    assert queries.next_version("q") == 8
    with pytest.raises(KeyError):
        queries.view("q")


def test_a_tombstone_removes_one_status() -> None:
    queries = StandingQueries()
    queries.apply_query("q", QUERY, 10)
    apply_status(queries, status("active"))
    apply_status(queries, status("ready", "matcher", None))
    queries.apply_status("q/matcher/events", None, 0)
    queries.apply_status("unknown/matcher/events", None, 0)
    assert [one["service"] for one in queries.view("q")["services"]] == ["windowing"]


def test_versions_are_kept_with_the_positions_from_which_they_were_in_force() -> None:
    queries = StandingQueries()
    queries.apply_query("q", QUERY, 10)
    apply_status(queries, status("active", position=5))
    apply_status(queries, status("active", partition=1, position=6))
    apply_status(queries, status("active"))  # said again after a restart, without a position
    queries.apply_query("q", {**QUERY, "version": 2, "op": "pause"}, 20)
    apply_status(queries, status("paused", version=2, position=9))
    newest, first = queries.versions("q")
    assert (newest["version"], newest["op"], newest["state"], newest["changed_at"]) == (2, "pause", "paused", 20)
    assert newest["positions"] == [{"stream": "events", "partition": 0, "position": 9}]
    assert (first["state"], [one["position"] for one in first["positions"]]) == ("replaced", [5, 6])
    for version in range(3, 90):
        queries.apply_query("q", {**QUERY, "version": version}, version)
    assert [one["version"] for one in queries.versions("q")] == list(range(89, 39, -1))
