"""Topics of a shop, and a definition of their stream."""

from __future__ import annotations

import orjson

from saffron.runtime.log import TopicSpec
from tests.unit.control.world import World

NOON = 1_777_629_600_000
DEFINITION = """\
stream: shop
key: order_id
disorder: 5s
idle: 10s
sources:
- topic: orders
  ts: {field: created_at, format: epoch_ms}
- topic: payments
  ts: {field: paid_at, format: epoch_s}
  attributes: {order_id: order.id}
"""
PAID = "QUERY paid FROM shop PATTERN SEQ(orders o, payments p) WHERE [order_id] WITHIN 1 hour RETURN o.total AS total"


def with_shop(world: World, count: int = 5) -> None:
    """Two topics: orders on two partitions, of which one is no JSON, and their payments a minute later."""
    world.log.create_topics([TopicSpec("orders", 2, {}), TopicSpec("payments", 1, {})])
    producer = world.log.producer()
    for number in range(count):
        order = {"order_id": f"O-{number}", "total": 10 + number, "created_at": NOON + number}
        payment = {"order": {"id": f"O-{number}"}, "paid_at": NOON // 1000 + 60}
        key, headers = f"O-{number}".encode(), [("trace", b"t\xff")]
        producer.send("orders", number % 2, orjson.dumps(order), key=key, headers=headers, timestamp=NOON + number)
        producer.send("payments", 0, orjson.dumps(payment), timestamp=NOON + 60_000 + number)
    producer.send("orders", 0, b"{", timestamp=NOON + count)
    producer.flush(1)


def with_applied_shop(world: World) -> None:
    """The topics, and their stream."""
    with_shop(world)
    world.apply(DEFINITION)
