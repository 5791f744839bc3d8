"""Functions of text, whose characters are Unicode code points, counted from 1."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

LONGEST = 1_000_000
"""Characters that a function makes at most: of more the value is null."""
PATTERN_LIMIT = 10_000


def lower(text: str) -> str:
    return text.lower()


def upper(text: str) -> str:
    return text.upper()


def trim(text: str, characters: str = " ") -> str:
    return text.strip(characters) if characters else text


def substring(text: str, start: float, length: float | None = None) -> str | None:
    """The part of a text from character `start` (1-based) on, of `length` characters.

    Places before the first count towards the length, as in SQL.
    """
    first = _whole(start)
    count = None if length is None else _whole(length)
    if first is None or (length is not None and (count is None or count < 0)):
        return None
    end = None if count is None else max(first + count - 1, 0)
    return text[max(first - 1, 0) : end]


def position(text: str, part: str) -> int:
    """The 1-based place of a part's first occurrence in a text; 0 if there is none."""
    return text.find(part) + 1


def replace(text: str, old: str, new: str) -> str | None:
    """The text with every `old` replaced; the text itself for an empty `old`."""
    if not old:
        return text
    if len(new) > len(old) and len(text) + text.count(old) * (len(new) - len(old)) > LONGEST:
        return None
    return text.replace(old, new)


def split_part(text: str, separator: str, number: float) -> str | None:
    """The part with this number (negative: from the end); '' where there is none."""
    place = _whole(number)
    if not place:
        return None
    parts = text.split(separator) if separator else [text]
    place = place - 1 if place > 0 else place + len(parts)
    return parts[place] if 0 <= place < len(parts) else ""


def concat(*texts: str) -> str | None:
    return "".join(texts) if sum(map(len, texts)) <= LONGEST else None


def starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


def ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


def like(text: str, pattern: str, escape: str = "") -> bool:
    """True if the whole text is like the pattern: % is any text, _ one character, as they are behind `escape`."""
    return _like(pattern, escape).fullmatch(text) is not None


def regexp(text: str, pattern: str) -> bool:
    """True if a part of the text matches a regular expression of RE2, in time linear in the text."""
    return _regexp(pattern).search(text) is not None


def wrong_like(pattern: str) -> str:
    """The error of a pattern of LIKE; "" if it is right."""
    return f"a pattern has at most {PATTERN_LIMIT:,} characters" if len(pattern) > PATTERN_LIMIT else ""


def wrong_escape(escape: str) -> str:
    """The error of a character behind ESCAPE; "" if it is right."""
    return "" if len(escape) == 1 else "ESCAPE takes one character"


def wrong_regexp(pattern: str) -> str:
    """The error of a regular expression; "" if it is right."""
    import re2

    try:
        _regexp(pattern)
    except re2.error as error:
        why = error.args[0]
        return f"no regular expression: {why.decode(errors='replace') if isinstance(why, bytes) else why}"
    return ""


@lru_cache(maxsize=256)
def _regexp(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


@lru_cache(maxsize=256)
def _like(pattern: str, escape: str) -> _Like:
    return _Like(pattern, escape)


class _Like:
    """A pattern of LIKE as its pieces between %: the first begins the text, the last ends it, others lie between.

    Each piece is sought where it first fits, so that the time is at most that of text times pattern.
    """

    def __init__(self, pattern: str, escape: str) -> None:
        pieces, piece, escaped = [], "", False
        for sign in pattern:
            if escaped:
                piece, escaped = piece + re.escape(sign), False
            elif sign == escape:
                escaped = True
            elif sign == "%":
                pieces.append(piece)
                piece = ""
            else:
                piece += "." if sign == "_" else re.escape(sign)
        if escaped:
            piece += re.escape(escape)
        self._pieces = [re.compile(one, re.DOTALL) for one in (*pieces, piece)]
        self._last = re.compile(piece + r"\Z", re.DOTALL)
        self._tail = _length(piece)

    def fullmatch(self, text: str) -> Any:
        """A match if the whole text is like the pattern."""
        if len(self._pieces) == 1:
            return self._pieces[0].fullmatch(text)
        found = self._pieces[0].match(text)
        for piece in self._pieces[1:-1]:
            found = None if found is None else piece.search(text, found.end())
        if found is None or len(text) - self._tail < found.end():
            return None
        return self._last.match(text, len(text) - self._tail)


def _length(piece: str) -> int:
    """The number of characters that a piece of a pattern matches."""
    return len(re.sub(r"\\(.)", r"\1", piece, flags=re.DOTALL))


def _whole(number: float) -> int | None:
    """A number that is whole, within 32 bits."""
    return int(number) if abs(number) < 2**31 and number == int(number) else None
