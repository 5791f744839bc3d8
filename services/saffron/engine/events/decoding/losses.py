"""Notices of values that the reading of events did not keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saffron.counted import counted
from saffron.engine.events.decoding.growth import MAX_ATTRIBUTES, MAX_BYTES

_NAMED = 5


def loss_notices(mistyped: Mapping[str, int], left_out: int, way: str = "a --schema FILE") -> Iterator[str]:
    """Notices, one sentence each; none if nothing was lost.

    `mistyped`: by attribute, the number of values that became null: their kind is another one, another field has the
    same name, or they are numbers that are no values. `left_out`: number of values of attributes beyond the limit of
    an inferred schema. `way`: the means by which a user states the right kind.
    """
    if mistyped:
        order = sorted(mistyped, key=lambda name: (-mistyped[name], name))
        named = ", ".join(f"{mistyped[name]:,} of {name!r}" for name in order[:_NAMED])
        more = f" and {counted(len(order) - _NAMED, 'other attribute')}" if len(order) > _NAMED else ""
        why = "being of another kind than their attribute, beside another field of that name, or numbers beyond 64 bits"
        yield f"values are left out and null: {named}{more}, {why}; {way} says which kind is right"
    if left_out:
        most = (
            f"an inferred schema has at most {counted(MAX_ATTRIBUTES, 'attribute')}, and {counted(MAX_BYTES, 'byte')}"
        )
        gone = counted(left_out, "value is", "values are")
        yield f"{gone} left out: {most}; a --schema names those that queries need"
