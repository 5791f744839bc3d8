"""`saffron.compile`: the check and the plan of a query, without events."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from saffron.api import html
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.explain.chosen import plan_json, plan_text, schema_of
from saffron.engine.operators.aggregates import registered
from saffron.errors import InputError
from saffron.given_files import query_of
from saffron.language import bind, explain_svg
from saffron.language.binder import Bound
from saffron.language.plan.plan import Plan
from saffron.mapping.schema_file import schema_at
from saffron.schema.schema import Schema

SchemaLike = Schema | Mapping[str, Any] | Path | str
"""A schema: read already, a JSON Schema as a dict, or the path of a file with one."""


@dataclass(frozen=True)
class Query:
    """A query checked against its schema. A notebook shows its automaton or template.

    `text`: as written. `schema`: None leaves names of types and attributes unchecked. `given_name`: the query's name
    unless the text has one.
    """

    text: str
    schema: Schema | None
    given_name: str
    lenient: bool = False

    @cached_property
    def _bound(self) -> Bound:
        lenient = self.lenient or self.schema is None
        return bind(self.text, self.schema, name=self.given_name, lenient=lenient, aggregates=frozenset(registered()))

    @property
    def plan(self) -> Plan:
        """The plan that runs: a `MatchPlan` or a `TrendPlan` (language.plan)."""
        return self._bound.plan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about conditions that are probably a mistake, with carets under them."""
        return self._bound.warnings

    @property
    def name(self) -> str:
        return self.plan.name

    def explain(self) -> str:
        """The plan as text: automaton or template with the conditions on edges, window, key, cost and engine."""
        return plan_text(self.plan, schema_of(self.plan, self.schema))

    def to_dict(self) -> dict[str, Any]:
        """The content of `explain` as JSON values."""
        return plan_json(self.plan, schema_of(self.plan, self.schema))

    def svg(self) -> str:
        """The automaton, or template, as an SVG document."""
        return explain_svg(self.plan)

    def __repr__(self) -> str:
        return f"<saffron.Query {self.name}: {html.shortened(self.plan.text, 70)}>"

    def _repr_html_(self) -> str:
        return html.drawing(self.svg(), alt=f"the plan of {self.name}") + html.details("in words", self.explain())


def compile(  # noqa: A001  the name that users know from re.compile
    text: str | Path, schema: SchemaLike | None = None, *, name: str | None = None, lenient: bool = False
) -> Query:
    """Check a query and plan it.

    `text`: the query, or the Path of a file with one. `schema`: of the stream; None: names are not checked.
    `name`: of the query unless its text says QUERY; else the file's stem, or "query".
    `lenient`: names that the schema does not have are warnings (`Query.warnings`), not errors.
    Raises QueryError, with carets under the place; SchemaError; InputError for a file that cannot be read.
    """
    if not isinstance(text, str | Path):
        raise _no_query(text)
    known = None if schema is None else read_schema(schema)
    if isinstance(text, str) and re.fullmatch(r"\S+[./]\S+", text):
        raise InputError(f"{text!r} is no query; if it is a file's path, write Path({text!r})")
    if isinstance(text, Path):
        query = Query(query_of(text), known, name or text.stem, lenient)
    else:
        query = Query(text, known, name or "query", lenient)
    assert query.plan is not None  # planned now, so that errors are raised here
    return query


QueryLike = Query | str | Path
"""A compiled query, a query's text, or the Path of a file with one."""


@dataclass(frozen=True)
class Compiled:
    """Compiled queries. `schema`: of their events; None: it is not known. `lenient`: names it lacks are warnings."""

    queries: Sequence[Query]
    schema: Schema | None
    lenient: bool


def compile_all(queries: QueryLike | Sequence[QueryLike], schema: SchemaLike | None, *, lenient: bool) -> Compiled:
    """The compiled queries, with `schema`, else that of the first query with one, else None.

    They are lenient if asked to, or if one was compiled so. Raises InputError without queries.
    """
    if not isinstance(queries, Query | str | Path | Iterable):
        raise _no_query(queries)
    given = [queries] if isinstance(queries, Query | str | Path | bytes) else list(queries)
    if not given:
        raise InputError("no query: give a text, a Path, or what saffron.compile returned")
    several = len(given) > 1
    compiled = [
        one if isinstance(one, Query) else compile(one, name=f"query{i}" if several and isinstance(one, str) else None)
        for i, one in enumerate(given, 1)
    ]
    known = read_schema(schema) if schema is not None else next((q.schema for q in compiled if q.schema), None)
    return Compiled(compiled, known, lenient or any(query.lenient for query in compiled))


def _no_query(given: object) -> InputError:
    return InputError(f"a query is a {type(given).__name__}; give a text, a Path, or what saffron.compile returned")


def read_schema(schema: SchemaLike) -> Schema:
    """A stream's schema from any of its forms."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return from_json_schema(schema)
    if not isinstance(schema, str | os.PathLike):
        raise InputError(f"a schema is a {type(schema).__name__}; give a dict, a path, or one that was read")
    return schema_at(schema)
