"""The message about a stream that is not there."""

from __future__ import annotations

from collections.abc import Iterable

from saffron.language.syntax.hints import listing, suggestion


def no_stream(name: str, known: Iterable[str], more: str = "") -> str:
    """`there is no stream 'shp'; streams: events, shop. Did you mean 'shop'?` `more`: a clause behind the first."""
    names = list(known)
    said = "; ".join(part for part in (f"there is no stream {name!r}", more, f"streams: {listing(names)}") if part)
    near = suggestion(name, names)
    return f"{said}. {near}" if near else said
