"""`saffron.open(..., stream=...)`: messages of several topics, fed as they stand there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import saffron
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import InputError, QueryError

SHOP = """stream: shop
disorder: 1s
sources:
- topic: orders
  explode: items
  ts: {field: at, format: epoch_ms}
- topic: payments
  ts: {field: paid_at, format: epoch_s}
  attributes: {order_id: order.id, total: {from: total, as: number}}
"""
TABLES = "tables: [{name: blocked, topic: blocked, key: id}, {name: gold, file: gold.csv, key: id}]\n"
PAID = """FROM shop PATTERN SEQ(orders o, payments p) WHERE [order_id] AND o.sku != 'x' WITHIN 1 minute
    RETURN o.order_id, o.sku, p.total"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP, "utf-8")
    return path


def order(number: str, at: int, *skus: str) -> dict[str, Any]:
    return {"items": [{"order_id": number, "at": at, "sku": sku} for sku in skus]}


def payment(number: str, at: int, total: Any = 5) -> bytes:
    return orjson.dumps({"order": {"id": number}, "paid_at": at // 1000, "total": total})


def test_messages_become_events_at_once(shop: Path) -> None:
    with saffron.open(PAID, stream=shop) as live:
        assert live.feed(order("a", 10_000, "x", "y"), topic="orders") == []
        assert live.feed([payment("b", 11_000), payment("a", 11_000, "7.5")], topic="payments") == []
        found = [one for one in live.feed(order("c", 30_000, "x"), "orders") if isinstance(one, saffron.Match)]
    assert [one.returns for one in found] == [{"order_id": "a", "sku": "y", "total": 7.5}]
    event = found[0].events["o"]
    assert isinstance(event, saffron.Event)
    assert (event["$topic"], event["$number"]) == ("orders", 1)


def test_all_is_as_in_a_replay_but_for_the_ids(shop: Path, tmp_path: Path) -> None:
    messages = {
        "orders": [orjson.dumps(order("ab"[n % 2], 10_000 + 500 * n, "x", "y", "z")) for n in range(40)],
        "payments": [payment("ab"[n % 2], 10_000 + 1_000 * n) for n in range(20)],
    }
    for topic, some in messages.items():
        (tmp_path / f"{topic}.ndjson").write_bytes(b"\n".join(some))
    files = {topic: tmp_path / f"{topic}.ndjson" for topic in messages}
    wanted = [one.returns for one in saffron.replay(PAID, files, stream=shop) if isinstance(one, saffron.Match)]
    with saffron.open(PAID, stream=shop) as live:
        found = live.feed(order("none", 9_000, "x"), "orders")
        for n in range(40):
            found += live.feed(messages["orders"][n], "orders")
            found += live.feed(messages["payments"][n // 2], "payments") if n % 2 == 0 else []
        found += live.flush()
    rows = sorted(map(str, wanted)), sorted(str(one.returns) for one in found if isinstance(one, saffron.Match))
    assert rows[0] == rows[1] != []


def test_tables_are_fed_too(shop: Path, tmp_path: Path) -> None:
    shop.write_text(SHOP + TABLES, "utf-8")
    (tmp_path / "gold.csv").write_text("id\na\nb\n", "utf-8")
    text = """FROM shop PATTERN payments p
        WHERE skip-till-any-match { p.order_id IN gold AND p.order_id NOT IN blocked } WITHIN 1 s RETURN p.order_id"""
    with saffron.open(text, stream=shop) as live:
        assert live.feed({"id": "b"}, topic="blocked") == []
        live.feed([payment(number, 11_000) for number in "abc"], "payments")
        (found,) = live.feed(payment("z", 99_000), "payments")
        assert isinstance(found, saffron.Match)
        assert found.returns == {"order_id": "a"}
        with pytest.raises(InputError, match="a snapshot has no tables, and blocked is one"):
            live.snapshot()


def test_a_snapshot_goes_on_in_the_midst_of_it(shop: Path) -> None:
    steps = [
        (order("a", 10_000, "y"), "orders"),
        (payment("a", 11_000), "payments"),
        (payment("q", 40_000), "payments"),
    ]
    whole = saffron.open(PAID, stream=shop)
    wanted = [one.to_dict() for message, topic in steps for one in whole.feed(message, topic)]
    live, found = saffron.open(PAID, stream=shop), []
    for message, topic in steps:
        found += [one.to_dict() for one in live.feed(message, topic)]
        live = saffron.open(PAID, stream=shop, snapshot=live.snapshot())
    assert found == wanted != []
    kept = live.snapshot()
    shop.write_text(SHOP.replace("topic: orders", "topic: others"), "utf-8")
    with pytest.raises(InputError, match="other topics: orders, payments"):
        saffron.open(PAID, stream=shop, snapshot=kept)


def test_what_is_no_event_is_a_dead_letter_and_misfits_are_told(shop: Path) -> None:
    letters: list[DeadLetter] = []
    with (
        pytest.warns(UserWarning, match="of 'total'|bad or late in all|no event has had"),
        saffron.open(PAID, stream=shop, on_dead_letter=letters.append) as live,
    ):
        live.feed([b"{broken", payment("a", 50_000, "much"), payment("a", 10_000)], "payments")
    assert [(one.place, one.reason) for one in letters] == [("payments/0/0", "not-json"), ("payments/0/2", "late")]


def test_a_dict_that_is_no_json_is_a_dead_letter_and_the_others_count(shop: Path) -> None:
    letters: list[DeadLetter] = []
    with saffron.open(PAID, stream=shop, on_dead_letter=letters.append) as live:
        live.feed([order("a", 10_000, "y"), {"items": object()}, orjson.dumps(order("b", 10_000, "y"))], "orders")
        assert (
            len(
                live.feed(
                    [payment(one, at) for one, at in zip("abc", (11_000, 11_000, 20_000), strict=True)], "payments"
                )
            )
            == 2
        )
    assert [(one.place, one.reason) for one in letters] == [("orders/0/1", "not-json")]
    assert "JSON has no value of type object" in letters[0].detail


def test_a_row_of_a_file_that_is_no_message_keeps_its_reason(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "payments.csv"
    path.write_text("paid_at,total\n10,5\n11,5,6\n", "utf-8")
    letters: list[DeadLetter] = []
    live = saffron.open(PAID, stream=shop, on_dead_letter=letters.append)
    live.feed(path, "payments")
    assert [(one.place, one.reason) for one in letters] == [("payments/0/1", "not-csv")]


def test_what_came_before_an_error_counts(shop: Path) -> None:
    def broken() -> Iterator[Any]:
        yield order("a", 10_000, "y")
        raise OSError("the connection is lost")

    live = saffron.open(PAID, stream=shop)
    with pytest.raises(OSError, match="the connection is lost"):
        live.feed(broken(), "orders")
    with pytest.raises(InputError, match="messages are a int") as raised:
        live.feed([payment("a", 11_000), payment("c", 20_000), 3], "payments")
    assert len(raised.value.results) == 1  # type: ignore[attr-defined]


def test_mistakes_are_told(shop: Path, tmp_path: Path) -> None:
    live = saffron.open(PAID, stream=shop)
    with pytest.raises(InputError, match="topics orders, payments: feed"):
        live.feed(payment("a", 1))
    with pytest.raises(InputError, match="'trucks' is no topic of stream"):
        live.feed(payment("a", 1), "trucks")
    with pytest.raises(InputError, match="messages are a int"):
        live.feed(3, "orders")
    with pytest.raises(InputError, match="leave schema and disorder out"):
        saffron.open(PAID, stream=shop, disorder=5)
    with pytest.raises(InputError, match="begin with FROM shop"):
        saffron.open(PAID.replace("FROM shop", ""), stream=shop)
    with pytest.raises(QueryError, match="stream shop has no table gold"):
        saffron.open(PAID.replace("[order_id]", "[order_id] AND o.sku IN gold"), stream=shop)
    with pytest.raises(InputError, match=r"^cannot read .*none\.yaml: No such file"):
        saffron.open(PAID, stream=tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"stream: \xff\n")
    with pytest.raises(InputError, match=r"^cannot read .*bytes\.yaml: 'utf-8' codec"):
        saffron.open(PAID, stream=tmp_path / "bytes.yaml")
    with pytest.raises(InputError, match="topics are of"):
        saffron.open(PAID.replace("FROM shop", "")).feed({}, "orders")


def test_it_goes_on_beside_an_event_loop(shop: Path) -> None:
    async def run() -> int:
        async with saffron.open(PAID, stream=shop) as live:
            await live.afeed(order("a", 10_000, "y"), "orders")
            return len(await live.afeed([payment("a", 11_000), payment("a", 60_000)], "payments"))

    assert asyncio.run(run()) == 1
