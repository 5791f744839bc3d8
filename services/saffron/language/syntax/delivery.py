"""EMIT, PUBLISH and INTO in a query's text, for those who look at results.

Many ask of all registered queries, again and again, so that what a text says is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from saffron.errors import QueryError
from saffron.language.syntax.parsing.parser import parse
from saffron.language.syntax.printer import query_text
from saffron.language.syntax.tree import Publish

_TEXTS = 2048
"""Query texts of which it is kept what they say."""


@dataclass(frozen=True)
class _Said:
    """The stream that a query names, its topic of PUBLISH, the type of INTO, and whether it publishes rows (AS)."""

    stream: str | None
    topic: str | None
    into: str | None
    rows: bool


def whole_text(text: str) -> str:
    """The text of a query whose results are written in full: the same results and ids, without EMIT, INTO and rows."""
    query = parse(text)
    unwritten = query.publish is None and query.returns is not None and query.returns.into is not None
    rows = query.publish is not None and query.publish.form is not None
    if query.emit is None and not unwritten and not rows:
        return text
    publish = Publish(None) if query.publish is None or rows else query.publish
    return query_text(replace(query, emit=None, publish=publish), named=True)


def published(text: str) -> tuple[str | None, str] | None:
    """The stream that a query names, and its topic of PUBLISH; None: it has no such topic, or the text is no query."""
    said = _said(text)
    return None if said is None or said.topic is None else (said.stream, said.topic)


def made(text: str) -> tuple[str | None, str] | None:
    """The stream that a query names, and the type of events that it makes there (INTO); None: none, or no query."""
    said = _said(text)
    return None if said is None or said.into is None else (said.stream, said.into)


def topic_of(text: str) -> str | None:
    """The topic of PUBLISH in a query's text; None: it has none, or the text is no query."""
    found = published(text)
    return None if found is None else found[1]


def topics_of(texts: Iterable[str]) -> set[str]:
    """The topics of PUBLISH in the texts of queries."""
    return {topic for text in texts if (topic := topic_of(text)) is not None}


def has_rows(text: str) -> bool:
    """True if a query publishes rows (AS), which are no results as Saffron's own readers know them."""
    said = _said(text)
    return said is not None and said.rows


@lru_cache(maxsize=_TEXTS)
def _said(text: str) -> _Said | None:
    """What a text says; None: it is no query."""
    try:
        query = parse(text)
    except QueryError:
        return None
    publish, returns = query.publish, query.returns
    topic, form = (None, None) if publish is None else (publish.topic, publish.form)
    return _Said(query.stream, topic, None if returns is None else returns.into, form is not None)
