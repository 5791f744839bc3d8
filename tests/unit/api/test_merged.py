"""`saffron.replay` over the files of several topics, which a definition merges."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import orjson
import pytest

import saffron
from saffron.errors import InputError, QueryError

SHOP = """stream: shop
key: order_id
sources:
- topic: orders
  ts: {field: at, format: epoch_ms}
- topic: payments
  ts: {field: paid_at, format: epoch_s}
  attributes: {order_id: order.id, total: {from: total, as: number}}
"""
UNPAID = "QUERY unpaid FROM shop PATTERN SEQ(orders o, NOT payments p) WHERE [order_id] WITHIN 1 minute"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two orders, of which one is paid; a payment whose total is no number, and a broken one."""
    orders = [{"order_id": "a", "at": 1_000_000}, {"order_id": "b", "at": 1_000_100}]
    payments = [{"order": {"id": "b"}, "paid_at": 1_001, "total": "much"}]
    found = {"orders": tmp_path / "orders.ndjson", "payments": tmp_path / "payments.ndjson"}
    found["orders"].write_bytes(b"\n".join(map(orjson.dumps, orders)))
    found["payments"].write_bytes(b"{broken\n" + b"\n".join(map(orjson.dumps, payments)))
    (tmp_path / "shop.yaml").write_text(SHOP, "utf-8")
    return found


def test_results_are_found_and_explained_over_several_topics(files: dict[str, Path], tmp_path: Path) -> None:
    results = saffron.replay(UNPAID, files, stream=tmp_path / "shop.yaml")
    with pytest.warns(UserWarning, match="payments/0/0: not-json|of 'total'") as warned:
        (match,) = list(results)
    said = [str(one.message) for one in warned]
    assert any("the first: payments/0/0: not-json" in one for one in said)
    assert any("values are left out and null: 1 of 'total'" in one for one in said)
    assert isinstance(match, saffron.Match)
    assert match.key == {"order_id": "a"}
    assert (results.figures["dead_letters"], results.figures["mistyped_values"]) == (1, 1)
    with pytest.warns(UserWarning, match="bad or late|left out and null"):
        assert results.counts() == {"unpaid": 1}
    assert "orders" in str(results.why("order_id=a"))
    assert "match" in str(results.why(match))


def test_files_by_topic_and_a_definition_go_together(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="files by topic"):
        saffron.replay(UNPAID, files["orders"], stream=tmp_path / "shop.yaml")
    with pytest.raises(InputError, match="leave key, schema and disorder out"):
        saffron.replay(UNPAID, files, stream=tmp_path / "shop.yaml", key="order_id")
    with pytest.raises(InputError, match="source payments has no file"):
        list(saffron.replay(UNPAID, {"orders": files["orders"]}, stream=tmp_path / "shop.yaml"))
    with pytest.raises(InputError, match="begin with FROM shop"):
        list(saffron.replay(UNPAID.replace("FROM shop", ""), files, stream=tmp_path / "shop.yaml"))


def test_seconds_that_are_read_as_milliseconds_are_told(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(
        "stream: s\nsources:\n- topic: t\n  ts: {field: at, format: epoch_ms}\n", "utf-8"
    )
    (tmp_path / "t.ndjson").write_bytes(b"\n".join(orjson.dumps({"at": 1_777_629_600 + n}) for n in range(3)))
    text = "QUERY q FROM s PATTERN t a WITHIN 1 s"
    with pytest.warns(UserWarning, match="times of 3 events lie in 1970"):
        list(saffron.replay(text, {"t": tmp_path / "t.ndjson"}, stream=tmp_path / "wrong.yaml"))
    plain = [{"type": "t", "ts": 1_777_629_600 + n} for n in range(3)]
    with pytest.warns(UserWarning, match="times of 3 events lie in 1970"):
        list(saffron.replay("QUERY q PATTERN t a WITHIN 1 s", plain))


def test_events_are_looked_up_in_tables_from_files_and_topics(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(
        SHOP
        + "tables:\n- {name: who, topic: buyers, key: id}\n- {name: blocked, file: blocked.csv, key: id}\n"
        + "add:\n  tier: {table: who, key: order_id, take: tier}\n  bad: {table: blocked, key: order_id}\n",
        "utf-8",
    )
    (tmp_path / "blocked.csv").write_text("id\na\n", "utf-8")
    files["buyers"] = tmp_path / "buyers.ndjson"
    rows = [{"id": "a", "tier": "gold"}, {"key": "b", "value": {"id": "b", "tier": "none"}}, {"tier": "no key"}]
    files["buyers"].write_bytes(b"\n".join(map(orjson.dumps, [*rows, {"key": "b", "value": None}])))
    query = "FROM shop PATTERN orders o WHERE skip-till-any-match { o.at > 0 } WITHIN 1 second RETURN o.tier, o.bad"
    with pytest.warns(UserWarning, match="bad or late|rows that were|have a key|of .total.") as warned:
        found = list(saffron.replay(query, files, stream=tmp_path / "shop.yaml"))
    assert [one.returns for one in found if isinstance(one, saffron.Match)] == [
        {"tier": "gold", "bad": True}, {"tier": None, "bad": False},
    ]  # fmt: skip
    said = " ".join(str(one.message) for one in warned)
    assert "table who: rows that were left out: 1; the first is buyers/0/2: its key is missing" in said
    assert "tier: 2 events have a key that no row of the table has" in said
    del files["buyers"]
    with pytest.raises(InputError, match="table buyers has no file"):
        list(saffron.replay(query, files, stream=tmp_path / "shop.yaml"))


def test_a_query_looks_up_in_a_table_by_itself(files: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(f"{SHOP}tables: [{{name: blocked, file: blocked.csv, key: id}}]\n", "utf-8")
    (tmp_path / "blocked.csv").write_text("id\na\n", "utf-8")
    query = "FROM shop PATTERN orders o WHERE skip-till-any-match {{ o.order_id {} }} WITHIN 1 second RETURN o.order_id"

    def found(asked: str) -> list[str]:
        results = saffron.replay(query.format(asked), files, stream=tmp_path / "shop.yaml")
        return [one.returns["order_id"] for one in results if isinstance(one, saffron.Match)]

    with pytest.warns(UserWarning, match="bad or late|of .total."):
        assert (found("IN blocked"), found("NOT IN blocked")) == (["a"], ["b"])
    with pytest.raises(QueryError, match="stream shop has no table bloked"):
        found("IN bloked")
    other = query.format("IN blocked").replace("FROM shop", "FROM other")
    with pytest.raises(InputError, match="the definition is of stream shop, and the queries are over other"):
        list(saffron.replay(other, files, stream=tmp_path / "shop.yaml"))


LINES = "QUERY q FROM s PATTERN A a WITHIN 1 s RETURN a.x AS x"
ONE = "stream: s\nkey: u\nsources:\n- topic: t\n  type: {constant: A}\n  ts: {field: at, format: epoch_ms}\n"
MESSAGE = {"at": 1, "u": "v", "x": 1, "lines": [{"x": 2}]}


@pytest.mark.parametrize(
    ("definition", "messages", "said"),
    [
        (f"{ONE}  explode: items", [MESSAGE] * 2, "t: no event came of 2 messages: 2 messages have no 'items', the"),
        (f"{ONE}  explode: a.items", [MESSAGE], "t: no event came of 1 message: 1 message has no 'a.items', the array"),
        (f"{ONE}  explode: lines", [{**MESSAGE, "lines": None}], "1 message has no 'lines'"),
        (f"{ONE}  explode: lines", [{**MESSAGE, "lines": []}], "t: no event came of 1 message$"),
        (f"{ONE}  where: x = 2", [MESSAGE] * 2, "t: no event came of 2 messages: 2 left out by `where: x = 2`"),
        (f"{ONE}  explode: items", [MESSAGE, "{"], "1 message has no 'items'"),
        (ONE.replace("key: u", "key: w"), [MESSAGE], "no event has the key 'w': all are in one partition"),
    ],
)
def test_names_of_a_definition_that_no_message_has_are_told(
    definition: str, messages: list[object], said: str, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(definition, "utf-8")
    lines = [one.encode() if isinstance(one, str) else orjson.dumps(one) for one in messages]
    (tmp_path / "t.ndjson").write_bytes(b"\n".join(lines))
    files = {"t": tmp_path / "t.ndjson"}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        saffron.replay(LINES, files, stream=tmp_path / "s.yaml", lenient=True).counts()
        with saffron.open(LINES, stream=tmp_path / "s.yaml") as live:
            live.feed(lines, topic="t")
    found = [str(one.message) for one in warned]
    assert sum(bool(re.search(said, one)) for one in found) == 2, found
    if "key" not in said:
        with pytest.raises(QueryError, match=said.removesuffix("$")):
            saffron.replay(LINES, files, stream=tmp_path / "s.yaml").counts()


def test_a_source_that_gives_events_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"{ONE}  explode: lines", "utf-8")
    (tmp_path / "t.ndjson").write_bytes(orjson.dumps(MESSAGE) + b'\n{"at":1,"u":"v"}\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert saffron.replay(LINES, {"t": tmp_path / "t.ndjson"}, stream=tmp_path / "s.yaml").counts() == {"q": 1}


def test_messages_that_are_all_refused_say_why_no_query_fits(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ONE, "utf-8")
    (tmp_path / "t.ndjson").write_bytes(b'{"x":1}\n')
    with pytest.raises(QueryError, match=r"No message was an event\. The first: t/0/0: no-ts: 'at' is missing"):
        saffron.replay(LINES, {"t": tmp_path / "t.ndjson"}, stream=tmp_path / "s.yaml").counts()
    (tmp_path / "t.ndjson").write_bytes(b"\n")
    with pytest.raises(QueryError, match="The input is empty"):
        saffron.replay(LINES, {"t": tmp_path / "t.ndjson"}, stream=tmp_path / "s.yaml").counts()


def test_a_table_of_which_no_row_is_one_says_why_no_query_fits(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "stream: s\nsources:\n- topic: t\n  ts: {field: at, format: epoch_ms}\n"
        "tables:\n- {name: who, file: who.csv, key: id}\nadd:\n  tier: {table: who, key: id, take: tier}\n",
        "utf-8",
    )
    (tmp_path / "who.csv").write_text("ident,tier\na,gold\n", "utf-8")
    (tmp_path / "t.ndjson").write_bytes(b'{"id":"a","at":1}\n')
    query = "FROM s PATTERN t a WHERE a.tier = 'gold' WITHIN 1 ms"
    with pytest.raises(QueryError, match="unknown attribute 'tier'") as raised:
        saffron.replay(query, {"t": tmp_path / "t.ndjson"}, stream=tmp_path / "s.yaml").counts()
    assert "table who: rows that were left out: 1; the first is who.csv, line 2: its key is missing" in str(
        raised.value
    )


@pytest.mark.parametrize("number", ["1e999", "-1e400", "123456789012345678901"])
@pytest.mark.parametrize("where", ["n", "inner", "array", "id", "row"])
def test_a_number_that_is_no_value_costs_that_value_alone(tmp_path: Path, number: str, where: str) -> None:
    """Wherever it stands: beside the key of the stream and of a look-up, in them, or in a row of the table."""
    fields = {
        "n": f'"id":"a","n":{number}',
        "inner": f'"id":"a","m":{{"n":{number}}}',
        "array": f'"id":"a","n":[1,{number}]',
        "id": f'"id":{number}',
        "row": '"id":"a"',
    }
    (tmp_path / "o.ndjson").write_text(
        f'{{"at":1,"id":"a","n":1}}\n{{"at":2,{fields[where]}}}\n{{"at":3,"id":"a","n":2}}\n', "utf-8"
    )
    more = f',"more":{number}' if where == "row" else ""
    (tmp_path / "rows.ndjson").write_text(f'{{"key":"a","label":"good"{more}}}\n', "utf-8")
    (tmp_path / "s.yaml").write_text(
        """stream: s
key: id
sources:
- {topic: o, type: O, ts: {field: at, format: epoch_ms}}
tables:
- {name: rows, file: rows.ndjson, key: key}
add:
  label: {table: rows, key: id, take: label}
""",
        "utf-8",
    )
    query = "FROM s PATTERN O o WITHIN 1 ms RETURN o.id AS id, o.label AS label"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            match.returns for match in saffron.replay(query, {"o": tmp_path / "o.ndjson"}, stream=tmp_path / "s.yaml")
        ]
    good = {"id": "a", "label": "good"}
    assert found == [good, {"id": None, "label": None} if where == "id" else good, good]
