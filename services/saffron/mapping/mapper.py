"""The exact path from one message to flat events, with every rule; `flattening` is its fast twin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from saffron.carets import CUT, NAME_LIMIT
from saffron.engine.events.decoding.nesting import MAX_DEPTH, TOO_DEEP
from saffron.mapping.definition import (
    AttributeRule,
    Header,
    OfMessage,
    Origin,
    SourceDefinition,
    TimeRule,
    TypeRule,
)
from saffron.mapping.envelopes import Eventless, elements, fault, text
from saffron.mapping.kinds import As
from saffron.mapping.message import Message, MessageError, Number, noun, written
from saffron.mapping.paths import MISSING, Path
from saffron.mapping.time_formats import TimeError, instant, is_finer
from saffron.schema.numbers import number_text
from saffron.schema.origin import ORIGIN
from saffron.schema.schema import MAX_EVENT_BYTES

Value = str | bool | list[Any]
"""A value of an attribute: a Number, a text, a truth value or an array. Null is no value."""

_NUMBER = re.compile(r"\s*(?:\+|(?P<sign>-))?0*(?P<rest>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*", re.ASCII)
"""A text that holds a number; in the event it stands without a plus sign and leading zeros, as JSON has numbers."""
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}
FIELDS = ("type", "ts")
RESERVED = (*FIELDS, *ORIGIN)
"""Names of an event's own fields; a message's fields of these names are kept under `OWN` before them."""
OWN = "$."


@dataclass(frozen=True)
class Mapped:
    """An event, element `number` of its message.

    `misfits`: attributes whose value is not what its rule says, and null; names of fields that another one displaced.
    `finer`: its time had digits finer than milliseconds, which are cut.
    """

    number: int
    type: str
    ts: int
    values: Mapping[str, Value]
    misfits: tuple[str, ...] = ()
    finer: bool = False


@dataclass(frozen=True)
class Refused:
    """Element `number` of a message that is no event, and why."""

    number: int
    reason: str
    detail: str


def flat(event: Mapped) -> bytes:
    """An event as it stands in the inner topic, but for its origin: numbers as they were written."""
    return written({"type": event.type, "ts": event.ts, **event.values})


def events_of(message: Message, source: SourceDefinition, *, strict: bool = False) -> Iterator[Mapped | Refused]:
    """The events of a message in order, or why an element is none. `strict`: one with a misfit is refused."""
    return (one for one in outcomes_of(message, source, strict=strict) if not isinstance(one, Eventless))


def outcomes_of(
    message: Message, source: SourceDefinition, *, strict: bool = False
) -> Iterator[Mapped | Refused | Eventless]:
    """The events of `events_of`, and the elements that are none without being wrong, which have no number."""
    number = 0
    for element in elements(message, source):
        content = element.content
        if isinstance(content, Eventless):
            yield content
            continue
        yield outcome_of(number, content, message, source, strict=strict)
        number += 1


def outcome_of(
    number: int,
    content: Mapping[str, Any] | MessageError,
    message: Message,
    source: SourceDefinition,
    *,
    strict: bool = False,
) -> Mapped | Refused:
    """The event of element `number`, whose object is `content`, or why it is none."""
    try:
        if isinstance(content, MessageError):
            raise content
        return _event(number, content, message, source, strict=strict)
    except MessageError as error:
        return Refused(number, error.reason, str(error))
    except Exception as error:
        found = fault(error, message)
        return Refused(number, found.reason, str(found))


def _event(
    number: int, content: Mapping[str, Any], message: Message, source: SourceDefinition, *, strict: bool
) -> Mapped:
    """An event from one element of a message. `number`: of the element.

    MessageError: it has no type or time, or (`strict`) a value that is not what its rule says.
    """
    kind = _type(content, message, source.type)
    ts, finer = _time(content, message, source.time)
    values, doubled = ({}, []) if source.only else _rest(content, source)
    misfits: list[str] = []
    for name, rule in source.attributes.items():
        found = _valued(content, message, rule)
        if found is MISSING:
            misfits.append(name)
        elif found is not None:
            values[name] = found
    if misfits and strict:
        raise MessageError("schema", f"{misfits[0]!r} is not what its rule says")
    return Mapped(number, kind, ts, values, (*misfits, *doubled), finer)


def _at(origin: Origin, content: Mapping[str, Any], message: Message) -> Any:
    """The value at an origin; MISSING where there is none."""
    match origin:
        case Path():
            return origin.of(content)
        case Header(name):
            return text(message.headers[name]) if name in message.headers else MISSING
        case OfMessage.KEY:
            return MISSING if message.key is None else text(message.key)
        case OfMessage.TIME:
            return MISSING if message.time is None else Number(message.time)
        case OfMessage.TOPIC:
            return message.topic
        case OfMessage.PARTITION:
            return Number(message.partition)
        case OfMessage.OFFSET:
            return Number(message.offset)


def _type(content: Mapping[str, Any], message: Message, rule: TypeRule) -> str:
    """The type of an event by its rule. MessageError: the message has none, or one that `map` does not name."""
    if rule.constant is not None:
        return rule.constant
    assert rule.origin is not None
    found = _at(rule.origin, content, message)
    if isinstance(found, bool) or not isinstance(found, str):
        raise MessageError("no-type", f"{described(rule.origin)} is {_noun(found)}, and should be the event's type")
    kind = _text_of(found)
    if not rule.names:
        return kind
    named = rule.names.get(kind, rule.names.get(found))
    if named is None:
        known = ", ".join(list(rule.names)[:5])
        raise MessageError("no-type", f"{described(rule.origin)} is {_shown(kind)}, which `map` does not name: {known}")
    return named


def _time(content: Mapping[str, Any], message: Message, rule: TimeRule) -> tuple[int, bool]:
    """The event's time in ms, and whether finer digits were cut. The message's own time has no format: it is in ms."""
    if rule.origin is OfMessage.TIME and message.time is not None:
        return message.time, False
    found = _at(rule.origin, content, message)
    if found is MISSING or found is None:
        raise MessageError("no-ts", f"{described(rule.origin)} is {_noun(found)}, and should be the event's time")
    try:
        return instant(found, rule.form, rule.zone, message.time), is_finer(found, rule.form)
    except TimeError as error:
        raise MessageError("bad-ts", f"{described(rule.origin)} is {_shown(found)}: {error}") from None


def _valued(content: Mapping[str, Any], message: Message, rule: AttributeRule) -> Any:
    """An attribute's value; None: it has none; MISSING: it does not fit its rule."""
    return read_as(_at(rule.origin, content, message), rule.kind)


def read_as(found: Any, kind: As | None) -> Any:
    """A value read as `kind`; None: there is none; MISSING: it does not fit."""
    if found is MISSING or found is None:
        return None
    if isinstance(found, dict):
        return MISSING
    _require_shallow(found)
    match kind:
        case None:
            return found
        case As.NUMBER:
            return _number(found)
        case As.BOOLEAN:
            return _truth(found)
        case As.TEXT:
            return ("true" if found else "false") if isinstance(found, bool) else _text(found)


def _number(found: Any) -> Any:
    if isinstance(found, Number):
        return found
    written = _NUMBER.fullmatch(found) if isinstance(found, str) else None
    return MISSING if written is None else Number((written["sign"] or "") + written["rest"])


def _truth(found: Any) -> Any:
    if isinstance(found, bool):
        return found
    return _TRUTHS.get(_text_of(found).lower(), MISSING) if isinstance(found, str) else MISSING


def _text(found: Any) -> Any:
    return _text_of(found) if isinstance(found, str) else MISSING


def _text_of(found: str) -> str:
    """A text, or the text of a number; see `number_text`."""
    return number_text(found) if isinstance(found, Number) else str(found)


def _rest(content: Mapping[str, Any], source: SourceDefinition) -> tuple[dict[str, Value], list[str]]:
    """The leaves that no rule names, under their paths, and the names of those that another one displaced.

    MessageError: the event is too deep, or its names alone are longer than any event.
    """
    origins = (rule.origin for rule in source.attributes.values())
    named = {*_dotted(origins), *source.attributes}
    roles = set(_dotted((source.type.origin, source.time.origin)))
    values: dict[str, Value] = {}
    doubled: list[str] = []
    size = 0
    for steps, value in leaves(content):
        name = ".".join(steps)
        size += len(name)
        if size > MAX_EVENT_BYTES:
            raise MessageError("too-large", f"the names of its fields are longer than {MAX_EVENT_BYTES} bytes together")
        if name in named:
            continue
        if name in RESERVED:
            if name in roles:
                continue
            name = OWN + name
        if name in values:
            doubled.append(name)
        if name not in values or len(steps) == 1:  # a flat name counts before a nested one
            values[name] = value
    return values, doubled


def _dotted(origins: Iterable[Origin | None]) -> Iterator[str]:
    """The names, with dots, of those origins that are paths."""
    for origin in origins:
        if isinstance(origin, Path):
            yield ".".join(map(str, origin.steps))


def leaves(value: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Value]]:
    """Path and value of all that is neither an object nor null. MessageError: it is too deep."""
    if len(before) >= MAX_DEPTH:
        raise MessageError("too-deep", TOO_DEEP)
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from leaves(inner, (*before, name))
        elif inner is not None:
            _require_shallow(inner)
            yield (*before, name), inner


def _require_shallow(value: Any) -> None:
    """MessageError: an array, as a value of an event, has too many levels."""
    if isinstance(value, list) and _is_deeper(value, MAX_DEPTH - 1):
        raise MessageError("too-deep", TOO_DEEP)


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, list | dict):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def described(origin: Origin) -> str:
    """An origin as a sentence names it."""
    match origin:
        case Path():
            return f"'{origin}'"
        case Header(name):
            return f"the header {name!r}"
        case OfMessage():
            return f"the message's {origin.value}"


def _noun(found: Any) -> str:
    return "missing" if found is MISSING else noun(found)


def _shown(found: Any) -> str:
    """A value as a sentence quotes it: at most 60 characters of a text."""
    if not isinstance(found, str):
        return noun(found)
    return repr(str(found) if len(found) <= NAME_LIMIT else found[: NAME_LIMIT - len(CUT)] + CUT)
