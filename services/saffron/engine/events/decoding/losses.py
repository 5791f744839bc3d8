"""What readers of events are told of values that were not kept, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saffron.engine.events.decoding.growth import MAX_ATTRIBUTES

_NAMED = 5


def told(mistyped: Mapping[str, int], left_out: int, way: str = "a --schema FILE") -> Iterator[str]:
    """What readers are told.

    `mistyped`: by attribute how many values are null, being of another kind or beside another field of that name;
    `left_out`: values of attributes that an inferred schema has no room for. `way`: what says which kind is right.
    """
    if mistyped:
        order = sorted(mistyped, key=lambda name: (-mistyped[name], name))
        named = ", ".join(f"{mistyped[name]:,} of {name!r}" for name in order[:_NAMED])
        more = f" and {len(order) - _NAMED:,} other attributes" if len(order) > _NAMED else ""
        why = "being of another kind than their attribute, or beside another field of that name"
        yield f"values are left out and null: {named}{more}, {why}; {way} says which kind is right"
    if left_out:
        most = f"an inferred schema has at most {MAX_ATTRIBUTES:,} attributes"
        yield f"{left_out:,} values are left out: {most}; a --schema names those that queries need"
