"""The text of an error in a query: the sentence, the line, carets under the whole range, and a hint."""

from __future__ import annotations

import unicodedata

COLUMNS = 100
"""Display columns of a query's line that are shown; a longer line is cut around the range."""
TAB = "    "
CUT = "..."
NAME_LIMIT = 60
"""Longest name from the user's text that a sentence quotes whole."""


def render(message: str, *, text: str, start: int, end: int, hint: str, label: str = "query error") -> str:
    """The full error: `query error: ...`, `LINE n: ...`, a line of carets, and the hint's lines.

    `start` and `end` are character offsets into `text`, end exclusive; a range over several lines is underlined
    on its first one, an empty range gets one caret.
    """
    start = max(0, min(start, len(text)))
    end = max(start, min(end, len(text)))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    line = text[line_start:line_end].rstrip("\r")
    first = min(start - line_start, len(line))
    last = min(end - line_start, len(line))
    shown, column, width = _window(line, first, last)
    prefix = f"LINE {text.count(chr(10), 0, line_start) + 1}: "
    carets = " " * (len(prefix) + column) + "^" * width
    lines = [f"{label}: {message}", prefix + shown, carets]
    if hint:
        lines.extend(hint.splitlines())
    return "\n".join(lines)


def _window(line: str, first: int, last: int) -> tuple[str, int, int]:
    """The part of `line` around [first, last) that is shown, the display column of `first`, and the carets' number."""
    left, right = _cuts(line, first, last)
    before = (CUT if left else "") + printable(line[left:first])
    inside = printable(line[first : min(last, right)])
    after = printable(line[max(first, min(last, right)) : right]) + (CUT if right < len(line) else "")
    return (before + inside + after).rstrip(), display_width(before), max(1, display_width(inside))


def _cuts(line: str, first: int, last: int) -> tuple[int, int]:
    """The part [left, right) of a line that fits COLUMNS, with the range in the middle and its start always inside."""
    if len(line) <= COLUMNS and display_width(printable(line)) <= COLUMNS:
        return 0, len(line)
    budget = COLUMNS - 2 * len(CUT)
    right, used = first, 0
    while right < len(line) and right < last and used + _width(line[right]) <= budget:
        used += _width(line[right])
        right += 1
    left, half = first, used + (budget - used) // 2
    while left > 0 and used + _width(line[left - 1]) <= half:
        left -= 1
        used += _width(line[left])
    while right < len(line) and used + _width(line[right]) <= budget:
        used += _width(line[right])
        right += 1
    while left > 0 and used + _width(line[left - 1]) <= budget:
        left -= 1
        used += _width(line[left])
    return left, right


def printable(text: str) -> str:
    """Tabs widened; control, format and surrogate characters, which could play tricks on a terminal, replaced."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(TAB if c == "\t" else "\ufffd" if unicodedata.category(c)[0] == "C" else c for c in text)


def _width(character: str) -> int:
    return display_width(printable(character))


def display_width(text: str) -> int:
    """Columns that printable text takes on a terminal: 2 for wide characters, 0 for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def quoted(name: str) -> str:
    """A piece of the user's text in a sentence: in quotes, printable, cut when it is long."""
    short = name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - len(CUT)] + CUT
    return f"'{printable(short)}'"
