"""The tokenizer. It knows words, not keywords: the grammar decides where a word is a keyword."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from saffron.errors import QueryError

TEXT_LIMIT = 64 * 1024
"""Longest query, in bytes of UTF-8."""
TOKEN_LIMIT = 4096
"""Most tokens of a query. It bounds the time to parse or refuse any text to a tenth of a second."""
NUMBER_LIMIT = 40
"""Longest number, in characters."""


class Token(NamedTuple):
    """A token. `kind`: "word", "number", "string", "symbol" or "end". [start, end): its offsets in the text.

    `value`: the canonical spelling of a symbol, the digits of a number, the content of a string or a quoted name, or
    the word as written. Hyphenated keywords are in lower case with plain hyphens.
    `lower`: a word in lower case, to compare with keywords. It is "" for other tokens and for names in double quotes,
    which are words but never keywords.
    """

    kind: str
    value: str
    start: int
    end: int
    lower: str = ""

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind == "symbol" and self.value in symbols


QUOTE = '"'
"""The sign on both sides of a name that is no word."""
NAME_QUOTES = ('"', "\u201c")
"""Signs that may begin a quoted name."""

SPELLINGS = {
    "==": "=",
    "<>": "!=",
    "≠": "!=",
    "≥": ">=",
    "≤": "<=",
    "×": "*",
    "−": "-",
    ";": ",",
    "~": "!",
    "∼": "!",
    "¬": "!",
    "∧": "&",
    "^": "&",
    "∨": "|",
    "∪": "|",
}
"""Other spelling of a symbol, in the papers or in common use -> its canonical spelling."""

_DASH = "[-_\u2010\u2011]"
_TOKEN = re.compile(
    rf"""
      (?P<space> (?: \s | \ufeff | --[^\n]* )+ )
    | (?P<keyword> (?i: (?: skip{_DASH}till{_DASH}(?:next|any){_DASH}match | (?:strict|partition){_DASH}contiguity
                          | group[-\u2010\u2011]by | non[-\u2010\u2011]overlap )) (?!\w) )
    | (?P<word> [^\W\d]\w* )
    | (?P<name> "(?:[^"\n]|"")*+" | \u201c[^\u201d\n]*\u201d )
    | (?P<number> [0-9]+ (?: \.[0-9]+ )? (?: [eE][+-]?[0-9]+ )? )
    | (?P<string> '(?:[^'\n]|'')*+' | \u2018[^\u2019\n]*\u2019 )
    | (?P<symbol> \.\. | \|\| | <= | >= | != | <> | == | [-=<>+*/%?()\[\]{{}},;.|&!~^≠≥≤×−∼¬∧∨∪] )
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d]\w*")


def tokenize(text: str) -> list[Token]:
    """All tokens of `text`; the last one has kind "end".

    Raises QueryError (stage "syntax") for a text that is too long, an unknown character, or an unclosed string.
    """
    _check_size(text)
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _unexpected(text, position)
        position = found.end()
        kind = found.lastgroup
        if kind != "space":
            if len(tokens) == TOKEN_LIMIT:
                raise _too_long(f"{TOKEN_LIMIT} words and signs", text, found.start())
            tokens.append(_token(str(kind), found.group(), found.start(), text))
    end = tokens[-1].end if tokens else 0
    tokens.append(Token("end", "", end, end))
    return tokens


def _token(kind: str, value: str, start: int, text: str) -> Token:
    """The token of a match of the regular expression; QueryError for a number that is too long."""
    end = start + len(value)
    if kind == "word":
        return Token(kind, value, start, end, value.lower())
    if kind == "name":
        return Token("word", _content(value), start, end)
    if kind == "symbol":
        return Token(kind, SPELLINGS.get(value, value), start, end)
    if kind == "string":
        return Token(kind, _content(value), start, end)
    if kind == "keyword":
        word = re.sub(_DASH, "-", value.lower())
        return Token("word", word, start, end, word)
    if kind == "number" and len(value) > NUMBER_LIMIT:
        raise QueryError(
            f"a number of {len(value)} characters", stage="syntax", text=text, start=start, end=end,
            hint=f"A number has at most {NUMBER_LIMIT} characters.",
        )  # fmt: skip
    return Token(kind, value, start, end)


def _content(value: str) -> str:
    """The text between quotes, with doubled plain quotes inside made single."""
    quote = value[0]
    return value[1:-1].replace(quote * 2, quote) if quote in "'\"" else value[1:-1]


def is_word(name: str) -> bool:
    """True if a name needs no quotes, unless it is a keyword."""
    return _WORD.fullmatch(name) is not None


def name_text(name: str, *, taken: frozenset[str] = frozenset()) -> str:
    """A name as a query writes it: in double quotes if it is no word, or one of the words `taken` (lower case)."""
    bare = is_word(name) and name.lower() not in taken
    return name if bare else QUOTE + name.replace(QUOTE, QUOTE * 2) + QUOTE


def string_text(value: str) -> str:
    """A string as a query writes it, in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def name_end(text: str, start: int, name: str) -> int:
    """Offset where the name that begins at `start` ends in the text, with its quotes if it has any."""
    found = _TOKEN.match(text, start)
    return found.end() if found is not None and found.lastgroup == "name" else start + len(name)


def _check_size(text: str) -> None:
    """Raise QueryError for a text beyond TEXT_LIMIT, or one that is no valid Unicode."""
    try:
        size = len(text) if len(text) > TEXT_LIMIT else len(text.encode())
    except UnicodeEncodeError as error:
        raise QueryError(
            "the text holds half of a character (a lone surrogate)",
            stage="syntax", text=text, start=error.start, end=error.end, hint="Save the query as UTF-8.",
        ) from None  # fmt: skip
    if size > TEXT_LIMIT:
        raise _too_long(f"{TEXT_LIMIT // 1024} kB", text, 0)


def _too_long(limit: str, text: str, position: int) -> QueryError:
    hint = "Is this the right file? Long lists of values belong into the events, not into the query."
    message = f"the query is longer than {limit}"
    return QueryError(message, stage="syntax", text=text, start=position, end=position, hint=hint)


_STRING = ("string", "Close it with a single quote; a quote inside a string is written twice: 'it''s'.")
_NAME = ("name", "Close it with a double quote; one inside a name is written twice. Strings stand in single quotes.")
_IN_NAME = re.compile(r"\w:[^\W\d]")
_OPENING = {"'": _STRING, "\u2018": _STRING, '"': _NAME, "\u201c": _NAME}


def _unexpected(text: str, position: int) -> QueryError:
    """The error of a character that begins no token, or of a quote that is not closed."""
    character = text[position]
    end = position + 1
    if character in _OPENING:
        line_end = text.find("\n", position)
        end = len(text) if line_end < 0 else line_end
        what, hint = _OPENING[character]
        return QueryError(
            f"a {what} that does not end on its line", stage="syntax", text=text, start=position, end=end, hint=hint
        )
    if character == "\\":
        hint = "A quote inside a string is written twice: 'it''s'."
    elif text.startswith("::", position):
        hint = "A value is cast by CAST(a.x AS string)."
    elif character in "\u2019\u201d":
        hint = "Strings stand in straight quotes: 'abc'."
    elif character == "#":
        hint = "A comment begins with --."
    elif character == ":" and not _IN_NAME.search(text, max(0, position - 1), position + 2):
        hint = "A query has no colons: write A a for a type and its variable, a.x AS x for a value and its name, {2,3}."
    elif character in "$@:`":
        hint = 'A name of other characters than letters, digits and _ stands in double quotes: "user-id".'
    else:
        hint = ""
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    described = f"{shown!r} ({name})" if name and not character.isascii() else repr(shown)
    return QueryError(
        f"unexpected character {described}", stage="syntax", text=text, start=position, end=end, hint=hint
    )
