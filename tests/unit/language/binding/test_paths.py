"""Dotted names: bound, printed, explained, hinted at, and matched by every engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

import saffron
from saffron.engine.why.block_traces import key_of, matches_only
from saffron.errors import QueryError
from saffron.language import bind, explain_text
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Kind, Schema

KINDS = {
    "order.id": Kind.STRING,
    "total": Kind.FLOAT,
    "customer.tier": Kind.STRING,
    "id.orig-h": Kind.STRING,
    "$.type": Kind.STRING,
    "$offset": Kind.INT,
    "len": Kind.INT,
}
SCHEMA = Schema(KINDS, {"order": tuple(KINDS), "com.acme.paid": tuple(KINDS)}, {}, given=True)
EVENTS: list[dict[str, Any]] = [
    {"type": "order", "ts": 1, "order.id": "O-1", "total": 5, "customer.tier": "gold", "$.type": "web", "$offset": 7},
    {"type": "com.acme.paid", "ts": 2, "order.id": "O-1", "total": 5, "id.orig-h": "h", "len": 3},
    {"type": "com.acme.paid", "ts": 3, "order.id": "O-2", "total": 9},
]
PATTERN = 'PATTERN SEQ(order o, "com.acme.paid"+ p[]) '
WITHIN = " WITHIN 9 ms"


def match(where: str, returns: str = "") -> MatchPlan:
    plan = bind(PATTERN + f"WHERE {where}{WITHIN}{returns}", SCHEMA, name="q").plan
    assert isinstance(plan, MatchPlan)
    return plan


@pytest.mark.parametrize(
    ("where", "printed"),
    [
        ("o.customer.tier = 'gold'", "o.customer.tier = 'gold'"),
        ("o.\"customer\".tier = 'gold'", "o.customer.tier = 'gold'"),
        ("o.\"customer.tier\" = 'gold'", "o.customer.tier = 'gold'"),
        ("o.id.\"orig-h\" = 'h'", "o.\"id.orig-h\" = 'h'"),
        ("o.\"type\" = o.type", "o.\"type\" = o.type"),
        ("o.\"$.type\" = 'web'", "o.\"type\" = 'web'"),
        ("o.\"$offset\" = 7", "o.\"$offset\" = 7"),
        ("o.\"len\" = 3", "o.\"len\" = 3"),
        ("p[1].\"len\" = p.len", "p[1].len = p.len"),
        ("max(p[].order.id) = 'x'", "max(p[].order.id) = 'x'"),
        ("[customer.tier, total]", "[customer.tier, total]"),
        ("[\"order\".id]", "[\"order.id\"]"),
        ("[\"id.orig-h\"]", "[\"id.orig-h\"]"),
        ("[order.id]", "[order.id]"),
        ("[\"type\"]", "[\"$.type\"]"),
    ],
)  # fmt: skip
def test_the_text_of_a_plan_says_where_a_name_begins(where: str, printed: str) -> None:
    assert match_text(where).endswith(f"WHERE {printed} WITHIN 9 ms")
    assert match_text(printed) == match_text(where)


def match_text(where: str) -> str:
    return bind(PATTERN + f"WHERE {where}{WITHIN}", None, name="q").plan.text


def test_the_first_word_of_a_key_is_a_variable_or_a_type_or_begins_a_path() -> None:
    assert match("[customer.tier]").key == ("customer.tier",)
    assert match('["order".id]').key == ("order.id",)
    assert match('["order.id"]').key == ("order.id",)
    assert match("[o.order.id]").key == ()  # of one variable: nothing to agree with
    with pytest.raises(QueryError, match="unknown attribute 'id' of type order"):
        match("[order.id]")  # `order` is a type


def test_quoted_words_are_fields_and_plain_ones_are_built_in() -> None:
    own, built_in = (match(f"o.{name} = 'web'").checks[0].expr for name in ('"type"', "type"))
    assert "'$.type'" in str(own)
    assert "'type'" in str(built_in)
    assert match("p.len = 2").checks[0].expr != match("p[1].len = 2").checks[0].expr
    with pytest.raises(QueryError, match="p is a closure, a list of events"):
        match('p."len" = 2')


@pytest.mark.parametrize(
    ("where", "carets", "message", "hint"),
    [
        ("o.customer = 'x'", "o.customer", "unknown attribute 'customer'", "its fields are: customer.tier."),
        ("o.tier = 'x'", "o.tier", "unknown attribute 'tier'", "Did you mean customer.tier?"),
        ("o.custmer.tier = 'x'", "o.custmer.tier", "unknown attribute 'custmer.tier'", "'customer.tier'?"),
        ("o.\"ts\" = 1", 'o."ts"', "unknown attribute 'ts'", 'order has: order.id, total, customer.tier, "id.orig-h"'),
        ("[customer.teir]", "customer.teir", "unknown attribute 'customer.teir'", "'customer.tier'?"),
        ("customer.tier = 'x'", "customer.tier", "unknown variable 'customer'", "The pattern has: o, p."),
        ('"order".id = 1', '"order".id', "order.id stands alone", "Write whose it is"),
        ("p.order.id = 'x'", "p.order.id", "p is a closure", "in a condition p[i].order.id is of every event"),
        ("o[1].id.\"orig-h\" = 'x'", 'o[1].id."orig-h"', "o is one event", 'Write o."id.orig-h"'),
    ],
)  # fmt: skip
def test_errors_point_at_the_whole_path(where: str, carets: str, message: str, hint: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        match(where)
    assert caught.value.text[caught.value.start : caught.value.end] == carets
    assert hint in caught.value.hint


def test_explanations_write_paths() -> None:
    shown = explain_text(match('["id.orig-h", customer.tier] AND o."type" = \'web\''))
    assert '["id.orig-h", customer.tier]' in shown
    assert "o.\"type\" = 'web'" in shown
    trends = bind(
        f"PATTERN order+ GROUP BY customer.tier{WITHIN} RETURN customer.tier, COUNT(*)", SCHEMA, name="q"
    ).plan
    assert isinstance(trends, TrendPlan)
    assert trends.group == ("customer.tier",)
    assert " customer.tier" in explain_text(trends)


def test_a_key_of_a_path_is_asked_for_as_it_is_written() -> None:
    plan = matches_only(match("[customer.tier]"))
    assert key_of(plan, "customer.tier=gold", SCHEMA.kinds) == {"customer.tier": "gold"}


QUERIES = {
    "flat": PATTERN + f'WHERE ["order".id]{WITHIN} RETURN o."type", p[1].order.id, max(p[].total) AS m, p[1]."len"',
    "general": f'PATTERN SEQ((order o OR order q), "com.acme.paid" p) WHERE ["order".id]{WITHIN} '
    'RETURN p.order.id, p.total AS m, o."type"',
    "distinct": f"PATTERN ANY(2, \"com.acme.paid\" p[]) DISTINCT order.id{WITHIN} RETURN max(p[].total) AS m",
    "opened": f'PATTERN SEQ("com.acme.paid" p, "com.acme.paid" r){WITHIN} OPEN ON order o '
    "WHERE o.customer.tier = 'gold' RETURN r.total AS m",
    "trends": 'PATTERN SEQ(order o, "com.acme.paid"+ p) WHERE p.total <= NEXT(p).total GROUP BY "order".id'
    f'{WITHIN} RETURN "order".id, MAX(p.total) AS m, COUNT(p.id."orig-h")',
}  # fmt: skip
EXPECTED: dict[str, dict[str, Any]] = {
    "flat": {"type": "web", "order.id": "O-1", "m": 5, "len": 3},
    "general": {"order.id": "O-1", "m": 5, "type": "web"},
    "distinct": {"m": 9},
    "opened": {"m": 9},
    "trends": {"m": 5, 'COUNT(p."id.orig-h")': 1},
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_engine_reads_them(name: str) -> None:
    (result,) = [json.loads(line) for line in saffron.replay(QUERIES[name], EVENTS, schema=SCHEMA).lines()][:1]
    assert result["return"] == EXPECTED[name]
    if name in ("flat", "general", "trends"):
        assert (result.get("key") or result["group"]) == {"order.id": "O-1"}
