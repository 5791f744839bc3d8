"""Orders to the matcher to drop partial matches: how many may stay, by query, and by which utilities (P8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.shed.drops.utility_tables import UtilityTables
from saffron.engine.shed.known import Known
from saffron.engine.shed.load.detector import READER

_MOSTLY = 0.5
"""Belief from which on partial matches of a query compare with those of others."""
_TRACKED_MORE = 4.0
"""The factor on the share of tracked partial matches where drops are drawn at random: tracking costs nothing then, and
shows sooner whether the model is right.
"""


def keep_orders(known: Known, keep: int, tables: UtilityTables) -> tuple[Mapping[str, Any], ...]:
    """Bodies of "keep" records. `keep`: partial matches that may stay, each of the mean cost.

    One order is over all queries whose utilities compare and are believed, one over those that are hardly believed, and
    one over those without utilities.
    """
    alive, droppable = known.detector.partial_matches.get(READER, {}), known.droppable()
    whole = sum(alive[name] for name in droppable)
    keep = keep * whole // known.within
    bodies = {name: tables.of(name, order) for name, order in droppable.items()}
    orders = []
    for believed in (True, False, None):
        group = {name: one for name, one in bodies.items() if _is_believed(known, name, one) is believed}
        if group:
            within = sum(alive[name] for name in group)
            evenly = 1.0 - sum(alive[name] * known.believed[name].partial for name in group) / within
            drawn = {"evenly": evenly} if believed is not None and evenly > 0 else {}
            exempt = {
                "exempt": known.settings.retained,
                "exempt_seed": known.settings.seed,
                "followed": known.settings.tracked * (1.0 + _TRACKED_MORE * drawn.get("evenly", 0.0)),
            }
            orders.append({"n": int(keep * within / whole), **exempt, **drawn, "queries": group})
    return tuple(orders)


def _is_believed(known: Known, name: str, body: Mapping[str, Any]) -> bool | None:
    """True if the query's utilities are believed; None: the order has none."""
    return None if body["by"] == "random" else known.believed[name].partial >= _MOSTLY
