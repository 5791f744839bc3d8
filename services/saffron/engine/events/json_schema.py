"""JSON Schema to the schema of a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from saffron.errors import SchemaError
from saffron.schema.event_types import is_type
from saffron.schema.schema import COMPUTED_MARK, Distribution, Kind, Schema, widened

_KINDS = {kind.json_type: kind for kind in (Kind.STRING, Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.ARRAY)}
_REMARKS = frozenset({"$schema", "$id", "$comment", "title", "description", "examples", "default"})
_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_PROPERTY = frozenset({"type"})
_ARRAY = frozenset({"type", "items"})
_TYPE_PROPERTY = frozenset({"type", "const", "enum"})
_TS_TYPES = frozenset({"integer", "number", "string", "array", "null"})
_TS = frozenset({"type", "items", "minItems", "maxItems", "x-time"})
_SHAPES = ("uniform", "triangular")


def from_json_schema(document: Any) -> Schema:
    """The schema that a JSON Schema describes (`given` is True).

    One object schema, or `oneOf`/`anyOf` of them; the event types are the `const` or `enum` of each one's property
    `type`. Properties are of type string, integer, number, boolean or array (whose `items` are not checked), or one of
    these and "null". The properties of an object inside are attributes with dotted names, required where it is too.
    An attribute that is an integer in one type and a number in another is a number. Null counts as absent: a required
    attribute that may be null is not required here.

    `ts` may be described. It is checked by the rules for events, not by this, but for imprecise time: where its type
    includes "array", it may be [lo, hi]. "x-time": {"distribution": ...} names the distribution: "uniform" (as without
    it), "triangular" or a list of weights (see `schema.Distribution`).

    Raises SchemaError, naming the place, for everything else.
    """
    root = _mapping(document, "#")
    draft = _Draft()
    branches = [keyword for keyword in ("oneOf", "anyOf") if keyword in root]
    if not branches:
        draft.add(root, "#", _OBJECT)
        return draft.schema()
    if len(branches) == 2:
        raise SchemaError("#: has both oneOf and anyOf; one of them lists the event types")
    keyword = branches[0]
    _only(root, {keyword, "type"}, "#")
    _expect_object(root, "#", optional=True)
    if not isinstance(root[keyword], list) or not root[keyword]:
        raise SchemaError(f"#/{keyword}: should list one object schema for each event type")
    for number, branch in enumerate(root[keyword]):
        place = f"#/{keyword}/{number}"
        draft.add(_mapping(branch, place), place, _OBJECT)
    return draft.schema()


class _Draft:
    def __init__(self) -> None:
        self._kinds: dict[str, Kind] = {}
        self._owner: dict[str, str] = {}
        self._types: dict[str, tuple[str, ...]] = {}
        self._required: dict[str, frozenset[str]] = {}
        self._closed: dict[str, bool] = {}
        self._times: dict[str, Distribution] = {}

    def add(self, branch: Mapping[str, Any], place: str, known: frozenset[str]) -> None:
        """Take the object schema of one event type (or of several that share it)."""
        _only(branch, known, place)
        _expect_object(branch, place, optional=False)
        properties = _mapping(branch.get("properties", {}), f"{place}/properties")
        types = _event_types(properties, place)
        ts = f"{place}/properties/ts"
        law = _time(_mapping(properties["ts"], ts), ts) if "ts" in properties else None
        attributes = self._attributes(branch, place, "")
        for name in types:
            if name in self._types:
                raise SchemaError(f"{place}/properties/type: event type {name!r} is described twice")
            self._types[name] = tuple(attributes)
            self._required[name] = frozenset(name for name, required in attributes.items() if required)
            if law is not None:
                self._times[name] = law

    def _attributes(self, branch: Mapping[str, Any], place: str, before: str) -> dict[str, bool]:
        """Attribute -> True if it is required. `before`: the names around the object, each with its dot."""
        self._closed[place] = _closed(branch, place)
        properties = _mapping(branch.get("properties", {}), f"{place}/properties")
        required = _required(branch, properties, place)
        found: dict[str, bool] = {}
        for name, given in properties.items():
            if not before and name in ("type", "ts"):
                continue
            where = f"{place}/properties/{name}"
            if name.startswith(COMPUTED_MARK):
                raise SchemaError(f"{where}: no attribute's name begins with U+10FFFF")
            item = _mapping(given, where)
            names = item["type"] if isinstance(item.get("type"), list) else [item.get("type")]
            if names in (["object"], ["object", "null"], ["null", "object"]):
                _only(item, _OBJECT, where)
                needed = name in required and names == ["object"]
                inner = self._attributes(item, where, f"{before}{name}.")
                attributes = {path: must and needed for path, must in inner.items()}
            else:
                kind, nullable = _kind(item, where)
                self._join(before + name, kind, where)
                attributes = {before + name: name in required and not nullable}
            for path, must in attributes.items():
                found[path] = must or found.get(path, False)
        return found

    def schema(self) -> Schema:
        """The schema. SchemaError: `additionalProperties` differs between types or objects."""
        if len(set(self._closed.values())) > 1:
            place = next(place for place, closed in self._closed.items() if not closed)
            raise SchemaError(
                f"{place}/additionalProperties: should be false for every event type of a stream and every object, "
                "or for none"
            )
        closed = any(self._closed.values())
        return Schema(self._kinds, self._types, self._required, closed=closed, given=True, times=self._times)

    def _join(self, name: str, kind: Kind, place: str) -> None:
        """Set the kind of an attribute, widened if it has one already. SchemaError: the kinds do not go together."""
        before = self._kinds.setdefault(name, kind)
        owner = self._owner.setdefault(name, place)
        if before is kind:
            return
        joined = widened(before, kind)
        if joined is None:
            raise SchemaError(
                f"{place}: {name!r} is {kind.json_type} here and {before.json_type} at {owner}; "
                "an attribute has one kind throughout a stream (rename one of them)"
            )
        self._kinds[name] = joined


def _event_types(properties: Mapping[str, Any], place: str) -> list[str]:
    """The event types that a branch names (const or enum). SchemaError: it names none, or an impossible one."""
    where = f"{place}/properties/type"
    if "type" not in properties:
        raise SchemaError(f'{where}: is missing; it names the event type, as {{"const": "Stock"}}')
    item = _mapping(properties["type"], where)
    _only(item, _TYPE_PROPERTY, where)
    if item.get("type", "string") != "string":
        raise SchemaError(f"{where}/type: an event's type is a string, not {item['type']!r}")
    if ("const" in item) == ("enum" in item):
        raise SchemaError(f"{where}: needs either const (one event type) or enum (several that share these attributes)")
    names = [item["const"]] if "const" in item else item["enum"]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise SchemaError(f"{where}: event types are strings, and this is {names!r}")
    if never := [name for name in names if not is_type(name)]:
        raise SchemaError(f"{where}: no event is of type {never[0]!r}: types are not empty, and $ begins Saffron's own")
    return names


def _required(branch: Mapping[str, Any], properties: Mapping[str, Any], place: str) -> set[str]:
    """The required attributes of a branch. SchemaError: one is not among its properties."""
    where = f"{place}/required"
    required = branch.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise SchemaError(f"{where}: should be a list of names, and is {required!r}")
    for name in required:
        if name not in properties and name not in ("type", "ts"):
            raise SchemaError(f"{where}: {name!r} is not among the properties, so that its kind is not known")
    return set(required)


def _closed(branch: Mapping[str, Any], place: str) -> bool:
    additional = branch.get("additionalProperties", True)
    if not isinstance(additional, bool):
        raise SchemaError(f"{place}/additionalProperties: should be true or false, and is {additional!r}")
    return not additional


def _kind(item: Mapping[str, Any], place: str) -> tuple[Kind, bool]:
    """The kind of a property, and whether it may be null."""
    _only(item, _ARRAY if "items" in item and "array" in str(item.get("type")) else _PROPERTY, place)
    given = item.get("type")
    names = given if isinstance(given, list) else [given]
    kinds = [name for name in names if name != "null"]
    if len(kinds) != 1 or not isinstance(kinds[0], str) or kinds[0] not in _KINDS:
        raise SchemaError(
            f"{place}/type: should be string, integer, number, boolean, array or object, or one of these and null; "
            f"it is {given!r}"
        )
    return _KINDS[kinds[0]], len(kinds) < len(names)


def _time(item: Mapping[str, Any], place: str) -> Distribution | None:
    """The distribution of imprecise times; None where ts is always exact."""
    _only(item, _TS, place)
    given = item.get("type", "integer")
    names = given if isinstance(given, list) else [given]
    if not names or not all(isinstance(name, str) and name in _TS_TYPES for name in names):
        raise SchemaError(
            f"{place}/type: ts is an integer (ms since 1970), a string (ISO 8601) or an array [lo, hi], not {given!r}"
        )
    if "x-time" in item and "array" not in names:
        raise SchemaError(f'{place}/x-time: goes with intervals: "type": ["integer", "array"]')
    if "array" not in names:
        return None
    described = _mapping(item.get("x-time", {}), f"{place}/x-time")
    _only(described, {"distribution"}, f"{place}/x-time")
    return _distribution(described.get("distribution", "uniform"), f"{place}/x-time/distribution")


def _distribution(given: Any, place: str) -> Distribution:
    """The distribution of imprecise time: a shape's name or weights. SchemaError: it is neither."""
    if isinstance(given, str) and given in _SHAPES:
        return given
    weights = given if isinstance(given, list) else []
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and 0 <= x < math.inf for x in weights)
    if numbers and 0 < sum(weights) < math.inf:
        return tuple(float(weight) for weight in weights)
    raise SchemaError(
        f'{place}: should be "uniform", "triangular" or a list of weights, none below 0 and one above; it is {given!r}'
    )


def _expect_object(branch: Mapping[str, Any], place: str, *, optional: bool) -> None:
    given = branch.get("type", "object" if optional else None)
    if given != "object":
        raise SchemaError(f'{place}/type: an event is an object: "type": "object" is expected, not {given!r}')


def _only(item: Mapping[str, Any], known: set[str] | frozenset[str], place: str) -> None:
    for keyword in item:
        if keyword not in known and keyword not in _REMARKS:
            raise SchemaError(f"{place}/{keyword}: this keyword is not supported; here are: {', '.join(sorted(known))}")


def _mapping(item: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise SchemaError(f"{place}: should be a JSON object, and is {item!r}")
    return item
