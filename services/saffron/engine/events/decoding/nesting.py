"""Events with nested objects as flat ones: their leaves under dotted names, one value for each name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.schema.numbers import number_of, shown
from saffron.schema.schema import COMPUTED_MARK

MAX_DEPTH = 32
"""Levels of objects and arrays in an event that are read, the event itself included."""
TOO_DEEP = f"objects and arrays are read to a depth of {MAX_DEPTH}"
MAX_PATH = 1_000
"""Longest name of an attribute, in characters. An inferred schema leaves longer ones out."""
OWN = ("type", "ts")
"""Fields of the event itself, which are not looked into."""


class ArrayText(str):
    """An array as a value: its JSON text, without blanks, numbers as results show them."""

    __slots__ = ()


class TooDeepError(ValueError):
    """An event with more than MAX_DEPTH levels."""


@dataclass(frozen=True)
class Flat:
    """An event's own fields and attributes by name. `doubled`: names of values that another one of that name displaced.

    A flat field displaces a nested one, and among nested ones the first counts. Null displaces nothing.
    `gaps`: arrays with null in the place of a number that is no value. `objects`: names of objects.
    """

    fields: dict[str, Any]
    doubled: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


def may_be_attribute(name: str) -> bool:
    """True if an inferred schema may have an attribute of this name."""
    return len(name) <= MAX_PATH and name not in OWN and not name.startswith(COMPUTED_MARK)


def flattened(event: Mapping[str, Any]) -> Flat:
    """The flat form of a parsed event, attributes in the order of their first appearance. TooDeepError.

    Arrays are ArrayText, but for an interval in `ts`.
    """
    fields: dict[str, Any] = {}
    doubled: list[str] = []
    arrays: dict[str, Sequence[Any]] = {}
    objects: list[str] = []
    for name, value, depth in _leaves(event, "", 1, objects):
        before = fields.get(name)
        if before is not None and value is not None:
            doubled.append(name)
        if before is None or (value is not None and depth == 1):
            whole = not isinstance(value, list) or (depth == 1 and name in OWN)
            fields[name] = value if whole else array_text(value, depth + 1)
            arrays[name] = () if whole else value
    gaps = tuple(name for name, array in arrays.items() if _has_gap(array))
    return Flat(fields, tuple(doubled), gaps, tuple(objects))


def _leaves(value: Mapping[str, Any], before: str, depth: int, objects: list[str]) -> Iterator[tuple[str, Any, int]]:
    """(name, value, level) of all that is no object. `before`: the names around, each with its dot. `objects`: those
    that are met are added.

    Names around that are longer than an attribute's may be are cut, and numbered: they stand before each leaf.
    """
    for name, item in value.items():
        if isinstance(item, dict) and (depth > 1 or name not in OWN):
            _check_depth(depth + 1)
            inner = before + name
            inner = inner if len(inner) <= MAX_PATH else f"{inner[:MAX_PATH]}...{len(objects)}"
            objects.append(inner)
            yield from _leaves(item, f"{inner}.", depth + 1, objects)
        else:
            yield before + name, item, depth


def array_text(array: Sequence[Any], depth: int = 1) -> ArrayText:
    """The text of a parsed array. `depth`: its level in the event. TooDeepError."""
    return ArrayText(orjson.dumps(_plain(array, depth)).decode())


def _plain(item: Any, depth: int) -> Any:
    """A value within an array, numbers as results show them; a number that is no value is null."""
    if isinstance(item, int | float) and not isinstance(item, bool):
        return shown(number_of(item))
    if not isinstance(item, list | dict):
        return item
    _check_depth(depth)
    if isinstance(item, dict):
        return {name: _plain(inner, depth + 1) for name, inner in item.items()}
    return [_plain(inner, depth + 1) for inner in item]


def _has_gap(item: Any) -> bool:
    """True if there is a number that is no value in a parsed one."""
    if isinstance(item, list | tuple | dict):
        return any(map(_has_gap, item.values() if isinstance(item, dict) else item))
    return isinstance(item, int | float) and number_of(item) is None


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TooDeepError(TOO_DEEP)
