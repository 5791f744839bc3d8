"""PUBLISH ... AS: the row that a query's results become, and checks of its names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from saffron.carets import quoted
from saffron.language.plan.clauses import ReturnItem, Window
from saffron.language.plan.row import Row, RowField, RowType
from saffron.language.scope.composition import kind_of
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree
from saffron.schema.schema import Kind

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPES = {
    Kind.INT: RowType.LONG,
    Kind.LONG: RowType.LONG,
    Kind.BOOL: RowType.BOOLEAN,
    Kind.STRING: RowType.STRING,
    Kind.ARRAY: RowType.STRING,
}
_HEAD = (
    RowField("id", RowType.STRING, required=True),
    RowField("query", RowType.STRING, required=True),
    RowField("partition", RowType.LONG, required=True),
)
_DETECTED = RowField("detected_at", RowType.TIMESTAMP, required=True)


def match_row(
    query: tree.Query, name: str, returns: Sequence[ReturnItem], window: Window, scope: Scope, *, imprecise: bool
) -> Row | None:
    """The row of a match query; None without AS. QueryError: its results are no rows."""
    publish = query.publish
    if publish is None or publish.form is None:
        return None
    if query.output is not None and (query.output.timeouts or query.output.mode == "COMPRESSED"):
        hint = "Leave AS out: the messages then are the results as JSON."
        raise scope.plan_error("a row has the values of one match", query.output.span, hint)
    span = (RowField("start", RowType.TIMESTAMP, required=True), RowField("end", RowType.TIMESTAMP, required=True))
    windows = () if window.slide is None and window.opens is None else _window(window)
    chance = (RowField("confidence", RowType.DOUBLE),) if imprecise else ()
    items = query.returns.items if query.returns else ()
    spans = [item.span for item in items]
    values = _values(((item.name, kind_of(item.expr)) for item in returns), spans, "return", scope)
    return _row(publish, name, (*_HEAD, *span, *windows), values, (*chance, _DETECTED), spans, scope)


def trend_row(
    query: tree.Query,
    name: str,
    groups: Sequence[tuple[str, Kind]],
    returns: Sequence[ReturnItem],
    window: Window,
    scope: Scope,
) -> Row | None:
    """The row of an aggregate query; None without AS. QueryError: its results are no rows."""
    publish = query.publish
    if publish is None or publish.form is None:
        return None
    spans = [one.span for one in query.group]
    values = _values(groups, spans, "group", scope)
    assert query.returns is not None
    returned = [query.returns.span] * len(returns)
    exact = query.exact is not None  # integers of any size are texts
    kinds = ((item.name, Kind.STRING if exact else kind_of(item.expr)) for item in returns)
    values += _values(kinds, returned, "return", scope)
    tail = (RowField("exact", RowType.BOOLEAN, required=True), RowField("shed", RowType.LONG), _DETECTED)
    return _row(publish, name, (*_HEAD, *_window(window)), values, tail, [*spans, *returned], scope)


def _window(window: Window) -> tuple[RowField, ...]:
    kind = RowType.LONG if window.events else RowType.TIMESTAMP
    return RowField("window_start", kind, required=True), RowField("window_end", kind, required=True)


def _values(found: Iterable[tuple[str, Kind]], spans: Sequence[tree.Span], part: str, scope: Scope) -> list[RowField]:
    """The fields of values. QueryError: one has a name that no column can have."""
    fields = []
    for (name, kind), span in zip(found, spans, strict=True):
        if not _NAME.fullmatch(name):
            hint = "A field has letters, digits and _: name the value, ... AS name."
            raise scope.plan_error(f"{quoted(name)} is no name of a row's field", span, hint)
        fields.append(RowField(name, _TYPES.get(kind, RowType.DOUBLE), part=part))
    return fields


def _row(
    publish: tree.Publish,
    name: str,
    head: tuple[RowField, ...],
    values: Sequence[RowField],
    tail: tuple[RowField, ...],
    spans: Sequence[tree.Span],
    scope: Scope,
) -> Row:
    """The row of these fields. QueryError: two have one name, in capitals or not."""
    seen = {field.name.lower() for field in (*head, *tail)}
    for field, span in zip(values, spans, strict=True):
        if field.name.lower() in seen:
            hint = "Every row has fields of its own, and databases do not tell capitals: name this one otherwise."
            raise scope.plan_error(f"a row has two fields {quoted(field.name)}", span, hint)
        seen.add(field.name.lower())
    assert publish.form is not None
    return Row(publish.form, name, (*head, *values, *tail))
