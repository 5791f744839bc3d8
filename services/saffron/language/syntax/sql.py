"""Hints for users who write SQL, or the language of another engine: words and signs that are none here, and null."""

from __future__ import annotations

from collections.abc import Mapping

_NULL_HINT = "A comparison with null is false: write {name} IS NULL or {name} IS NOT NULL."
_NULLS = frozenset({"null", "none", "nil", "undefined"})

HINTS: Mapping[str, str] = {
    "ilike": "There is no ILIKE: write lower(a.x) LIKE 'abc%'.",
    "similar": "There is no SIMILAR TO: write a.x REGEXP '^(a|b)$'.",
    "limit": "There is no LIMIT: OUTPUT FIRST gives the first match of each window.",
    "order": "There is no ORDER BY: results come in the order of the events that complete them.",
    "join": "There is no JOIN: a pattern relates events of one stream, as in SEQ(A a, B b) WHERE a.x = b.x.",
    "followed": "Write a sequence as SEQ(A a, B b).",
    "->": "Write a sequence as SEQ(A a, B b).",
    "~": "Write a.x REGEXP '^abc' for a regular expression, NOT a.x = 1 for what must not hold.",
    "&&": "Conditions are joined by AND.",
    "every": "Matches begin at every event that fits: leave EVERY out.",
    "select": "There is no SELECT: RETURN says what a result holds, as in RETURN a.x AS x.",
}
"""Word in lower case, or sign -> what to write instead."""


def is_null(name: str) -> bool:
    """Whether a bare name is a spelling of null in SQL or a programming language."""
    return name.lower() in _NULLS


def null_hint(read: str) -> str:
    """The hint for a comparison with null. `read`: an attribute as the query would write it, such as a.x."""
    return _NULL_HINT.format(name=read)
