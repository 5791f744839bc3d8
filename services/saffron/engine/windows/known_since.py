"""Positions from which on names of a stream are known, of names that came with a later version of its schema.

Blocks before that position have null for such an attribute, and no event of such a type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from saffron.carets import quoted
from saffron.engine.operators.composition import types_of
from saffron.language.plan.plan import Plan
from saffron.language.syntax.paths import own_name
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class KnownSince:
    """Positions by attribute and by event type; names that the first version had are left out."""

    attributes: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any] | None) -> KnownSince:
        """The state from a checkpoint; None: from one of version 0.1.0, where schemas did not grow."""
        return cls() if record is None else cls(dict(record["attributes"]), dict(record["types"]))

    def record(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"attributes": dict(self.attributes), "types": dict(self.types)}

    def after(self, before: Schema, schema: Schema, position: int) -> KnownSince:
        """The names so far, and those that `schema` adds to `before`, known since `position`."""
        attributes = {name: position for name in schema.kinds if name not in before.kinds}
        types = {name: position for name in schema.types if name not in before.types}
        return replace(self, attributes={**attributes, **self.attributes}, types={**types, **self.types})

    def first_version(self, schema: Schema) -> Schema:
        """The schema without later additions, as one that grows."""
        types = {
            name: tuple(one for one in own if one not in self.attributes)
            for name, own in schema.types.items()
            if name not in self.types
        }
        kinds = {name: kind for name, kind in schema.kinds.items() if name not in self.attributes}
        return Schema(kinds, types, {}, times=schema.times)

    def report(self, plan: Plan) -> str:
        """The sentence on the names of a plan that came later; "" if none did. `plan`: bound to the first version."""
        later = {
            f"attribute {quoted(own_name(one))}": self.attributes[one] for one in plan.unseen if one in self.attributes
        }
        types = sorted(types_of(plan) & self.types.keys())
        later |= {f"event type {quoted(one)}": self.types[one] for one in types}
        later = {name: position for name, position in later.items() if position > 0}  # before 0 there is nothing
        if not later:
            return ""
        known = ", ".join(f"{name} from {position}" for name, position in later.items())
        return f"known only from these positions on, and null or unseen before: {known}"
