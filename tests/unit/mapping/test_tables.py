"""Tables: their part of a definition, their rows, and the attributes that events get of them."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

import jsonschema
import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from saffron.errors import InputError
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.kinds import As
from saffron.mapping.paths import Path
from saffron.mapping.table_definition import AddRule, TableDefinition, columns_of
from saffron.mapping.tables.lookups import added
from saffron.mapping.tables.table import Table
from saffron.mapping.tables.table_files import load
from saffron.mapping.yaml_nodes import DefinitionError
from saffron.runtime.streams.event_keys import keys_of_parsed
from tests.reference.lookups import Change, looked_up

SCHEMA = json.loads((FilePath(__file__).parents[3] / "schemas/stream.schema.json").read_text("utf-8"))
GOOD = """stream: shop
key: order_id
sources:
- {topic: orders, attributes: {total: amount}}
tables:
- {name: customers, topic: crm.customers, key: id}
- {name: blocked, file: blocked.csv, key: address}
add:
  tier: {table: customers, key: customer.id, take: tier}
  limit: {table: customers, key: customer.id, take: credit.limit, as: number}
  is_blocked: {table: blocked, key: ip}
"""
CUSTOMERS = TableDefinition("customers", Path(("id",)), topic="customers")
TAKEN = (Path(("tier",)), None)


def table(*columns: Any, definition: TableDefinition = CUSTOMERS) -> Table:
    return Table(definition, columns or (TAKEN,))


def test_a_definition_names_tables_and_the_attributes_of_them() -> None:
    found = read_definition(GOOD)
    assert found.tables == (
        TableDefinition("customers", Path(("id",)), topic="crm.customers"),
        TableDefinition("blocked", Path(("address",)), file="blocked.csv"),
    )
    assert dict(found.add) == {
        "tier": AddRule("customers", "customer.id", Path(("tier",))),
        "limit": AddRule("customers", "customer.id", Path(("credit", "limit")), As.NUMBER),
        "is_blocked": AddRule("blocked", "ip"),
    }
    assert columns_of("blocked", found.add) == ()
    assert found.beside(FilePath("/x")).tables[1].file == "/x/blocked.csv"
    jsonschema.validate(yaml.safe_load(GOOD), SCHEMA)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{table: blocked,", "{table: bloked,", "there is no table bloked"),
        ("  tier: {", "  total: {", "source orders has a rule for total already"),
        ("  tier: {", "  ts: {", "an event has its own `ts`"),
        ("  tier: {", "  order_id: {", "order_id is the stream's key"),
        ("  tier: {", "  limit: {", "limit stands twice"),
        ("key: ip", "key: tier", "tier comes from a table"),
        ("key: ip}", "}", "needs `key`"),
        ("key: ip}", "key: ip, as: number}", "without `take` the attribute is true or false"),
        ("name: blocked,", "name: customers,", "customers is another table's name already"),
        ("name: blocked,", "name: a b,", "a table's name has letters"),
        ("file: blocked.csv, ", "", "rows from one of `topic` and `file`"),
        ("file: blocked.csv, ", "file: a.csv, topic: b, ", "rows from one of `topic` and `file`"),
        ("topic: crm.customers", "topic: orders", "this topic is a source of the stream"),
        (", key: address", "", "needs `key`"),
    ],
)
def test_what_is_wrong_is_shown_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(DefinitionError) as error:
        read_definition(GOOD.replace(old, new))
    assert message in str(error.value)
    assert "^" in str(error.value)


def test_the_newest_row_counts_and_a_tombstone_removes_it() -> None:
    some = table()
    find = some.finder(TAKEN)
    some.apply(b"7", b'{"id": 7, "tier": "gold"}', "")
    some.apply(b'"8"', b'{"id": "8", "tier": null}', "")
    some.apply(b'{"id": 9}', b'{"id": 9.0, "tier": "\\u00e9"}', "")
    assert (find(b"7"), find(b"8"), find(b"9"), find(b"10")) == (b'"gold"', b"", b'"\\u00e9"', None)
    some.apply(b"7", b'{"id": 7, "tier": "silver"}', "")
    assert (find(b"7"), len(some)) == (b'"silver"', 3)
    for key in (b"7", b'"8"', b'{"id": 9}', b"never", None):
        some.apply(key, None, "")
    assert (len(some), some.bad.count) == (0, 0)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (b"7", b"{", "it is no JSON"),
        (b"7", b"[1]", "a row is an array"),
        (b"7", b'{"tier": "gold"}', "its key is missing"),
        (b"7", b'{"id": {}, "tier": "gold"}', "its key is an object"),
        (b"7", b'{"id": 8, "tier": "gold"}', "the message's key is b'7', and the row's b'8'"),
        (b"7", b'{"id": 7, "tier": {"a": 1}}', "its tier is an object"),
        (b"7", b'{"id": 7, "tier": "\\ud800"}', "it is no JSON"),
    ],
)
def test_what_is_no_row_is_told_and_removes_the_one_before_it(key: bytes, value: bytes, why: str) -> None:
    some = table()
    some.apply(b"7", b'{"id": 7, "tier": "gold"}', "customers/0/1")
    some.apply(key, value, "customers/0/2")
    assert (len(some), some.bad.count) == (0, 1)
    assert some.bad.first.startswith("customers/0/2: ")
    assert why in some.bad.first


def test_tables_from_files(tmp_path: FilePath) -> None:
    lines = tmp_path / "customers.ndjson"
    lines.write_text('{"id": 1, "tier": "gold"}\n\nnothing\n{"id": "2", "tier": "silver"}\n{"id": 1, "tier": "none"}\n')
    some = table(definition=TableDefinition("c", Path(("id",)), file=str(lines)))
    list(load(some))
    assert [some.finder(TAKEN)(key) for key in (b"1", b"2")] == [b'"none"', b'"silver"']
    assert some.bad.first.startswith("customers.ndjson, line 3: ")
    rows = tmp_path / "customers.csv"
    rows.write_text('\ufeff"id",tier,limit\n1,gold,10\n2,,x\n3,"a ""b""",+7,8\n4,silver\n')
    limit = (Path(("limit",)), As.NUMBER)
    some = table(TAKEN, limit, definition=TableDefinition("c", Path(("id",)), file=str(rows)))
    list(load(some))
    assert [(some.finder(TAKEN)(key), some.finder(limit)(key)) for key in (b"1", b"2", b"3", b"4")] == [
        (b'"gold"', b"10"), (None, None), (None, None), (b'"silver"', b""),
    ]  # fmt: skip
    assert some.bad.count == 2, "limit x, and a cell too many"
    rows.write_text("id,tier,id\n")
    with pytest.raises(InputError, match="names 'id' twice"):
        list(load(some))
    rows.write_text('id,tier,"limit"x\n1,gold,10\n')
    with pytest.raises(InputError, match=r"customers\.csv: the header line cannot be read: "):
        list(load(some))
    rows.unlink()
    with pytest.raises(InputError, match=r"table c: .* cannot be read"):
        list(load(some))


def test_memory_is_counted_and_comes_back() -> None:
    some = table()
    empty = some.size
    for number in range(10_000):
        some.apply(None, b'{"id": %d, "tier": "%d"}' % (number, number), "")
    full = some.size
    assert full > empty + 10_000 * 40
    for number in range(10_000):
        some.apply(b"%d" % number, None, "")
    assert some.size < full - 10_000 * 40


# ------------------------------------------------------------ events

KEYS: st.SearchStrategy[Any] = st.sampled_from([1, 1.0, "1", 2, 2.5, "2.5", "x", "é", True, "true", 10**15, -3])
CELLS: st.SearchStrategy[Any] = st.sampled_from([None, "gold", 'q"', 1, 1.5, 10**17, True, [1, "a"]])
CHANGES = st.lists(
    st.tuples(KEYS, st.none() | st.fixed_dictionaries({}, optional={"tier": CELLS, "more": CELLS})), max_size=8
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.just("A"), "ts": st.integers(0, 9)},
        optional={"c": st.none() | KEYS, "d.e": KEYS, "tier": CELLS, "v": CELLS},
    ),
    max_size=5,
)
ADDS = st.dictionaries(
    st.sampled_from(["tier", "inside", "x y", "é"]),
    st.tuples(st.sampled_from(["c", "d.e"]), st.sampled_from([None, "tier", "more"])),
    max_size=4,
)


@given(EVENTS, ADDS, CHANGES)
def test_events_get_what_the_slow_way_finds(
    events: list[dict[str, Any]], adds: dict[str, tuple[str, str | None]], changes: list[Change]
) -> None:
    rules = {name: AddRule("t", key, None if take is None else Path((take,))) for name, (key, take) in adds.items()}
    some = Table(CUSTOMERS, columns_of("t", rules))
    for key, row in changes:
        some.apply(orjson.dumps(key), None if row is None else orjson.dumps({**row, "id": key}), "")
    assert some.bad.count == 0
    found = added([orjson.dumps(one) for one in events], rules, {"t": some}, keys_of_parsed)
    assert [orjson.loads(one) for one in found.values] == [looked_up(one, adds, changes) for one in events]
    assert sorted(found.own) == [row for row, one in enumerate(events) if any(name in one for name in adds)]
