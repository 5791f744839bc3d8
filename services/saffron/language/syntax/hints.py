"""Hints about names in error messages: the known names, and the most similar one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence

from saffron.carets import NAME_LIMIT, printable, quoted
from saffron.language.syntax.lexing.tokens import QUOTE, name_text
from saffron.language.syntax.paths import attribute_text

LISTED = 20
"""Most names that a sentence lists."""
_TIMES = frozenset({"time", "event_time", "eventtime", "rowtime"})
"""An event's time, as others call it, in lower case."""
BEGINNING = 3
"""Fewest characters by which a name is recognized that begins with them."""
CANDIDATES = 1000
"""Most names searched for a similar one; the search costs microseconds for each."""


def suggestion(name: str, known: Iterable[str], shown: Callable[[str], str] = str, likeness: float = 0.6) -> str:
    """`Did you mean 'price'?`, or "" if no known name is similar, and none alone begins with it.

    `shown`: how to write a known name. `likeness`: how similar it must be, from 0 to 1.
    """
    names = list(known)[:CANDIDATES]
    if len(name) > NAME_LIMIT or name in names:
        return ""
    folded = {known_name.casefold(): known_name for known_name in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=likeness)
    if not near and len(name) >= BEGINNING:
        longer = [one for one in folded if one.startswith(name.casefold())]
        near = longer if len(longer) == 1 else []
    written = shown(folded[near[0]]) if near else ""
    return f"Did you mean {written if written.startswith(QUOTE) else quoted(written)}?" if near else ""


def listing(names: Sequence[str], shown: Callable[[str], str] = name_text) -> str:
    """Names in a row, at most LISTED of them: `symbol, price, volume`. `shown`: how to write a name."""
    written = ", ".join(printable(shown(name)) for name in names[:LISTED])
    return f"{written} and {len(names) - LISTED} more" if len(names) > LISTED else written


def known_names(owner: str, names: Sequence[str], name: str) -> str:
    """The hint for an unknown name: `Stock has: symbol, price. Did you mean 'price'?`."""
    if not names:
        return f"{owner}: none."
    parts = [f"{owner}: {listing(names)}.", suggestion(name, names, name_text)]
    return " ".join(part for part in parts if part)


def structure(names: Sequence[str], arrays: Collection[str], name: str) -> str:
    """The hint for a name that is an object's, or a field's inside an array or a plain value; "" if it is neither."""
    fields = [one for one in names if one.startswith(f"{name}.")]
    if fields:
        return f"It is an object; its fields are: {listing(fields, attribute_text)}."
    steps = name.split(".")
    around = [".".join(steps[:end]) for end in range(1, len(steps)) if ".".join(steps[:end]) in names]
    if not around:
        return ""
    first = attribute_text(around[0])
    if around[0] not in arrays:
        return f"{quoted(first)} is a value, which has no fields."
    inner = attribute_text(name[len(around[0]) + 1 :])
    return f"{quoted(first)} is an array: {first}[1].{inner} reads its first element."


def near_attribute(names: Sequence[str], name: str) -> str:
    """The hint of an attribute that may be meant: the whole path of a field, the most similar name, or ts."""
    paths = [one for one in names if one.endswith(f".{name}")]
    if paths:
        return f"Did you mean {listing(paths[:1], attribute_text)}?"
    return suggestion(name, names, attribute_text) or ("An event's time is ts." if name.lower() in _TIMES else "")


def known_attributes(owner: str, names: Sequence[str], arrays: Collection[str], name: str) -> str:
    """The hint for an unknown attribute: its place in a nested message, or the known names and the nearest."""
    if hint := structure(names, arrays, name):
        return hint
    if not names:
        return f"{owner}: none. {near_attribute(names, name)}".rstrip()
    return f"{owner}: {listing(names, attribute_text)}. {near_attribute(names, name)}".rstrip()
