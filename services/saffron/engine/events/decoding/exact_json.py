"""JSON for the exact path: no number loses a digit, and parsed values are shown as they were written."""

from __future__ import annotations

import json
from typing import Any

import orjson

from saffron.engine.events.decoding.nesting import ArrayText
from saffron.schema.numbers import EXACT, number_of_text


def parsed(value: bytes) -> Any:
    """The JSON in a message, every number being a value of `number_of`, or a `_NoValue`. ValueError: it is not JSON."""
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        if "infinity" not in str(error):
            raise
        return _parsed_by_text(value)
    return _parsed_by_text(value) if _may_be_rounded(found) else found


def roughly_parsed(value: bytes) -> Any:
    """As `parsed`, faster, for what is no number in it: numbers may be rounded. ValueError: it is not JSON."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return parsed(value)  # one number beyond every float does not make it no JSON


def _may_be_rounded(found: Any) -> bool:
    """True if the parser may have rounded a whole number in its result."""
    waiting = [found]  # no recursion: the parser takes more levels than Python's stack has left
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
        elif isinstance(one, float) and abs(one) >= EXACT:
            return True
    return False


def _parsed_by_text(value: bytes) -> Any:
    """The slow twin of `parsed`: it makes each number from its text."""
    try:
        found = json.loads(value, parse_int=_number, parse_float=_number, parse_constant=_no_constant)
        orjson.dumps(found, default=str)  # Python takes half surrogates for text
    except (RecursionError, orjson.JSONEncodeError) as error:
        raise ValueError(str(error)) from None
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


class _NoValue(float):
    """Infinity, in the place of a number that is no value."""

    text: str


def _number(text: str) -> int | float:
    number = number_of_text(text)
    if number is None:
        number = _NoValue("inf")
        number.text = text
    return number


def shown(value: Any) -> str:
    """A parsed value for a message, at most 60 characters."""
    text = str(value) if isinstance(value, ArrayText) else orjson.dumps(value, default=_as_written).decode()
    return text if len(text) <= 60 else text[:57] + "..."


def _as_written(number: _NoValue) -> orjson.Fragment:
    return orjson.Fragment(number.text)
