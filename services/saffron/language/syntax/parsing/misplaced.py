"""Hints for what stands where a clause should begin: a word or a sign of another language, a forgotten comma or AND."""

from __future__ import annotations

from collections.abc import Callable

from saffron.language.syntax.hints import suggestion
from saffron.language.syntax.lexing.cursor import Cursor
from saffron.language.syntax.lexing.tokens import Token
from saffron.language.syntax.parsing.clauses import CLAUSES, STRATEGIES
from saffron.language.syntax.parsing.sizes import unit_suggestion
from saffron.language.syntax.sql import BEHIND, COMMAS, HINTS, SIDE_BY_SIDE, foreign_function

_WORDS = ("and", "or", "as", "slide", "like", "regexp", "between", "in", "into", "is")
"""Words inside clauses, of which one may be meant where a clause should begin."""
_LIKE_A_WORD = 0.75
"""How similar to a keyword a word must be to be taken for it; names, which stand there too, are often short."""
_BEGIN_VALUE = ("(", "[", "!")
"""Signs that begin another condition or value."""


def hint_of_misplaced(cursor: Cursor, before: str) -> str:
    """What may be meant by the token at the cursor, where a clause should begin.

    `before`: the last field of Query that was found, "" at the beginning.
    """
    if before == "within" and cursor.token.lower == "every":
        return "Write WITHIN 1 hour SLIDE 10 minutes for windows that follow each other."
    return HINTS.get(_of_elsewhere(cursor)) or _of_sign(cursor, before) or _of_word(cursor, before)


def _of_elsewhere(cursor: Cursor) -> str:
    """The word or sign at which a reader of another language went wrong: that at the cursor, or EVERY before it."""
    first = next((at for at, token in enumerate(cursor.tokens) if token.lower == "pattern"), -1) + 1
    if cursor.tokens[first].lower == "every":
        return "every"
    token = cursor.token
    pair = cursor.text[token.start : cursor.peek().end]
    return pair if pair in HINTS else cursor.text[token.start : token.end].lower()


def _of_sign(cursor: Cursor, before: str) -> str:
    """The hint of a sign or a number at the cursor, or of what the word before it makes of it."""
    token, last = cursor.token, cursor.tokens[cursor.index - 1] if cursor.index else cursor.token
    if token.is_symbol(","):
        thousands = before == "conditions" and last.kind == cursor.peek().kind == "number"
        return "Write a number without commas: 1000." if thousands else COMMAS.get(before, "")
    if token.is_symbol(")", "]", "}"):
        return "No bracket is open here: leave it out."
    if token.is_symbol("(") and before == "pattern":
        return "Write SEQ(A a, B b) for a sequence, A a AND B b for both in any order, A a OR B b for one of them."
    if last.lower in BEHIND and token.kind in ("string", "number"):
        return BEHIND[last.lower]
    if token.kind == "number" and before == "within":
        return "A duration is one number with its unit: 90 minutes."
    return ""


def _of_word(cursor: Cursor, before: str) -> str:
    """The hint of a word at the cursor."""
    token, last = cursor.token, cursor.tokens[cursor.index - 1] if cursor.index else cursor.token
    if token.kind == "word" and token.lower in STRATEGIES:
        return f"A strategy stands at the beginning of WHERE: WHERE {token.lower} {{ a.x > 1 }}."
    if token.kind == "word" and before and last.kind == "number" and (unit := unit_suggestion(token.value)):
        return unit
    near = suggestion(token.lower, [*CLAUSES, *_WORDS], likeness=_LIKE_A_WORD) if token.kind == "word" else ""
    if not before:
        return f"Clauses: {', '.join(name.upper() for name in CLAUSES if name != 'group-by')}. {near}".rstrip()
    if token.lower in ("and", "or") or (token.lower == "in" and before == "pattern"):
        return BEHIND[token.lower]
    return near or _FORGOTTEN.get(before, _nothing)(cursor, token, last)


def _nothing(cursor: Cursor, token: Token, last: Token) -> str:
    return ""


def _begins_value(cursor: Cursor, token: Token) -> bool:
    """True if another condition or value begins at the cursor: a.x, f(x), (, [, NOT."""
    called = token.kind == "word" and cursor.peek().is_symbol(".", "[", "(")
    return called or token.is_symbol(*_BEGIN_VALUE) or token.lower == "not"


def _of_condition(cursor: Cursor, token: Token, last: Token) -> str:
    if token.lower == "not" and cursor.peek().lower == "null":
        return "Write a.x IS NOT NULL."
    if not cursor.tokens[cursor.index - 2].is_symbol(".") and (written := foreign_function(last.lower)):
        return written
    return SIDE_BY_SIDE["conditions"] if _begins_value(cursor, token) else ""


def _of_pattern(cursor: Cursor, token: Token, last: Token) -> str:
    return HINTS["where"] if _begins_value(cursor, token) else ""


def _of_value(cursor: Cursor, token: Token, last: Token) -> str:
    if token.kind == "word" and not _begins_value(cursor, token):
        return "AS names a value: a.x AS name."
    return SIDE_BY_SIDE["returns"] if _begins_value(cursor, token) else ""


def _of_listed(field: str) -> Callable[[Cursor, Token, Token], str]:
    return lambda cursor, token, last: SIDE_BY_SIDE[field] if token.kind == "word" else ""


_FORGOTTEN: dict[str, Callable[[Cursor, Token, Token], str]] = {
    "pattern": _of_pattern,
    "conditions": _of_condition,
    "having": _of_condition,
    "returns": _of_value,
    "consume": _of_listed("consume"),
    "group": _of_listed("group"),
}
"""Field of Query -> the hint for what follows it without a comma or an AND."""
