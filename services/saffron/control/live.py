"""How fast and how late detection is, from the digests that services publish on `health` once a second."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

SERIES_SECONDS = 120
"""How far back the page's charts go."""
_SETTLED_MS = 2000
"""The newest point of the charts is so old: digests of every service have come by then."""
_FRESH_MS = 5000
"""A source that has been silent for this long no longer counts."""
_DETECTING = ("matcher", "greta")
_COUNTS = ("events", "results", "latency_ms", "partial_matches", "watermark", "lag")
_PARTS = ("service", "stream", "partition", "at", "interval_ms", *_COUNTS)
_SEVERITY = ("pass", "catch-up", "shed", "outage")

Digest = Mapping[str, Any]
Source = tuple[str, str | None, int | None]
_Get = Callable[[Digest], float | None]


class Live:
    """The last digests of every (service, stream, partition). Times are ms; `now` is handed in."""

    def __init__(self, bound_ms: int) -> None:
        self.bound_ms = bound_ms
        self._digests: dict[Source, list[Digest]] = {}

    def apply(self, digest: Digest) -> None:
        """Take one digest; one not newer than the last of its source is ignored. KeyError: a part is missing."""
        digest = {**{part: digest[part] for part in _PARTS}, "shed": digest.get("shed")}
        known = self._digests.setdefault((digest["service"], digest["stream"], digest["partition"]), [])
        if known and digest["at"] <= known[-1]["at"]:
            return
        known.append(digest)
        oldest = digest["at"] - (SERIES_SECONDS * 1000 + 2 * _SETTLED_MS)
        while known[0]["at"] < oldest:
            del known[0]

    def view(self, now: int) -> dict[str, Any]:
        """Numbers of the present, and a point a second of the last `SERIES_SECONDS` (null: nobody reported)."""
        last = [known[-1] for known in self._digests.values() if now - known[-1]["at"] < _FRESH_MS]
        newest = (now - _SETTLED_MS) // 1000 * 1000
        times = range(newest - (SERIES_SECONDS - 1) * 1000, newest + 1, 1000)
        return {
            "at": now,
            "bound_ms": self.bound_ms,
            **_point(last),
            "series": [{"at": time, **_point(self._covering(time))} for time in times],
            "services": self._services(now),
            "overload": _overload(last),
        }

    def events_of(self, stream: str, now: int) -> float | None:
        """Events a second that windowing takes of a stream; None: it says nothing of it now."""
        said = (known[-1] for source, known in self._digests.items() if source[:2] == ("windowing", stream))
        return _total((one for one in said if now - one["at"] < _FRESH_MS), _events_rate)

    def _covering(self, time: int) -> list[Digest]:
        """Of each source, the digest whose interval holds `time`."""
        found = []
        for known in self._digests.values():
            place = bisect_left(known, time, key=lambda one: one["at"])
            if place < len(known) and known[place]["at"] - known[place]["interval_ms"] < time:
                found.append(known[place])
        return found

    def _services(self, now: int) -> list[dict[str, Any]]:
        names = sorted({source[0] for source in self._digests})
        return [self._service(name, now) for name in names]

    def _service(self, name: str, now: int) -> dict[str, Any]:
        last = [known[-1] for source, known in self._digests.items() if source[0] == name]
        fresh = [one for one in last if now - one["at"] < _FRESH_MS]
        return {
            "service": name,
            "silent_ms": max(0, now - max(one["at"] for one in last)),
            "alive": bool(fresh),
            "partitions": len({(one["stream"], one["partition"]) for one in fresh if one["partition"] is not None}),
            "events_per_second": _total(fresh, lambda one: _rate(one, "events")),
            "results_per_second": _total(fresh, lambda one: _rate(one, "results")),
            "partial_matches": _total(fresh, lambda one: one["partial_matches"]),
            "lag": _total(fresh, lambda one: one["lag"]),
            "latency_ms": _worst(fresh),
            "watermark": min((one["watermark"] for one in fresh if one["watermark"] is not None), default=None),
        }


def _point(digests: Iterable[Digest]) -> dict[str, Any]:
    """What the charts show of digests of one moment; latencies are those of the worst partition."""
    found = list(digests)
    detecting = [one for one in found if one["service"] in _DETECTING]
    return {
        "events_per_second": _total((one for one in found if one["service"] == "windowing"), _events_rate),
        "results_per_second": _total(detecting, lambda one: _rate(one, "results")),
        "partial_matches": _total(detecting, lambda one: one["partial_matches"]),
        "latency_ms": _worst(detecting),
    }


def _overload(digests: Iterable[Digest]) -> dict[str, Any] | None:
    """What shedders decided last, of all partitions the worst; partial matches that may stay are added up. What is
    `missed` and `false` of a query is so of all partitions together. None: none has reported."""
    said = [one["shed"] for one in digests if one["service"] == "shedder" and one["shed"] is not None]
    if not said:
        return None
    kept = [one["keep"] for one in said if one["keep"] is not None]
    estimated = [one.get("estimated", {}) for one in said]  # none in a digest of an older service
    return {
        "why": max((one["why"] for one in said), key=_severity),
        "share": max(one["share"] for one in said),
        "keep": sum(kept) if kept else None,
        "missed": _ratios(estimated, "lost", "due"),
        "false": _ratios(estimated, "false", "found"),
    }


def _severity(why: str) -> int:
    """Where a reason stands; one that only a newer shedder knows is worth more than all that we know."""
    return _SEVERITY.index(why) if why in _SEVERITY else len(_SEVERITY)


def _ratios(estimated: Sequence[Mapping[str, Mapping[str, float]]], part: str, whole: str) -> dict[str, float]:
    """By query, one of its sums over all partitions for another one."""
    sums: dict[str, tuple[float, float]] = {}
    for one in estimated:
        for query, own in one.items():
            before = sums.get(query, (0.0, 0.0))
            sums[query] = before[0] + own[part], before[1] + own[whole]
    return {query: round(some / every, 6) if every else 0.0 for query, (some, every) in sorted(sums.items())}


def _rate(digest: Digest, count: str) -> float:
    return float(digest[count]) * 1000 / float(digest["interval_ms"])


def _events_rate(digest: Digest) -> float:
    return _rate(digest, "events")


def _total(digests: Iterable[Digest], get: _Get) -> float | None:
    values = [value for value in map(get, digests) if value is not None]
    return round(sum(values), 1) if values else None


def _worst(digests: Iterable[Digest]) -> dict[str, float] | None:
    measured = [one["latency_ms"] for one in digests if one["latency_ms"] is not None]
    if not measured:
        return None
    return {name: max(float(one[name]) for one in measured) for name in ("p50", "p99")}
