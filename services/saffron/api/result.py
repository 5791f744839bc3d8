"""Results as Python objects: matches and trends, with their events and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from saffron.api import html
from saffron.api.timeline import timeline
from saffron.counted import counted
from saffron.schema.numbers import digits

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Event(Mapping[str, Any]):
    """An event of a match: a read-only dict whose items are attributes too (`e["price"]`, `e.price`)."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, name: str) -> Any:
        return self._data[name]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._data:
            return self._data[name]
        raise AttributeError(f"the event has no attribute {name!r}; it has {', '.join(self._data)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __hash__(self) -> int:
        return hash(self._data.get("seq"))

    def __repr__(self) -> str:
        text = ", ".join(f"{name}={value!r}" for name, value in self._data.items() if name != "type")
        return f"{self._data.get('type', 'Event')}({text})"

    def to_dict(self) -> dict[str, Any]:
        return dict(self._data)


class Result:
    """The common part of all results. Results with equal ids are equal; ids are the same in every run."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, name: str) -> Any:
        """Any member of the result's JSON form."""
        return self._data[name]

    @property
    def id(self) -> str:
        """The id: a 128-bit hash as 32 hex digits."""
        return str(self._data["id"])

    @property
    def query(self) -> str:
        """The query's name."""
        return str(self._data["query"])

    @property
    def partition(self) -> int:
        return int(self._data["partition"])

    @property
    def window(self) -> tuple[int, int] | None:
        """[from, to): ms since 1970 UTC, or positions for a window in EVENTS; None for a match of WITHIN alone."""
        bounds = self._data.get("window")
        return None if bounds is None else (bounds[0], bounds[1])

    @property
    def returns(self) -> Mapping[str, Any]:
        """The values of RETURN by name, in its order."""
        return MappingProxyType(self._data.get("return") or {})

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as `saffron replay` prints it."""
        return dict(self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


class Match(Result):
    """A match: the events bound to each variable. A notebook shows them on a timeline."""

    __slots__ = ("_events",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self._events: dict[str, Event | list[Event] | None] | None = None

    @property
    def key(self) -> Mapping[str, Any]:
        """The attributes of [attr] and their values, which all events have in common."""
        return MappingProxyType(self._data.get("key") or {})

    @property
    def start(self) -> int:
        """Time of the first event, ms since 1970 UTC."""
        return int(self._data["start"])

    @property
    def end(self) -> int:
        """Time of the last event, ms since 1970 UTC."""
        return int(self._data["end"])

    @property
    def timeout(self) -> bool:
        """True if the result is a partial match whose window ended (OUTPUT ... WITH TIMEOUTS)."""
        return bool(self._data.get("timeout", False))

    @property
    def waiting(self) -> tuple[str, ...]:
        """The variables that a timed-out partial match waited for, else ()."""
        return tuple(self._data.get("waiting", ()))

    @property
    def confidence(self) -> float | None:
        """The probability of a match over imprecise time, else None."""
        return self._data.get("confidence")

    @property
    def events(self) -> Mapping[str, Event | list[Event] | None]:
        """Variable -> event; a list of events for a closure; None if nothing was bound. Empty under EMIT VALUES."""
        if self._events is None:
            self._events = {name: _bound(value) for name, value in self._data.get("events", {}).items()}
        return MappingProxyType(self._events)

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in self.key.items()]
        parts += [f"{name}[{len(e)}]" if isinstance(e, list) else name for name, e in self.events.items() if e]
        text = ", ".join(f"{name}={value!r}" for name, value in self.returns.items())
        body = f"{self.query}: {' '.join(parts)}, {html.moment(self.start)} + {html.duration(self.end - self.start)}"
        return f"<Match {html.shortened(body + (f', {text}' if text else ''), 160)}>"

    def _repr_html_(self) -> str:
        """The HTML of a match in a notebook: key and span, returned values, a timeline, and a folded table of events.

        A match without events (EMIT VALUES) has no timeline and no table.
        """
        rows = [
            (name, event if isinstance(event, list) else [event] if event is not None else [])
            for name, event in self.events.items()
        ]
        span = f"{html.moment(self.start)} + {html.duration(self.end - self.start)}"
        return (
            html.heading(self.query, {**self.key}, span)
            + html.values(self.returns or _NOTHING)
            + (timeline(rows, self.start, self.end) if rows else "")
            + (html.details("events", html.events_table(rows, self.start), plain=False) if rows else "")
        )


class Compressed(Result):
    """All matches that end with one event (OUTPUT COMPRESSED), as a graph; each match is a path."""

    __slots__ = ()

    @property
    def key(self) -> Mapping[str, Any]:
        """The attributes of [attr] and their values, which all events have in common."""
        return MappingProxyType(self._data.get("key") or {})

    @property
    def end(self) -> int:
        """Time of the last event, ms since 1970 UTC."""
        return int(self._data["end"])

    @property
    def count(self) -> int:
        """The exact number of matches."""
        return int(self._data["count"])

    def matches(self) -> Iterator[dict[str, Any]]:
        """The matches, built one by one: variable -> position (seq) of its event, a list for a closure, or None."""
        from saffron.engine.match.output.listing import listed

        return listed(self._data)

    def __repr__(self) -> str:
        matches = counted(self.count, "match that ends", "matches that end")
        return f"<Compressed {self.query}: {matches} at {html.moment(self.end)}>"

    def _repr_html_(self) -> str:
        span = f"to {html.moment(self.end)}"
        return html.heading(self.query, {**self.key}, span) + html.values({"matches": self.count})


class Trend(Result):
    """The result of an aggregate query for one window and group."""

    __slots__ = ()

    @property
    def group(self) -> Mapping[str, Any]:
        """The attributes of GROUP BY."""
        return MappingProxyType(self._data.get("group") or {})

    @property
    def exact(self) -> bool:
        """True if all counts are exact. One beyond 63 bits is a decimal string with correct leading digits."""
        return bool(self._data["exact"])

    def __repr__(self) -> str:
        values = {**self.group, **self.returns}.items()
        parts = [f"{name}={digits(one) if isinstance(one, int) else repr(one)}" for name, one in values]
        return f"<Trend {self.query}: {html.window_span(self.window)}, {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return html.heading(self.query, self.group, html.window_span(self.window)) + html.values(self.returns)


def result_of(data: Mapping[str, Any]) -> Result:
    """The object of a result's JSON form."""
    if "nodes" in data:
        return Compressed(data)
    if "events" in data or "key" in data:  # under EMIT VALUES there are no events
        return Match(data)
    return Trend(data) if "group" in data else Result(data)


def _bound(value: Any) -> Event | list[Event] | None:
    if value is None:
        return None
    return [Event(one) for one in value] if isinstance(value, list) else Event(value)
