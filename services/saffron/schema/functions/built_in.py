"""All functions of the language, a row each: form, kind of the value, meaning."""

from __future__ import annotations

import math
from collections.abc import Mapping

from saffron.schema.functions import arrays, casts, choices, network, numbers, own, text, times
from saffron.schema.functions.function import Function, of_floats
from saffron.schema.schema import Kind

_ZONE = {"zone": times.wrong_zone, "unit": times.wrong_unit}

_ROWS = (
    # text
    Function("lower(text)", Kind.STRING, text.lower),
    Function("upper(text)", Kind.STRING, text.upper),
    Function("trim(text, [text])", Kind.STRING, text.trim),
    Function("substring(text, number, [number])", Kind.STRING, text.substring),
    Function("replace(text, text, text)", Kind.STRING, text.replace),
    Function("split_part(text, text, number)", Kind.STRING, text.split_part),
    Function("concat(text, text...)", Kind.STRING, text.concat),
    Function("position(text, text)", Kind.INT, text.position),
    Function("starts_with(text, text)", Kind.BOOL, text.starts_with),
    Function("ends_with(text, text)", Kind.BOOL, text.ends_with),
    Function("like(text, 'pattern', ['escape'])", Kind.BOOL, text.like,
             checks={"pattern": text.wrong_like, "escape": text.wrong_escape}),
    Function("regexp(text, 'expression')", Kind.BOOL, text.regexp, checks={"expression": text.wrong_regexp}),
    # text or arrays
    Function("length(series)", Kind.INT, arrays.length),
    Function("contains(series, value)", Kind.BOOL, arrays.contains),
    # choices
    Function("is_null(value)", Kind.BOOL, choices.is_null, strict=False),
    Function("coalesce(value, value...)", None, choices.coalesce, strict=False),
    Function("nullif(value, value)", None, choices.nullif, strict=False),
    Function("case(value, value, value...)", None, choices.case, strict=False),
    # CAST
    Function("to_number(value)", Kind.NUMBER, casts.to_number),
    Function("to_integer(value)", Kind.LONG, casts.to_integer),
    Function("to_string(value)", Kind.STRING, casts.to_string),
    Function("to_boolean(value)", Kind.BOOL, casts.to_boolean),
    Function("to_timestamp(value)", Kind.LONG, casts.to_timestamp),
    # numbers
    of_floats("abs(number)", numbers.absolute),
    of_floats("sqrt(number)", numbers.root),
    of_floats("least(number, number...)", numbers.least),
    of_floats("greatest(number, number...)", numbers.greatest),
    of_floats("floor(number)", numbers.floor),
    of_floats("ceil(number)", numbers.ceil),
    of_floats("trunc(number)", numbers.trunc),
    of_floats("round(number, [number])", numbers.rounded),
    of_floats("power(number, number)", numbers.power),
    of_floats("exp(number)", numbers.exp),
    of_floats("ln(number)", numbers.ln),
    of_floats("log10(number)", numbers.log10),
    of_floats("sign(number)", numbers.sign),
    of_floats("sin(number)", numbers.sin),
    of_floats("cos(number)", numbers.cos),
    of_floats("tan(number)", numbers.tan),
    of_floats("asin(number)", numbers.asin),
    of_floats("acos(number)", numbers.acos),
    of_floats("atan(number)", numbers.atan),
    of_floats("atan2(number, number)", numbers.atan2),
    of_floats("radians(number)", numbers.radians),
    of_floats("degrees(number)", numbers.degrees),
    of_floats("distance(number, number, number, number)", numbers.distance),
    of_floats("bit_and(number, number)", numbers.bit_and),
    of_floats("bit_or(number, number)", numbers.bit_or),
    of_floats("bit_xor(number, number)", numbers.bit_xor),
    of_floats("shift(number, number)", numbers.shift),
    Function("pi()", Kind.FLOAT, lambda: math.pi),
    # times and addresses
    Function("hour(number, ['zone'])", Kind.INT, times.hour, checks=_ZONE),
    Function("minute(number, ['zone'])", Kind.INT, times.minute, checks=_ZONE),
    Function("day_of_week(number, ['zone'])", Kind.INT, times.day_of_week, checks=_ZONE),
    Function("date_trunc('unit', number, ['zone'])", Kind.LONG, times.date_trunc, checks=_ZONE),
    Function("in_subnet(text, 'cidr')", Kind.BOOL, network.in_subnet, checks={"cidr": network.wrong_cidr}),
)  # fmt: skip

CHOICES = ("case", "coalesce", "nullif", "is_null")
"""Functions that kernels compute of numbers and truth values, though they are of values of any kind."""

BUILT_IN: Mapping[str, Function] = {row.name: row for row in _ROWS}
"""Name -> function. An element of an array has a form of its own, and is no row."""


def find(name: str) -> Function | None:
    """The function with this name, the language's own or a registered one."""
    return BUILT_IN.get(name) or own.find(name)
