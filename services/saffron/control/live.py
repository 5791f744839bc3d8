"""Throughput and latency of detection, from the digests that services publish on `health` once a second."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from saffron.runtime.telemetry.digest_fields import require_digest

SERIES_SECONDS = 120
"""Length of the page's charts in seconds."""
_SETTLED_MS = 2000
"""Age of the charts' newest point, by which all services' digests have come (ms)."""
_FRESH_MS = 5000
"""Age after which a source's last digest no longer counts (ms)."""
_KNOWN_MS = 3_600_000
"""Age after which a source is forgotten (ms): it was taken away on purpose, or somebody knows of it by then."""
_JITTER_MS = 500
"""Longest gap (ms) between the intervals of two digests that is none: the second took longer to the broker."""
_DETECTING = ("matcher", "greta")
_COUNTS = ("events", "results", "latency_ms", "partial_matches", "watermark", "lag")
_PARTS = ("service", "stream", "partition", "at", "interval_ms", *_COUNTS)
_SEVERITY = ("pass", "catch-up", "shed", "outage")

Digest = Mapping[str, Any]
Source = tuple[str, str | None, int | None]
_Get = Callable[[Digest], float | None]


class LiveStatistics:
    """The recent digests of every (service, stream, partition). Times are in ms; `now` is a parameter.

    The order of the topic orders digests, and the broker's times age them. The clocks of the processes that write them
    may differ.
    """

    def __init__(self, bound_ms: int) -> None:
        self.bound_ms = bound_ms
        self._digests: dict[Source, list[Digest]] = {}
        self._newest_at = 0

    def apply(self, digest: Digest, stamped: int) -> None:
        """Adds the topic's next digest. `stamped`: when the broker had it.

        KeyError: a field is missing. ValueError: one is not as services write it.
        """
        require_digest(digest)
        digest = {
            **{part: digest[part] for part in _PARTS},
            "at": stamped,
            "shed": digest.get("shed"),
            "mistyped": digest.get("mistyped"),
        }
        self._newest_at = stamped
        known = self._digests.setdefault((digest["service"], digest["stream"], digest["partition"]), [])
        while known and known[-1]["at"] > stamped:  # the broker's clock was set back
            del known[-1]
        known.append(digest)
        oldest = stamped - (SERIES_SECONDS * 1000 + 2 * _SETTLED_MS)
        while known[0]["at"] < oldest:
            del known[0]

    def view(self, now: int) -> dict[str, Any]:
        """Present numbers, and one point a second for the last `SERIES_SECONDS` (null: no digest)."""
        now = self._by_broker(now)
        self._digests = {
            source: known for source, known in self._digests.items() if abs(now - known[-1]["at"]) < _KNOWN_MS
        }
        last = [known[-1] for known in self._digests.values() if _is_fresh(known[-1], now)]
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
        """Events a second that windowing reads of a stream; None: no recent digest."""
        now = self._by_broker(now)
        newest = (known[-1] for source, known in self._digests.items() if source[:2] == ("windowing", stream))
        return _total((one for one in newest if _is_fresh(one, now)), _events_rate)

    def windowing_of(self, stream: str, now: int) -> list[dict[str, Any]]:
        """The partitions of a stream, as windowing reported them last; those without a recent digest are left out.

        `mistyped`: by attribute the values that were null, not being what they should be.
        """
        now = self._by_broker(now)
        newest = [known[-1] for source, known in self._digests.items() if source[:2] == ("windowing", stream)]
        fresh = [one for one in newest if _is_fresh(one, now) and one["partition"] is not None]
        return [
            {
                "partition": one["partition"],
                "at": one["at"],
                "watermark": one["watermark"],
                "lag": one["lag"],
                "events_per_second": _events_rate(one),
                "mistyped": one["mistyped"] or {},
            }
            for one in sorted(fresh, key=lambda one: int(one["partition"]))
        ]

    def _by_broker(self, now: int) -> int:
        """The present time: our clock's, or the broker's newest where that is later."""
        return max(now, self._newest_at)

    def _covering(self, time: int) -> list[Digest]:
        """The digest of each source whose interval contains `time`."""
        found = []
        for known in self._digests.values():
            place = bisect_left(known, time, key=lambda one: one["at"])
            if place == len(known):
                continue
            begin = known[place]["at"] - known[place]["interval_ms"]
            if begin < time or (place and begin - known[place - 1]["at"] <= _JITTER_MS):
                found.append(known[place])
        return found

    def _services(self, now: int) -> list[dict[str, Any]]:
        names = sorted({source[0] for source in self._digests})
        return [self._service(name, now) for name in names]

    def _service(self, name: str, now: int) -> dict[str, Any]:
        """A service's row on the page, from its newest digests."""
        last = [known[-1] for source, known in self._digests.items() if source[0] == name]
        fresh = [one for one in last if _is_fresh(one, now)]
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


def _is_fresh(digest: Digest, now: int) -> bool:
    """True if the digest is of now. One from the future is not: the broker's clock was set back since."""
    return abs(now - int(digest["at"])) < _FRESH_MS


def _point(digests: Iterable[Digest]) -> dict[str, Any]:
    """The charts' numbers from digests of one moment. Latencies are those of the worst partition."""
    found = list(digests)
    detecting = [one for one in found if one["service"] in _DETECTING]
    return {
        "events_per_second": _total((one for one in found if one["service"] == "windowing"), _events_rate),
        "results_per_second": _total(detecting, lambda one: _rate(one, "results")),
        "partial_matches": _total(detecting, lambda one: one["partial_matches"]),
        "latency_ms": _worst(detecting),
    }


def _overload(digests: Iterable[Digest]) -> dict[str, Any] | None:
    """The shedders' last decisions: the worst of all partitions, or None without a digest.

    Partial matches to keep are added up. Shares `missed` and `false` are over all partitions.
    """
    decided = [one["shed"] for one in digests if one["service"] == "shedder" and one["shed"] is not None]
    if not decided:
        return None
    kept = [one["keep"] for one in decided if one["keep"] is not None]
    estimated = [one.get("estimated", {}) for one in decided]  # digests of older services have none
    return {
        "why": max((one["why"] for one in decided), key=_severity),
        "share": max(one["share"] for one in decided),
        "keep": sum(kept) if kept else None,
        "missed": _ratios(estimated, "lost", "due"),
        "false": _ratios(estimated, "false", "found"),
    }


def _severity(why: str) -> int:
    """Rank of a reason. An unknown one of a newer shedder ranks above all known ones."""
    return _SEVERITY.index(why) if why in _SEVERITY else len(_SEVERITY)


def _ratios(estimated: Sequence[Mapping[str, Mapping[str, float]]], part: str, whole: str) -> dict[str, float]:
    """The sum of `part` over all partitions divided by that of `whole`, by query."""
    sums: dict[str, tuple[float, float]] = {}
    for one in estimated:
        for query, own in one.items():
            before = sums.get(query, (0.0, 0.0))
            sums[query] = before[0] + own[part], before[1] + own[whole]
    return {query: round(some / every, 6) if every else 0.0 for query, (some, every) in sorted(sums.items())}


def _rate(digest: Digest, count: str) -> float:
    """A count of a digest per second."""
    return float(digest[count]) * 1000 / float(digest["interval_ms"])


def _events_rate(digest: Digest) -> float:
    return _rate(digest, "events")


def _total(digests: Iterable[Digest], get: _Get) -> float | None:
    """The sum of a number over digests, None if no digest has it."""
    values = [value for value in map(get, digests) if value is not None]
    return round(sum(values), 1) if values else None


def _worst(digests: Iterable[Digest]) -> dict[str, float] | None:
    """The greatest p50 and p99 over digests, None without a measurement."""
    measured = [one["latency_ms"] for one in digests if one["latency_ms"] is not None]
    if not measured:
        return None
    return {name: max(float(one[name]) for one in measured) for name in ("p50", "p99")}
