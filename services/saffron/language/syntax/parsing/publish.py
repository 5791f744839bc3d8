"""Parsers of EMIT and PUBLISH, called behind the clause's keyword."""

from __future__ import annotations

import re

from saffron.carets import quoted
from saffron.language.syntax.lexing.cursor import Cursor
from saffron.language.syntax.parsing.clauses import is_clause
from saffron.language.syntax.parsing.expressions import parse_expression
from saffron.language.syntax.tree import Publish, Setting, Span

TOPIC_LIMIT = 249
"""Longest name of a topic of PUBLISH, in characters: Kafka's own limit."""

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")


def parse_emit(cursor: Cursor) -> Setting:
    token = cursor.accept_word("values")
    if token is None:
        cursor.fail("expected VALUES after EMIT", hint="EMIT VALUES leaves the events out of the results.")
    return Setting("VALUES", span=Span(token.start, token.end))


def parse_publish(cursor: Cursor) -> Publish:
    """PUBLISH ['topic' [AS form] [KEY expr]], behind its keyword."""
    start = cursor.tokens[cursor.index - 1].start
    if cursor.token.kind == "end" or is_clause(cursor) or cursor.token.is_symbol(","):
        return Publish(None, span=cursor.span_from(start))
    token = cursor.token
    if token.kind != "string":
        cursor.fail("expected a topic in single quotes after PUBLISH", hint="Write PUBLISH 'alerts'.")
    cursor.advance()
    if why := topic_refusal(token.value):
        raise cursor.error(why, token, hint=f"A topic has letters, digits, '.', '_' and '-', {TOPIC_LIMIT} at most.")
    form = _form(cursor) if cursor.accept_word("as") is not None else None
    key = parse_expression(cursor) if cursor.accept_word("key") is not None else None
    return Publish(token.value, form, key, span=cursor.span_from(start))


def _form(cursor: Cursor) -> str:
    """The form of rows, behind AS: AVRO or JSON SCHEMA."""
    if cursor.accept_word("avro") is not None:
        return "AVRO"
    if cursor.accept_word("json") is None:
        cursor.fail("expected JSON SCHEMA or AVRO after AS", hint="Without AS, the messages are results as JSON.")
    cursor.expect_word("SCHEMA", "after JSON")
    return "JSON SCHEMA"


def topic_refusal(name: str) -> str:
    """The reason why Kafka has no topic of this name, or keeps it to itself; "" if there may be one."""
    if not _TOPIC.fullmatch(name) or len(name) > TOPIC_LIMIT or name in (".", ".."):
        return f"{quoted(name)} is no name of a topic"
    return f"{quoted(name)} is a name of Kafka's own topics" if name.startswith("__") else ""
