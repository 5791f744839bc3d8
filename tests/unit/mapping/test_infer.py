"""Proposals: the definition that a person would write after a look at the newest messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.mapping.definition import Envelope, TimeFormat
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.mapper import Mapped, events_of
from saffron.mapping.message import Message
from saffron.mapping.paths import Path
from saffron.mapping.proposals.definition_writer import write_definition
from saffron.mapping.proposals.fields import Topic
from saffron.mapping.proposals.infer import infer

NOON = 1_777_629_600_000


def topic(name: str, values: Sequence[Any], every_ms: int = 60_000) -> Topic:
    return Topic(name, [Message(json.dumps(one).encode(), None, NOON + every_ms * n) for n, one in enumerate(values)])


ORDERS = topic(
    "orders",
    [
        {"order_id": f"O-{n}", "created_at": f"2026-05-01T12:{n:02d}:00+02:00", "total": "12.50" if n % 2 else 99,
         "customer": {"id": f"C{n % 3}"}, "zip": "01067"}
        for n in range(10)
    ],
)  # fmt: skip
PAYMENTS = topic(
    "payments",
    [
        {
            "id": f"P-{n}",
            "order": {"id": f"O-{n}"},
            "paid_at": NOON // 1000 + 60 * n,
            "status": "FAILED" if n % 3 else "SUCCEEDED",
        }
        for n in range(8)
    ],
)
SHIPMENTS = topic("shipments", [{"orderId": f"O-{n}", "ts_us": (NOON + 60_000 * n) * 1000} for n in range(5)])


def test_three_topics_agree_on_a_key_by_their_values() -> None:
    orders, payments, shipments = infer([ORDERS, PAYMENTS, SHIPMENTS])
    keys = [None if one.key is None else str(one.key.path) for one in (orders, payments, shipments)]
    assert keys == ["order_id", "order.id", "orderId"]
    assert [(one.time.path, one.time.form) for one in (orders, payments, shipments)] == [
        (Path(("created_at",)), TimeFormat.ISO),
        (Path(("paid_at",)), TimeFormat.SECONDS),
        (Path(("ts_us",)), TimeFormat.MICROSECONDS),
    ]
    assert orders.numbers == [Path(("total",))], "a postcode is a text"
    assert payments.type is not None
    assert (str(payments.type.path), payments.type.names) == ("status", {"FAILED": "Failed", "SUCCEEDED": "Succeeded"})


def test_the_proposal_is_a_definition_with_reasons() -> None:
    text = write_definition("shop", infer([ORDERS, PAYMENTS, SHIPMENTS]))
    shop = read_definition(text)
    assert (shop.name, shop.key) == ("shop", "order_id")
    assert [one.topic for one in shop.sources] == ["orders", "payments", "shipments"]
    assert "map: {FAILED: Failed, SUCCEEDED: Succeeded}" in text
    assert "order_id: order.id  # has values of orders's order_id: 100%" in text
    assert "# is a time in all messages, within a second of the message's own" in text


def test_names_that_need_quotes_are_those_that_the_events_have() -> None:
    first = topic("a", [{"User ID": f"u{n}", "p": {"Revenue ($)": f"{n}.5"}, "at": NOON + n} for n in range(5)])
    other = topic("b", [{"user": {"an id": f"u{n}"}} for n in range(5)])
    shop = read_definition(write_definition("shop", infer([first, other])))
    assert shop.key == "User ID"
    read = [next(events_of(one.messages[0], source)) for one, source in zip((first, other), shop.sources, strict=True)]
    assert all(isinstance(one, Mapped) and one.values["User ID"] == "u0" for one in read)
    assert isinstance(read[0], Mapped)
    assert read[0].values["p.Revenue ($)"] == "0.5"


def test_versions_stay_texts() -> None:
    (one,) = infer([topic("a", [{"eventVersion": "1.10", "price": "1.10"} for _ in range(5)])])
    assert one.numbers == [Path(("price",))]


def test_without_times_of_messages_none_is_called_near() -> None:
    (one,) = infer([Topic("a", [Message(b'{"at":1777629600}')] * 3)])
    assert one.time.reason == "is a time in all messages"


def test_topics_that_share_no_values_have_no_key() -> None:
    others = topic("clicks", [{"page": f"/p{n}", "at": NOON + n} for n in range(5)])
    assert [one.key for one in infer([ORDERS, others])] == [None, None]
    assert "without a key there is one partition" in write_definition("s", infer([ORDERS, others]))


@pytest.mark.parametrize(
    ("form", "write"),
    [
        (TimeFormat.SECONDS, lambda ms: ms / 1000),
        (TimeFormat.MILLISECONDS, lambda ms: ms),
        (TimeFormat.MILLISECONDS, str),
        (TimeFormat.NANOSECONDS, lambda ms: ms * 1_000_000),
        ("%d/%b/%Y:%H:%M:%S %z", lambda ms: f"01/May/2026:12:{(ms - NOON) // 60_000:02d}:00 +0200"),
    ],
)
def test_the_unit_of_a_time_is_that_nearest_to_the_messages(form: TimeFormat | str, write: Any) -> None:
    own = topic("t", [{"n": n, "when": write(NOON + 60_000 * n), "born": 631_152_000} for n in range(5)])
    (found,) = infer([own])
    assert (found.time.path, found.time.form) == (Path(("when",)), form)


def test_where_no_field_is_a_time_the_message_says_it() -> None:
    (found,) = infer([topic("t", [{"x": n, "note": "noon"} for n in range(3)])])
    assert found.time.path is None
    assert "ts: message" in write_definition("s", [found])


def test_envelopes_are_seen() -> None:
    change = {"before": None, "after": {"id": 1}, "source": {"db": "d"}, "op": "c", "ts_ms": NOON}
    cloud = {"specversion": "1.0", "type": "a.b", "time": "2026-05-01T12:00:00+02:00", "data": {"x": 1}}
    for value, envelope in (
        (change, Envelope.DEBEZIUM),
        ({"schema": {}, "payload": change}, Envelope.DEBEZIUM),
        (cloud, Envelope.CLOUDEVENTS),
        ([{"x": 1}], Envelope.ARRAY),
        ({"x": 1}, Envelope.NONE),
    ):
        (found,) = infer([topic("t", [value, value])])
        assert found.envelope is envelope
    (found,) = infer([Topic("t", [Message(b'{"x": 1}\n{"x": 2}\n', None, NOON)])])
    assert (found.envelope, found.messages) == (Envelope.LINES, 1)


def test_messages_that_cannot_be_read_are_passed_over() -> None:
    (found,) = infer([Topic("t", [Message(None), Message(b"\xff"), *ORDERS.messages])])
    assert found.messages == len(ORDERS.messages)
    (none,) = infer([Topic("t", [])])
    assert (none.messages, none.time.path, none.key) == (0, None, None)
    read_definition(write_definition("s", [none]))


def of_texts(*values: bytes) -> Topic:
    return Topic("t", [Message(one, None, NOON) for one in values])


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([b"id;at;volts\n7;2026-05-01T10:00:00Z;2.5\n8;2026-05-01T10:01:00Z;2.6\n"], '{csv: {separator: ";"}}'),
        ([b"7,2026-05-01T10:00:00Z", b"8,2026-05-01T10:01:00Z\n"], "{csv: {columns: [column1, column2]}}"),
        ([b"id,at\n7,2026-05-01T10:00:00Z\n8,2026-05-01T10:00:00Z,more\n"], "csv"),
    ],
)  # fmt: skip
def test_rows_are_csv(values: Sequence[bytes], written: str) -> None:
    (found,) = infer([of_texts(*values)])
    text = write_definition("s", [found])
    assert f"  format: {written}" in text
    assert found.time.form is TimeFormat.ISO
    assert read_definition(text).sources[0].csv == found.csv


def test_what_is_neither_json_nor_rows_is_no_csv() -> None:
    (found,) = infer([of_texts(b"Accepted publickey, for root", b"Connection closed", b"Failed password")])
    assert found.csv is None


def test_an_array_of_objects_that_alone_have_a_time_is_exploded() -> None:
    record = {"eventTime": "2026-05-01T10:00:00Z", "eventName": "ListUsers"}
    (found,) = infer([topic("trail", [{"Records": [record, record]}] * 3)])
    text = write_definition("s", [found])
    assert "  explode: Records  # its objects have a time, and nothing else has one" in text
    assert "  ts: {field: eventTime, format: iso8601}" in text
    assert read_definition(text).sources[0].explode == Path(("Records",))


def test_an_array_of_objects_beside_a_time_is_mentioned() -> None:
    batch = {"sent": NOON, "readings": [{"t": NOON - 5_000, "v": 1.5}, {"t": NOON, "v": 2}]}
    text = write_definition("s", infer([topic("batches", [batch] * 3)]))
    assert "  # explode: readings  # an event of each of its objects, which have times of their own (t)" in text
    assert read_definition(text).sources[0].explode is None
    assert "explode" not in write_definition("s", infer([topic("orders", [{"at": NOON, "items": [{"sku": "S"}]}] * 3)]))


def test_the_type_of_a_cloudevent_is_the_type_and_the_change_of_a_row_is_mentioned() -> None:
    events = [{"specversion": "1.0", "type": f"a.{n}", "time": "2026-05-01T10:00:00Z", "data": {}} for n in range(20)]
    text = write_definition("s", infer([topic("events", events)]))
    assert "\n  type: {field: ce_type}  # the type of a CloudEvent" in text
    rows = [{"after": {"status": "a"}, "source": {"table": "orders"}, "op": op, "ts_ms": NOON} for op in "ccu"]
    text = write_definition("s", infer([topic("orders", rows)]))
    assert (
        "  # type: {field: __op, map: {c: orders_created, d: orders_deleted, r: orders_read, u: orders_changed}}"
        in text
    )
    read_definition(text.replace("# type: {field: __op", "type: {field: __op").replace("  type: orders\n", ""))


def test_names_that_need_no_change_are_taken_as_they_are() -> None:
    rows = [{"type": kind, "at": NOON} for kind in ("PushEvent", "ForkEvent")]
    assert "# type: {field: type}  # a type for each of its 2 values" in write_definition(
        "s", infer([topic("t", rows)])
    )


@pytest.mark.parametrize(
    ("hours", "written", "word"),
    [
        (2, "2026-05-01T12:{n:02d}:00", "it has no offset, and is 2 h ahead: add its `zone`"),
        (-4, "2026-05-01T06:{n:02d}:00", "it has no offset, and is 4 h behind: add its `zone`"),
        (0, "2026-05-01T10:{n:02d}:00", ""),
        (2, "2026-05-01T12:{n:02d}:00+02:00", ""),
        (-2, "2026-05-01T10:{n:02d}:00[Europe/Berlin]", ""),
        (-2, "2026-05-01T08:{n:02d}:00 GMT", ""),
        (-2, "Fri, 01 May 2026 08:{n:02d}:00 GMT", ""),
        (-2, "01/May/2026:10:{n:02d}:00 +0200", ""),
        (-2, "2026/05/01 08:{n:02d}:00", "it has no offset, and is 2 h behind: add its `zone`"),
        (-2, "177762240{n}", ""),
    ],
)
def test_a_time_without_an_offset_that_is_hours_off_needs_a_zone(hours: int, written: str, word: str) -> None:
    (found,) = infer([topic("t", [{"at": written.format(n=n)} for n in range(5)])])
    assert found.time.reason.partition("; ")[2] == word, hours


def test_messages_of_another_kind_are_few_and_do_not_decide() -> None:
    record = {"eventTime": "2026-05-01T10:00:00Z", "eventName": "ListUsers"}
    trail = [{"Records": [record, record]}] * 18 + [{"Records": [record, "garbage"]}, {"CloudTrailDigest": {"v": 1}}]
    text = write_definition("s", infer([topic("trail", trail)]))
    assert "  explode: Records  # its objects have a time" in text
    assert "is a time in 97% of events (check says what becomes of the others)" in text
    orders = [{"id": f"O-{n}", "at": NOON + 60_000 * n} for n in range(19)]
    text = write_definition("s", infer([topic("orders", [*orders, {"ping": True}])]))
    assert "ts: {field: at, format: epoch_ms}  # is a time in 95% of events" in text
    text = write_definition("s", infer([topic("orders", [*orders[:8], {"ping": True}])]))
    assert "ts: message  # no field is a time" in text
    both = [{"changed": one["at"], **({"at": one["at"]} if number else {})} for number, one in enumerate(orders)]
    assert "ts: {field: changed" in write_definition("s", infer([topic("orders", both)])), "one that is in all"


def framed(payloads: list[bytes]) -> Topic:
    return Topic("t", [Message(b"\0\0\0\0\7" + one, None, NOON) for one in payloads])


def test_frames_of_a_schema_registry_are_seen() -> None:
    text = write_definition("s", infer([framed([b'{"at":%d,"id":"a"}' % (NOON + n) for n in range(5)])]))
    assert "  format: json-schema  # its messages have the frame of a schema registry" in text
    assert "  ts: {field: at, format: epoch_ms}" in text
    assert read_definition(text).sources[0].format == "json-schema"
    text = write_definition("s", infer([framed([b"\x02a\n", b"\x02b\n"])]))
    assert "# format: avro  # or protobuf" in text
    assert "# its messages have the frame of a schema registry: infer reads them with the registry's URL" in text
    assert "envelope" not in text
    with_registry = text.replace("# format: avro", "format: avro").replace("# registry", "registry")
    assert read_definition(with_registry).sources[0].format == "avro"


def plain(*values: Any) -> list[Message]:
    return list(topic("t", values).messages)


def test_where_some_messages_have_a_frame_and_others_have_none_both_are_looked_at() -> None:
    values = [{"at": NOON + 60_000 * n, "id": "a"} for n in range(6)]
    inner = framed([json.dumps(one).encode() for one in values[:3]]).messages
    (one,) = infer([Topic("t", [*inner, *plain(*values[3:]), Message(None)])])
    assert (one.form, one.messages, one.time.form, one.told) == ("json-schema", 6, TimeFormat.MILLISECONDS, ())
    unread = framed([b"\x02a\n"] * 3).messages
    (one,) = infer([Topic("t", [*unread, *plain(*values), Message(None)])])
    assert (one.form, one.messages, one.time.form, len(one.told)) == (None, 6, TimeFormat.MILLISECONDS, 1)
    (one,) = infer([Topic("t", [*unread[:1], *plain(*values, *values)])])
    assert (one.form, one.messages, one.told) == ("json", 12, ()), "few do not decide"


def test_the_definition_of_translated_messages_has_their_format_and_registry() -> None:
    values = [{"type": "Order", "at": f"2026-05-01T10:0{n}:00+00:00"} for n in range(3)]
    made = [
        Topic("a", plain(*values), "avro", "http://[::1]:8081/x", ("1 not read (no-frame); the first\n: x",)),
        Topic("b", plain(*values), "json-schema", "http://r:8081"),
        Topic("c", framed([b"\x02a\n"]).messages, None, "http://r:8081", ("it does not answer",)),
    ]
    text = write_definition("s", infer(made))
    assert "  # 1 not read (no-frame); the first : x\n" in text
    assert '  # it does not answer\n  # format: avro  # or protobuf\n  # registry: "http://r:8081"\n' in text
    found = [(one.format, one.registry) for one in read_definition(text).sources]
    assert found == [("avro", "http://[::1]:8081/x"), ("json-schema", None), ("json", None)]


def test_records_of_several_names_are_types() -> None:
    values = [{"type": kind, "at": NOON, "status": status} for kind, status in (("Order", "A"), ("Paid", "B"))]
    text = write_definition("s", infer([Topic("t", plain(*values), "protobuf", "http://r:8081")]))
    assert "  type: {field: type}  # the name of its record" in text
    read = [next(events_of(one, read_definition(text).sources[0])) for one in plain(*values)]
    assert [one.type for one in read if isinstance(one, Mapped)] == ["Order", "Paid"]
    text = write_definition(
        "s", infer([Topic("t", plain(values[0], {**values[1], "type": "Order"}), "avro", "http://r:1")])
    )
    assert "  type: t\n  # type: {field: status}" in text, "one name is no choice"
    change: dict[str, Any] = {"op": "c", "source": {}, "before": None}
    rows = [{"type": "Envelope", **change, "after": one} for one in values]
    (found,) = infer([Topic("t", plain(*rows), "avro", "http://r:1")])
    assert found.type is not None
    assert str(found.type.path) == "__op", "a column of that name is not the record's"


def test_fields_with_names_of_an_event_are_proposed_under_the_names_that_they_have() -> None:
    values = [{"at": f"2026-05-01T10:00:0{n}Z", "ts": f"{n}.5", "type": f"-{n}", "in": {"id": f"O-{n}"}} for n in "123"]
    text = write_definition("s", infer([topic("t", values), topic("u", [{"$topic": f"O-{n}"} for n in "123"])]))
    first, second = read_definition(text).sources
    (one,) = events_of(topic("t", values).messages[0], first)
    assert isinstance(one, Mapped)
    assert (str(one.values["$.ts"]), str(one.values["$.type"]), one.values["in.id"]) == ("1.5", "-1", "O-1")
    assert str(second.attributes["in.id"].origin) == "$topic"


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@settings(deadline=None)
@given(NAMES, NAMES, NAMES, NAMES)
def test_any_names_come_through_the_text_of_a_definition(at: str, key: str, price: str, other: str) -> None:
    first = topic("a", [{at: NOON + n, key + "k": f"u{n}", price + "p": f"{n}.5"} for n in range(5)])
    second = topic("b", [{"at": NOON + n, "in": {other + "o": f"u{n}"}} for n in range(5)])
    sources = infer([first, second])
    text = write_definition("shop", sources)
    shop = read_definition(text)
    assert shop.key is not None
    for one, written in zip(sources, shop.sources, strict=True):
        assert one.key is not None
        assert written.time.origin == one.time.path
        assert {str(rule.origin) for rule in written.attributes.values()} >= set(map(str, one.numbers))
        assert all(isinstance(found, Mapped) for found in events_of(first.messages[0], shop.sources[0]))


def test_a_message_too_deep_to_be_an_event_is_left_out_of_a_proposal() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"x": deep}
    mixed = topic("orders", [{"order_id": f"O-{n}", "at": NOON + n} for n in range(9)] + [{"deep": deep}])
    (found,) = infer([mixed])
    assert found.time.path == Path(("at",))
