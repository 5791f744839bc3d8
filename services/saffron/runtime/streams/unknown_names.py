"""The messages about a stream, a query or a topic that is not there, with the name that may be meant."""

from __future__ import annotations

from collections.abc import Iterable

from saffron.language.syntax.hints import listing, suggestion


def no_stream(name: str, known: Iterable[str], more: str = "") -> str:
    """`there is no stream 'shp'; streams: events, shop. Did you mean 'shop'?` `more`: a clause behind the first."""
    return _none(f"there is no stream {name!r}", more, "streams", name, list(known))


def no_query(name: str, known: Iterable[str]) -> str:
    """`there is no query 'raly'; queries: fall, rally. Did you mean 'rally'?`."""
    return _none(f"there is no query {name!r}", "", "queries", name, sorted(known))


def no_source(stream: str, topic: str, known: Iterable[str]) -> str:
    """`'order' is no topic of stream shop; topics: orders, payments. Did you mean 'orders'?`."""
    return _none(f"{topic!r} is no topic of stream {stream}", "", "topics", topic, list(known))


def no_topic(name: str, known: Iterable[str], more: str = "is that its full name?", at: str = "") -> str:
    """`topic 'order' does not exist: is that its full name? Did you mean 'orders'?` `at`: the address of the broker.

    A cluster may have thousands of topics, so none but the one that may be meant is named.
    """
    near = suggestion(name, sorted(known))
    said = f"topic {name!r} does not exist{f' at {at}' if at else ''}: {more}"
    return f"{said}{'' if said.endswith('?') else '.'} {near}" if near else said


def _none(said: str, more: str, plural: str, name: str, known: list[str]) -> str:
    there = f"{plural}: {listing(known)}" if known else f"there are no {plural}"
    near = suggestion(name, known)
    whole = "; ".join(part for part in (said, more, there) if part)
    return f"{whole}. {near}" if near else whole
