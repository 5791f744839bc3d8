"""The part of a reader's load that is about queries in force: a load may come late, and be of a former query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.shed.drops.view import View

_COUNTED = ("nanoseconds", "found", "loss", "loss_ratio", "sampled", "false", "compared", "trials", "traced")
"""Fields that count, by query, from its beginning."""


def load_of_now(load: Mapping[str, Any], view: View) -> Mapping[str, Any]:
    """The load (schemas/load.yaml) without counts of queries that are gone, or of earlier versions.

    A reader counts anew from the position at which a version begins; at that very position it may not have begun yet.
    """
    position = load.get("position")
    behind = position if type(position) is int else -1
    counted = {name: load[name] for name in _COUNTED if isinstance(load.get(name), Mapping)}
    present = {query for query in view.queries if view.since.get(query, -2) < behind}
    return {**load, **{name: {q: one for q, one in own.items() if q in present} for name, own in counted.items()}}
