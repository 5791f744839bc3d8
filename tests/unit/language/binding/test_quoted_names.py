"""Names that are no words, in double quotes: bound, explained, hinted at, and matched by every engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

import saffron
from saffron.errors import QueryError
from saffron.language import bind, explain_text
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema(
    {"user-id": Kind.STRING, "n": Kind.INT, "len": Kind.INT},
    {"order-paid": ("user-id", "n", "len"), "com.acme.sent": ("user-id", "n"), "where": ("user-id", "n")},
    {},
    closed=True,
    given=True,
)
EVENTS: list[dict[str, Any]] = [
    {"type": "order-paid", "ts": 1, "user-id": "u", "n": 1},
    {"type": "order-paid", "ts": 2, "user-id": "u", "n": 2},
    {"type": "com.acme.sent", "ts": 3, "user-id": "u", "n": 5},
]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            'PATTERN SEQ("order-paid" a, "com.acme.sent"+ "b c"[]) WHERE ["user-id"] AND "b c"[i].n > a.n WITHIN 9 ms',
            'PATTERN SEQ("order-paid" a, "com.acme.sent"+ "b c"[]) WHERE ["user-id"] AND "b c"[i].n > a.n WITHIN 9 ms',
        ),
        ('PATTERN "where" "output" WITHIN 1 s', 'PATTERN ("where" output) WITHIN 1000 ms'),
        ('PATTERN "order-paid" "where" WHERE "where"."n" = 1 WITHIN 1 s RETURN "where".n AS "n, once"',
         'PATTERN "order-paid" "where" WHERE where.n = 1 WITHIN 1000 ms RETURN where.n AS "n, once"'),
    ],
)  # fmt: skip
def test_the_text_of_a_plan_keeps_the_quotes_that_are_needed(text: str, printed: str) -> None:
    plan = bind(text, SCHEMA, name="q").plan
    assert plan.text == printed
    assert bind(plan.text, SCHEMA, name="q").plan.text == printed


@pytest.mark.parametrize(
    ("text", "carets", "words"),
    [
        ('PATTERN "order-payd" a WITHIN 1 s', '"order-payd"', 'Did you mean "order-paid"?'),
        ('PATTERN "order-paid" a WHERE a."user-if" = 1 WITHIN 1 s', 'a."user-if"', 'has: "user-id", n, len'),
        ('PATTERN "order-paid" a WHERE a.user-id = 1 WITHIN 1 s', "a.user", '"user-id"'),
        ('PATTERN "order-paid" a WHERE a.n-user-id = 1 WITHIN 1 s', "user", "Write whose it is"),
        ('PATTERN "order-paid" a WHERE a."user-id" = "u" WITHIN 1 s', '"u"', "strings stand in single ones: 'u'"),
    ],
)
def test_errors_point_at_names_with_their_quotes(text: str, carets: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        bind(text, SCHEMA, name="q")
    assert text[caught.value.start : caught.value.end] == carets
    assert words in caught.value.hint


def test_explanations_say_names_as_they_are_to_be_written() -> None:
    text = 'PATTERN SEQ("order-paid", "order-paid") WHERE "order-paid#2".n > "order-paid".n WITHIN 1 s'
    assert '"order-paid#2".n > "order-paid".n' in explain_text(bind(text, SCHEMA, name="q").plan)


QUERIES = {
    "flat": 'PATTERN SEQ("order-paid" a, "com.acme.sent" "b c") WHERE ["user-id"] WITHIN 1 s '
    'RETURN a."user-id", "b c".n AS "n-n"',
    "general": 'PATTERN SEQ(("order-paid" a OR "where" w), "com.acme.sent" "b c") WHERE ["user-id"] WITHIN 1 s '
    'RETURN a."user-id", "b c".n AS "n-n"',
    "trends": 'PATTERN SEQ("order-paid" a, "com.acme.sent" "b c") GROUP BY "user-id" WITHIN 1 s '
    'RETURN "user-id", MAX("b c".n) AS "n-n"',
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_engine_takes_them(name: str) -> None:
    results = [json.loads(line) for line in saffron.replay(QUERIES[name], EVENTS, schema=SCHEMA).lines()]
    assert len(results) == (1 if name == "trends" else 2)
    assert all(one["return"]["n-n"] == 5 for one in results)
    assert all((one.get("key") or one["group"])["user-id"] == "u" for one in results)


@pytest.mark.parametrize("name", ["", "$mine", "$watermark"])
@pytest.mark.parametrize(
    "text",
    [
        'PATTERN "{}" a WITHIN 9 ms',
        'PATTERN SEQ("order-paid" a, NOT "{}" b) WITHIN 9 ms',
        'PATTERN ("order-paid" | "{}") a WITHIN 9 ms',
        'PATTERN "order-paid" a WITHIN 9 ms OPEN ON "{}" o',
        'PATTERN "order-paid" a WITHIN 9 ms RETURN a.n AS n INTO "{}"',
    ],
)
@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_a_type_that_no_event_can_have_is_refused(text: str, name: str, schema: Schema | None) -> None:
    """Else the query would wait for ever for what the contract of events forbids."""
    text = text.format(name)
    with pytest.raises(QueryError, match="no event is of type") as caught:
        bind(text, schema, name="q", lenient=True)
    assert f'"{name}"' in text[caught.value.start : caught.value.end]


def test_the_empty_name_is_a_name() -> None:
    events = [{"type": "A", "ts": at, "": value} for at, value in enumerate((5, 6, 6))]
    queries = {
        'PATTERN A a WITHIN 1 ms RETURN a."" AS n, a.ts AS ""': [{"n": 5, "": 0}, {"n": 6, "": 1}, {"n": 6, "": 2}],
        'PATTERN A a WHERE a."" > 5 WITHIN 1 ms RETURN a.""': [{"": 6}, {"": 6}],
        'PATTERN A a WITHIN 1 ms OPEN ON A "" WHERE ""."" = 6 RETURN a.ts AS t': [{"t": 1}, {"t": 2}],
        'PATTERN A+ a GROUP BY "" WITHIN 9 ms RETURN "", COUNT(*) AS n': [{"n": 1}, {"n": 3}],
    }
    for text, wanted in queries.items():
        assert [one.returns for one in saffron.replay(text, events)] == wanted, text
