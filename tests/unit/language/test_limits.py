"""The limits that docs/language.md names are those of the code; beyond one there is an error with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from saffron.control.checks import MOST_CHARACTERS
from saffron.engine.events.decoding import growth, nesting
from saffron.engine.windows.order import silence
from saffron.engine.windows.outbox import _BLOCK_BYTES
from saffron.errors import QueryError
from saffron.language import bind
from saffron.language.plan.limits import (
    MAX_COMPONENTS,
    MAX_REPORTS,
    MAX_SEQUENCES,
    MAX_STATES,
    MAX_TABLE_STATES,
    MAX_WINDOWS,
)
from saffron.language.syntax import paths
from saffron.language.syntax.lexing import cursor, tokens
from saffron.language.syntax.parsing import calls, clauses, patterns, publish, references, sizes
from saffron.mapping import definition_reader
from saffron.runtime.log.kafka.librdkafka_settings import _MESSAGE_BYTES
from saffron.runtime.process.config import Settings
from saffron.schema.functions import text
from saffron.schema.schema import MAX_EVENT_BYTES, MAX_INSTANTS
from tests.unit.language.samples import LETTERS

PAGE = Path(__file__).parents[3] / "docs" / "language.md"
HOUR = " WITHIN 1 h"
ROW = re.compile(r"^\| (.+?) \| ([\d,^]+)\D*? \| (.+) \|$", re.MULTILINE)
LIMITS = {
    "text of a query, in UTF-8": tokens.TEXT_LIMIT,
    "words and signs of a query": tokens.TOKEN_LIMIT,
    "nesting of brackets, operators and patterns": cursor.DEPTH_LIMIT,
    "digits of a number": tokens.NUMBER_LIMIT,
    "name of a query or stream": clauses.NAME_LIMIT,
    "name of a topic of `PUBLISH`": publish.TOPIC_LIMIT,
    "`{n,m}`": patterns.REPEAT_LIMIT,
    "`k` of `b[i-k]`": references.LOOK_BACK_LIMIT,
    "`n` of `b[n]`": references.NUMBER_LIMIT,
    "number of an array's element": paths.ELEMENT_LIMIT,
    "WHENs of a CASE": calls.CASE_LIMIT,
    "pattern of LIKE": text.PATTERN_LIMIT,
    "text that a function makes": text.LONGEST,
    "WITHIN": sizes.SIZE_LIMIT,
    "components of a match query": MAX_COMPONENTS,
    "sequences that one NOT rules out": MAX_SEQUENCES,
    "reports of a match by `NOT B EVERY` in a window": MAX_REPORTS,
    "states of a match query's automaton": MAX_TABLE_STATES,
    "states of an aggregate query": MAX_STATES,
    "windows that an event lies in": MAX_WINDOWS,
    "an event": MAX_EVENT_BYTES,
    "depth of objects and arrays in an event": nesting.MAX_DEPTH,
    "sources of a stream": definition_reader.MAX_SOURCES,
    "attributes in an inferred schema": growth.MAX_ATTRIBUTES,
    "event types in an inferred schema": growth.MAX_ATTRIBUTES,
    "name of an attribute in an inferred schema": nesting.MAX_PATH,
    "instants of an imprecise time": MAX_INSTANTS,
    "event time ahead of the events, by a stream's `silence`": silence.MOST_MS // 3_600_000,
    "a request's body": 1024**2,  # aiohttp's; tests/unit/control/test_openapi.py
    "a result": Settings().result_bytes,
    "queries in force on a stream, with their schema, as JSON": _MESSAGE_BYTES - _BLOCK_BYTES,
}
BEYOND = {
    "text of a query, in UTF-8": "PATTERN A" + " " * 65_536 + HOUR,
    "words and signs of a query": "PATTERN A a WHERE " + "+".join(["1"] * 2_100) + "=1" + HOUR,
    "nesting of brackets, operators and patterns": "PATTERN A a WHERE " + "(" * 70 + "a.x" + ")" * 70 + "=1" + HOUR,
    "digits of a number": "PATTERN A a WHERE a.x = " + "9" * 41 + HOUR,
    "name of a topic of `PUBLISH`": "PATTERN A" + HOUR + f" PUBLISH '{'t' * 250}'",
    "name of a query or stream": "QUERY " + "q" * 201 + " PATTERN A" + HOUR,
    "`{n,m}`": "PATTERN SEQ(A, B{1001})" + HOUR,
    "`k` of `b[i-k]`": "PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1001].x" + HOUR,
    "`n` of `b[n]`": "PATTERN A+ b[] WHERE b[1000001].x = 1" + HOUR,
    "number of an array's element": "PATTERN A a WHERE a.x[1000001] = 1" + HOUR,
    "WHENs of a CASE": "PATTERN A a WHERE CASE " + "WHEN a.x = 1 THEN true " * 101 + "END" + HOUR,
    "pattern of LIKE": "PATTERN A a WHERE a.k LIKE '" + "x" * 10_001 + "'" + HOUR,
    "WITHIN": "PATTERN A WITHIN 9007199254740993 ms",
    "components of a match query": "PATTERN SEQ(" + ",".join(["A"] * 31) + ")" + HOUR,
    "sequences that one NOT rules out": "PATTERN SEQ(A, NOT (" + " AND ".join(["B"] * 6) + "), C)" + HOUR,
    "reports of a match by `NOT B EVERY` in a window": "PATTERN SEQ(A, NOT B EVERY 1 ms)" + HOUR,
    "states of a match query's automaton": "PATTERN " + " AND ".join(["A"] * 13) + HOUR,
    "states of an aggregate query": "PATTERN SEQ(" + ",".join(["A"] * 63) + ")" + HOUR + " RETURN COUNT(*)",
    "windows that an event lies in": "PATTERN A+ WITHIN 1 h SLIDE 10 ms RETURN COUNT(*)",
}


def number(text: str) -> int:
    base, _, power = text.replace(",", "").partition("^")
    return int(int(base) ** int(power or 1))


def test_the_page_names_the_limits_of_the_code() -> None:
    table = PAGE.read_text("utf-8").partition("\n## Limits\n")[2].partition("\n## ")[0]
    assert {what: number(most) for what, most, _ in ROW.findall(table)} == LIMITS
    errors = {what for what, _, otherwise in ROW.findall(table) if otherwise == "error"}
    assert errors == BEYOND.keys()
    assert MOST_CHARACTERS == tokens.TEXT_LIMIT


@pytest.mark.parametrize("what", BEYOND)
def test_beyond_it_there_is_an_error_with_its_place(what: str) -> None:
    with pytest.raises(QueryError) as found:
        bind(BEYOND[what], LETTERS, name="q")
    error = found.value
    assert 0 <= error.start <= error.end <= len(error.text)
    assert "^" in str(error)
    assert "LINE 1: " in str(error)
    assert len(str(error)) < 1_000
