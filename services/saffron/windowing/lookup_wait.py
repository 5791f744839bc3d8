"""The wait of a query that looks up in tables (`a.x IN t`), until the events to come are looked up for it."""

from __future__ import annotations

from saffron.engine.windows.operator import WindowingOperator
from saffron.language.syntax.table_lookups import lookups_of

HELD_MS = 2_000
"""The longest wait for held events that were read before it. On a quiet stream they stay held."""


class LookupWait:
    """The waits of the queries of one partition."""

    def __init__(self, operator: WindowingOperator) -> None:
        self._operator = operator
        self._heard_at: dict[str, int] = {}

    def reason(self, name: str, text: str, now_ms: int) -> str | None:
        """Why a query cannot begin yet, as a sentence; None: it can."""
        operator = self._operator
        asked = lookups_of(text, operator.stream)
        if not asked:
            return None
        said, held = operator.lookups
        if missing := sorted({one.table for one in asked if one.name not in said}):
            self.forget(name)
            return (
                f"events are not looked up in {', '.join(missing)} yet: a source partition is still to be heard of, or "
                "the stream has no such table (`saffron stream show`)"
            )
        if held and now_ms - self._heard_at.setdefault(name, now_ms) < HELD_MS:
            return "events that were read before it are to pass first"
        return None

    def forget(self, name: str) -> None:
        """Forget a query: it waits no longer."""
        self._heard_at.pop(name, None)
