"""The condition `where` of a source: the language's own expressions over the fields of a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from saffron.engine.match.output.returns import evaluator
from saffron.language.plan.expressions import Attribute, Which
from saffron.language.scope.functions import refuse_own
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import Sort, Typed
from saffron.language.scope.typed import bind_condition
from saffron.language.syntax import tree
from saffron.language.syntax.lexing.cursor import RESERVED
from saffron.language.syntax.lexing.tokens import NAME_QUOTES, is_word, string_text
from saffron.language.syntax.parsing.parser import parse_condition
from saffron.language.syntax.sql import is_null, null_hint
from saffron.language.syntax.tree import Span
from saffron.mapping.message import Number
from saffron.mapping.paths import MISSING
from saffron.schema.computed import Computed
from saffron.schema.numbers import number_of_text
from saffron.schema.schema import Kind

_TRUTHS = ("true", "false")
Passes = Callable[[Mapping[str, Any]], bool]
"""A predicate on a message's object, as `message.parse` makes it."""


@lru_cache(maxsize=256)
def condition(text: str, *, texts: bool = False) -> Passes:
    """The condition that a text writes. `texts`: all values of a message are texts, as cells of CSV.

    A value is null where the path leads nowhere, to an object or to an array. A comparison with null, or of values of
    two kinds, is false. QueryError: the text writes no condition.
    """
    sort, kind = (Sort.STRING, Kind.STRING) if texts else (Sort.UNKNOWN, Kind.FLOAT)
    scope = _Strict(text, None, False)
    written = parse_condition(text)
    expr = bind_condition(written, scope, lambda leaf: _leaf(leaf, scope, sort, kind))
    refuse_own(written, scope)
    evaluate = evaluator(expr, _value)
    return lambda whole: evaluate(((whole,),)) is True  # type: ignore[arg-type]


class _Strict(Scope):
    """The scope of a condition without variables, where conditions that are always false are errors."""

    def warn(self, message: str, span: Span, hint: str = "") -> None:
        raise self.schema_error(message, span, hint)


def _leaf(leaf: tree.Expression, scope: Scope, sort: Sort, kind: Kind) -> Typed:
    """A path as an attribute of the only event that there is."""
    if not isinstance(leaf, tree.Reference):
        hint = "Paths to fields stand in it, as in: source.table = 'orders' AND after.total > 5."
        raise scope.schema_error("a condition on a message has no keys, aggregates or NEXT", leaf.span, hint)
    path, quoted = leaf.variable, scope.text[leaf.span.start] in NAME_QUOTES
    if is_null(path) and not quoted:
        raise scope.schema_error(f"{path} is no value to compare with", leaf.span, null_hint("x"))
    if quoted and not _needs_quotes(path):
        hint = f"What stands in double quotes is a name; strings stand in single ones: {string_text(path)}."
        raise scope.schema_error(f"{path[:40]} needs no quotes as a field", leaf.span, hint)
    return Typed(Attribute(0, Which.SINGLE, path, kind), sort)


def _needs_quotes(name: str) -> bool:
    """True if a field of this name is written in quotes."""
    return not is_word(name) or is_null(name) or name.lower() in RESERVED or name.lower() in _TRUTHS


def _value(name: str, whole: Any) -> Any:
    """The value of a field, or of what is computed from fields, as the language has it; None: null."""
    one = Computed.of_name(name)
    if one is not None:
        return one.of(lambda field: _field(field, whole))
    found = _field(name, whole)
    return None if isinstance(found, list) else found


def _field(name: str, whole: Any) -> Any:
    """The value of a field, arrays as lists; None for null, objects, and what is not there."""
    found = _found(whole, name.split("."))
    return _numbered(found) if isinstance(found, bool | str | list) else None


def _numbered(value: Any) -> Any:
    """A parsed value with the numbers that its texts of numbers are."""
    if isinstance(value, Number):
        return number_of_text(value)
    if isinstance(value, list):
        return [_numbered(one) for one in value]
    return {name: _numbered(one) for name, one in value.items()} if isinstance(value, dict) else value


def _found(value: Any, words: Sequence[str]) -> Any:
    """The value at a dotted name, in whichever objects its words are; MISSING if none. The flat name counts first,
    unless it is null.
    """
    if not isinstance(value, Mapping):
        return MISSING
    whole = ".".join(words)
    if value.get(whole) is not None:
        return value[whole]
    for count in range(1, len(words)):
        inner = value.get(".".join(words[:count]))
        if inner is not None and (found := _found(inner, words[count:])) is not MISSING:
            return found
    return MISSING
