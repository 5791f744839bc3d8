"""The topics of a cluster that streams can be made of."""

from __future__ import annotations

from collections.abc import Iterable

from saffron.control.checks import Refused
from saffron.control.streams.change import StreamContext, require_foreign

_HIDDEN = "__"
"""Kafka's own topics begin so."""


def foreign_topics(names: Iterable[str], now: StreamContext) -> list[str]:
    """The names, in order, without Kafka's and Saffron's own topics."""
    routed = {one.topic for one in now.streams.values() if one.is_routed}
    return sorted(
        name for name in names if not name.startswith(_HIDDEN) and name not in routed and _is_foreign(name, now)
    )


def _is_foreign(name: str, now: StreamContext) -> bool:
    try:
        require_foreign(name, now)
    except Refused:
        return False
    return True
