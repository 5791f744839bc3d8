"""Look-ups, slow: all messages of a table are gone through for each event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

Change = tuple[Any, Mapping[str, Any] | None]
"""A row's key and the row; None: it is no longer."""


def looked_up(event: Mapping[str, Any], adds: Mapping[str, tuple[str, str | None]], changes: Sequence[Change]) -> Any:
    """The event with attributes of one table. `adds`: by name the event's attribute with the key, and what is taken."""
    found = {name: value for name, value in event.items() if name not in adds}
    for name, (key, take) in adds.items():
        own = event.get(key)
        if own is None:
            continue
        row = None
        for other, new in changes:
            if _text(other) == _text(own):
                row = new
        if take is None:
            found[name] = row is not None
        elif row is not None and row.get(take) is not None:
            found[name] = row[take]
    return found


def _text(key: Any) -> str:
    """The text of a key: equal numbers have one."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        exact = Decimal(str(key))
        return str(int(exact)) if exact == int(exact) else str(key)
    return str(key)
