"""No text of a user's is ever run: what is generated holds numbers of attributes, types and strings, and no names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.kernels import generated
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.language.syntax.lexing.cursor import RESERVED
from saffron.runtime.kernels.warm import Request
from saffron.schema.schema import Kind, Schema

MARK = "ŵ7"
"""In every name and string of a user's, and in nothing else."""
MATCHES = (
    """PATTERN SEQ({A} {a}, {B}+ {b}[])
       WHERE skip-till-next-match {{ [{k}] AND {a}.{s} = '{text}' AND {b}[i].{x} > {a}.{x} }}
       WITHIN 1 h RETURN {a}.{s} AS {n}, count({b}[]) AS {m}""",
    """PATTERN SEQ({A} {a}, ({B} {b} OR {A} {c}), NOT {B} {d}, {B} {e})
       WHERE [{k}] AND {d}.{s} != '{text}' AND {e}.{s} IN ('{text}', 'other')
       WITHIN 1 h RETURN '{text}' AS {n}, {e}.{x} + 1 AS {m}""",
    """PATTERN SEQ({A} {a}, {B}+ {b}[]) WHERE skip-till-any-match {{ {b}[i].{s} > '{text}' }}
       WITHIN 1 h RETURN {a}.{x} AS {n} INTO {M}""",
)
TRENDS = (
    """RETURN {s}, COUNT(*) AS {n}, SUM({A}.{x}) AS {m} PATTERN SEQ({A}+, {B})
       WHERE [{k}] AND {A}.{s} = '{text}' AND {A}.{x} > NEXT({A}).{x} GROUP BY {s} WITHIN 1 h""",
)
NAMES = ("A", "B", "M", "a", "b", "c", "d", "e", "k", "s", "x", "n", "m")
HOSTILE = (
    "__import__", "exec", "import", "lambda", "None", "self", "os", "class", "__builtins__", "numba", "kernel", "e",
    "ª",
)  # fmt: skip
STRINGS = (
    "'); __import__('os').system('true') #", '"""', "\\", "\\'", "\\N{BULLET}", "{0.__class__}", "%s", "$(true)", "\t;",
    "\u2028x", "\x1b[2J", "]]>", "{{", "nan", "1.0",
)  # fmt: skip


@contextmanager
def sources_run() -> Iterator[list[str]]:
    """Every source that is run meanwhile."""
    sources: list[str] = []

    def code(source: str) -> CodeType:
        sources.append(source)
        return compile(source, "plain_kernel", "exec")

    with patch.object(generated, "_code", code):
        yield sources


words = st.one_of(st.sampled_from(HOSTILE), st.from_regex(r"[^\W\d]\w{0,12}", fullmatch=True)).map(
    lambda one: one + MARK
)
names = st.lists(
    words.filter(lambda one: one.lower() not in RESERVED),
    min_size=len(NAMES),
    max_size=len(NAMES),
    unique_by=str.casefold,
)
letters = st.characters(blacklist_categories=("Cs",), blacklist_characters="\n")
strings = st.one_of(st.sampled_from(STRINGS), st.text(letters, max_size=20)).map(lambda one: f"{one}{MARK}{one}")


@settings(max_examples=25, deadline=None)
@given(st.sampled_from((*MATCHES, *TRENDS)), names, strings)
def test_no_name_and_no_string_reaches_what_is_generated(template: str, given_names: list[str], text: str) -> None:
    name = dict(zip(NAMES, given_names, strict=True))
    query = template.format(**name, text=text.replace("'", "''"))
    kinds = {name["k"]: Kind.STRING, name["s"]: Kind.STRING, name["x"]: Kind.FLOAT}
    schema = Schema(kinds, {name[one]: tuple(kinds) for one in "AB"}, {})
    kind = TrendOperator if template in TRENDS else MatchOperator
    request = Request("", f"q-{MARK[1:]}", 1, query, "events", schema_to_record(schema))
    with sources_run() as sources:
        operator = kind(partition=0, stream="events", compiled=False)
        results = operator.apply(request.block())
        list(results.json(0, len(results)))
    assert sources, query
    for source in sources:
        assert MARK not in source, f"{query}\n{source}"
