"""Functions of the query language, said as plainly as Python can; None is null."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo


def is_number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _strict(wanted: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`wanted`: a letter for each argument, t(ext), n(umber), v(alue); the last one for all others."""

    def called(*values: Any) -> Any:
        for place, value in enumerate(values):
            letter = wanted[min(place, len(wanted) - 1)]
            good = {"t": isinstance(value, str), "n": is_number(value), "v": value is not None}[letter]
            if not good:
                return None
        try:
            found = function(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return None if isinstance(found, complex) or (isinstance(found, float) and not math.isfinite(found)) else found

    return called


def like(text: str, pattern: str, escape: str = "") -> bool:
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == escape and escape and rest:
        return text[:1] == rest[0] and like(text[1:], rest[1:], escape)
    if first == "%":
        return any(like(text[start:], rest, escape) for start in range(len(text) + 1))
    return bool(text) and (first == "_" or text[0] == first) and like(text[1:], rest, escape)


def substring(text: str, start: int, count: int | None = None) -> str | None:
    if start != int(start) or (count is not None and (count < 0 or count != int(count))):
        return None
    return "".join(
        sign for place, sign in enumerate(text, 1) if place >= start and (count is None or place < start + count)
    )


def split_part(text: str, separator: str, number: int) -> str | None:
    if number == 0 or number != int(number):
        return None
    parts = text.split(separator) if separator else [text]
    place = int(number) - 1 if number > 0 else len(parts) + int(number)
    return parts[place] if 0 <= place < len(parts) else ""


def _rounded(x: float, digits: float = 0) -> float | None:
    if digits != int(digits) or abs(digits) > 15:
        return None
    scale: float = 10.0 ** abs(digits)
    moved = x * scale if digits >= 0 else x / scale
    if abs(x) >= 2**52 and digits >= 0:
        return x
    whole = float(math.floor(abs(moved)))
    whole += abs(moved) - whole >= 0.5
    whole = math.copysign(whole, moved)
    return whole / scale if digits >= 0 else whole * scale


def _power(a: float, b: float) -> Any:
    return float(a) ** b if a != 0 or b >= 0 else None


def _distance(*degrees: float) -> float | None:
    if abs(degrees[0]) > 90 or abs(degrees[2]) > 90 or abs(degrees[1]) > 360 or abs(degrees[3]) > 360:
        return None
    lat, lon, other, away = map(math.radians, degrees)
    half = math.sin((other - lat) / 2) ** 2 + math.cos(lat) * math.cos(other) * math.sin((away - lon) / 2) ** 2
    return 2 * 6371008.8 * math.asin(math.sqrt(half))


def _local(ts: float, zone: str) -> datetime:
    if ts != int(ts):
        raise ValueError(ts)
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ts)).astimezone(ZoneInfo(zone))


def _number(x: Any) -> int | float | None:
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, str):
        return float(x) if re.fullmatch(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", x, re.ASCII) else None
    return x if is_number(x) else None


def _integer(x: Any) -> int | None:
    found = _number(x)
    return None if found is None else int(found)


def _string(x: Any) -> str | None:
    if isinstance(x, bool):
        return "true" if x else "false"
    if is_number(x):
        return str(int(x)) if x == int(x) and abs(x) < 2**63 else repr(x)
    return x if isinstance(x, str) else None


def _boolean(x: Any) -> bool | None:
    if isinstance(x, str):
        return {"true": True, "false": False}.get(x.strip().lower())
    return x != 0 if is_number(x) else x if isinstance(x, bool) else None


def _subnet(address: str, cidr: str) -> bool:
    found, network = ipaddress.ip_address(address), ipaddress.ip_network(cidr)
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped if mapped is not None and network.version == 4 else found) in network


def _bits(join: Callable[[int, int], int]) -> Callable[..., Any]:
    def joined(a: float, b: float) -> int | None:
        good = all(x == int(x) and 0 <= x < 2**53 for x in (a, b))
        return join(int(a), int(b)) if good else None

    return _strict("n", joined)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "lower": _strict("t", str.lower),
    "upper": _strict("t", str.upper),
    "trim": _strict("t", lambda x, signs=" ": x.strip(signs) if signs else x),
    "substring": _strict("tn", substring),
    "replace": _strict("t", lambda x, old, new: x.replace(old, new) if old else x),
    "split_part": _strict("ttn", split_part),
    "concat": _strict("t", lambda *x: "".join(x)),
    "position": _strict("t", lambda x, part: x.find(part) + 1),
    "starts_with": _strict("t", str.startswith),
    "ends_with": _strict("t", str.endswith),
    "like": _strict("t", like),
    "regexp": _strict("t", lambda x, pattern: re.search(pattern, x) is not None),
    "abs": _strict("n", abs),
    "sqrt": _strict("n", math.sqrt),
    "least": _strict("n", min),
    "greatest": _strict("n", max),
    "floor": _strict("n", math.floor),
    "ceil": _strict("n", math.ceil),
    "trunc": _strict("n", math.trunc),
    "round": _strict("n", _rounded),
    "power": _strict("n", _power),
    "exp": _strict("n", math.exp),
    "ln": _strict("n", math.log),
    "log10": _strict("n", math.log10),
    "sign": _strict("n", lambda x: (x > 0) - (x < 0)),
    "sin": _strict("n", math.sin),
    "cos": _strict("n", math.cos),
    "tan": _strict("n", math.tan),
    "asin": _strict("n", math.asin),
    "acos": _strict("n", math.acos),
    "atan": _strict("n", math.atan),
    "atan2": _strict("n", math.atan2),
    "radians": _strict("n", math.radians),
    "degrees": _strict("n", math.degrees),
    "pi": lambda: math.pi,
    "distance": _strict("n", _distance),
    "bit_and": _bits(lambda a, b: a & b),
    "bit_or": _bits(lambda a, b: a | b),
    "bit_xor": _bits(lambda a, b: a ^ b),
    "hour": _strict("nt", lambda ts, zone="UTC": _local(ts, zone).hour),
    "minute": _strict("nt", lambda ts, zone="UTC": _local(ts, zone).minute),
    "day_of_week": _strict("nt", lambda ts, zone="UTC": _local(ts, zone).weekday() + 1),
    "in_subnet": _strict("t", _subnet),
    "to_number": _strict("v", _number),
    "to_integer": _strict("v", _integer),
    "to_string": _strict("v", _string),
    "to_boolean": _strict("v", _boolean),
    "is_null": lambda x: x is None,
    "coalesce": lambda *x: next((one for one in x if one is not None), None),
    "case": lambda *x: next((x[n + 1] for n in range(0, len(x) - 1, 2) if x[n] is True), x[-1]),
}
"""By name; `length`, `contains` and `nullif` are in `match.values`."""
