"""The test whether one given schema widens another: it reads every event of the other as the other does."""

from __future__ import annotations

from saffron.schema.schema import Kind, Schema


def narrowed(before: Schema, after: Schema) -> str:
    """The message on types and attributes that the new schema takes away; "" if it only widens the old one.

    It may have more types and attributes, require less, and read whole numbers as numbers.
    """
    for name, attributes in before.types.items():
        if name not in after.types:
            return f"event type {name} is gone"
        missing = [one for one in attributes if one not in after.types[name]]
        if missing:
            return f"attribute {missing[0]} of {name} is gone"
        required = after.required.get(name, frozenset()) - before.required.get(name, frozenset())
        if required:
            return f"attribute {min(required)} of {name} is required now"
        if before.times.get(name) != after.times.get(name):
            return f"ts of {name} is read otherwise"
    for name, kind in before.kinds.items():
        now = after.kinds.get(name, kind)
        if now is not kind and (kind, now) != (Kind.INT, Kind.FLOAT):
            return f"attribute {name} is {now.value} now, not {kind.value}"
    return "attributes that it does not name are refused now" if after.closed and not before.closed else ""
