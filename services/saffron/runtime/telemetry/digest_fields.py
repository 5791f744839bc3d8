"""The fields of digests as their readers rely on them: other programs may write to `health`, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_Fits = Callable[[Any], bool]


def require_digest(body: Mapping[str, Any]) -> None:
    """ValueError: a field that the body has is not as services write it (schemas/health.yaml)."""
    for name, fits in _FIELDS.items():
        if name in body and not fits(body[name]):
            raise ValueError(f"{name!r} of a digest cannot be {body[name]!r}")


def is_count(value: Any) -> bool:
    """True for an integer that is not negative."""
    return _is_integer(value) and value >= 0


def are_counts(value: Any) -> bool:
    """True for an object whose values are counts."""
    return isinstance(value, dict) and all(map(is_count, value.values()))


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _or_null(fits: _Fits) -> _Fits:
    return lambda value: value is None or fits(value)


def _is_latency(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_number(value.get(name)) for name in ("p50", "p99"))


def _is_decision(value: Any) -> bool:
    """True for what the shedder decided last."""
    if not isinstance(value, dict) or not isinstance(value.get("why"), str) or not _is_number(value.get("share")):
        return False
    if not _or_null(is_count)(value.get("keep")):
        return False
    estimated = value.get("estimated", {})  # digests of 0.1.0 have none
    return isinstance(estimated, dict) and all(map(_is_estimate, estimated.values()))


def _is_estimate(value: Any) -> bool:
    """True for what the shedder estimates of one query."""
    return isinstance(value, dict) and all(_is_number(value.get(name)) for name in ("due", "lost", "found", "false"))


def _is_input(value: Any) -> bool:
    """True for a report on one partition that a service reads."""
    if not isinstance(value, dict) or not isinstance(value.get("topic"), str) or not is_count(value.get("partition")):
        return False
    return _are(_is_incident)(value.get("incidents"))


def _is_incident(value: Any) -> bool:
    """True for what became of a topic that a service reads."""
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return False
    return all(_is_integer(value.get(name)) for name in ("at", "offset", "before", "after"))


def _are(fits: _Fits) -> _Fits:
    return lambda value: isinstance(value, list) and all(map(fits, value))


_FIELDS: Mapping[str, _Fits] = {
    "service": _is_text,
    "stream": _or_null(_is_text),
    "partition": _or_null(is_count),
    "at": _is_integer,
    "interval_ms": lambda value: is_count(value) and value > 0,
    **dict.fromkeys(("events", "results", "partial_matches"), is_count),
    "latency_ms": _or_null(_is_latency),
    "watermark": _or_null(_is_integer),
    "lag": _or_null(is_count),
    "inputs": _are(_is_input),
    "troubles": _are(_is_text),
    "shed": _or_null(_is_decision),
    "mistyped": _or_null(are_counts),
    **dict.fromkeys(("left_out", "in_seconds", "late_by_silence"), is_count),
}
