"""Definitions with tables over HTTP: events have what is looked up, or a plain word says why they cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.control.checks import Refused
from saffron.control.streams import table_look
from saffron.control.streams.table_look import tables_now
from saffron.mapping.definition_reader import read_definition
from saffron.runtime.log import TopicSpec
from tests.unit.control.streams.shop import DEFINITION, NOON, PAID, with_shop
from tests.unit.control.world import Ask, World

TABLES = """
tables:
- {name: buyers, topic: crm, key: id}
- {name: blocked, file: blocked.csv, key: order}
add:
  tier: {table: buyers, key: order_id, take: tier}
  is_blocked: {table: blocked, key: order_id}
"""
LOOKED_UP = {"definition": DEFINITION + TABLES}


def with_tables(folder: Path) -> World:
    """A shop, the tiers of four of its orders, and a row that is none."""
    world = World()
    world.settings = replace(world.settings, tables=folder)
    with_shop(world)
    world.log.create_topics([TopicSpec("crm", 2, {"cleanup.policy": "compact"})])
    producer = world.log.producer()
    for number in range(4):
        row = orjson.dumps({"id": f"O-{number}", "tier": ("gold", "silver")[number % 2]})
        producer.send("crm", number % 2, row, key=f"O-{number}".encode(), timestamp=NOON)
    producer.send("crm", 0, b"no row", key=b"x", timestamp=NOON)
    producer.flush(1)
    (folder / "blocked.csv").write_text("order\nO-2\n", "utf-8")
    return world


def test_events_are_shown_and_tried_with_what_is_looked_up(tmp_path: Path) -> None:
    world = with_tables(tmp_path)

    async def talk(ask: Ask) -> None:
        status, found = await ask("POST", "/api/definitions/check", LOOKED_UP)
        assert status == 200
        orders = found["sources"][0]
        events = {one["order_id"]: one for message in orders["newest"] for one in events_of(message)}
        assert (events["O-1"]["tier"], events["O-1"]["is_blocked"]) == ("silver", False)
        assert (events["O-2"]["tier"], events["O-2"]["is_blocked"]) == ("gold", True)
        assert "tier" not in events["O-4"]
        assert orders["attributes"] == {"order_id": 5, "total": 5, "created_at": 5, "tier": 4, "is_blocked": 5}
        assert (
            "orders: tier: 1 event has a key that no row of the table has; the attribute is null there"
            in orders["told"]
        )
        (told,) = found["told"]
        assert told.startswith("table buyers: rows that were left out: 1; the first is crm/0/2")
        query = PAID.replace("WHERE [order_id]", "WHERE [order_id] AND o.tier = 'gold' AND NOT o.is_blocked")
        status, tried = await ask("POST", "/api/definitions/try", {**LOOKED_UP, "query": query})
        assert (status, tried["count"], tried["results"][0]["return"]) == (200, 1, {"total": 10})
        assert told in tried["reports"]
        assert any(one.startswith("buyers: events see the rows at the end of the topic") for one in tried["reports"])
        by_itself = PAID.replace("WHERE [order_id]", "WHERE [order_id] AND o.order_id IN blocked")
        status, tried = await ask("POST", "/api/definitions/try", {**LOOKED_UP, "query": by_itself})
        assert (status, [one["return"] for one in tried["results"]]) == (200, [{"total": 12}])
        asked = {**LOOKED_UP, "query": query, "ask": "order_id=O-2"}
        status, trace = await ask("POST", "/api/definitions/why", asked)
        assert (status, trace["matches"]) == (200, 0)
        assert "is_blocked" in trace["text"]

    world.run(talk)


def events_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [one["event"] for one in message["read"] if "event" in one]


@pytest.mark.parametrize(
    ("spoilt", "status", "told"),
    [
        (("topic: crm", "topic: nothing"), 404, "topic 'nothing' does not exist"),
        (("topic: crm", "topic: p.queries"), 409, "topic 'p.queries' is Saffron's own"),
        (("blocked.csv", "gone.csv"), 409, "gone.csv cannot be read (No such file or directory)"),
        (("blocked.csv", "/etc/passwd"), 400, "/etc/passwd is no path within the folder of tables"),
        (("blocked.csv", "../x.csv"), 400, "../x.csv is no path within the folder of tables"),
    ],
)
def test_a_table_that_cannot_be_read_is_told(spoilt: tuple[str, str], status: int, told: str, tmp_path: Path) -> None:
    world = with_tables(tmp_path)

    async def talk(ask: Ask) -> None:
        wrong = {"definition": LOOKED_UP["definition"].replace(*spoilt)}
        for path, more in (("check", {}), ("try", {"query": PAID})):
            have, found = await ask("POST", f"/api/definitions/{path}", {**wrong, **more})
            assert (have, told in found["error"]["message"]) == (status, True), found

    world.run(talk)


@pytest.mark.parametrize(
    ("most", "seconds", "told"),
    [
        (10, (0.0,), "table blocked has more than 0 MiB"),
        (100, (0.0,), "topic crm has more than 0 MiB"),
        (2**20, (0.0, 30.0), "topic crm was not read to its end within 20 s"),
    ],
)
def test_a_table_that_is_too_large_for_a_look_is_told(
    most: int, seconds: tuple[float, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = with_tables(tmp_path)
    monkeypatch.setattr(table_look, "MOST_BYTES", most)
    (tmp_path / "blocked.csv").write_text("order\nO-2\nO-3\n", "utf-8")
    left = list(seconds)
    definition = read_definition(LOOKED_UP["definition"])
    with pytest.raises(Refused, match=f"{told}, which is too much for a look here: `saffron stream check`"):
        tables_now(definition, world.log, world.settings, lambda: left.pop(0) if len(left) > 1 else left[0])
