"""EMIT, PUBLISH and INTO in a query's text, for those who look at results.

Many ask of all registered queries, again and again, so that what a text says is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from saffron.errors import QueryError
from saffron.language.syntax.parsing.parser import parse
from saffron.language.syntax.printer import query_text
from saffron.language.syntax.tree import Publish, Query

_TEXTS = 2048
"""Query texts whose answers are kept."""


def whole_text(text: str) -> str:
    """The text of a query whose results are written in full: the same results and ids, without EMIT, INTO and rows."""
    query = parse(text)
    unwritten = query.publish is None and query.returns is not None and query.returns.into is not None
    rows = query.publish is not None and query.publish.form is not None
    if query.emit is None and not unwritten and not rows:
        return text
    publish = Publish(None) if query.publish is None or rows else query.publish
    return query_text(replace(query, emit=None, publish=publish), named=True)


@lru_cache(maxsize=_TEXTS)
def published(text: str) -> tuple[str | None, str] | None:
    """The stream that a query names, and its topic of PUBLISH; None: it has no such topic, or the text is no query."""
    query = _parsed(text)
    if query is None or query.publish is None or query.publish.topic is None:
        return None
    return query.stream, query.publish.topic


@lru_cache(maxsize=_TEXTS)
def made(text: str) -> tuple[str | None, str] | None:
    """The stream that a query names, and the type of events that it makes there (INTO); None: none, or no query."""
    query = _parsed(text)
    if query is None or query.returns is None or query.returns.into is None:
        return None
    return query.stream, query.returns.into


def topic_of(text: str) -> str | None:
    """The topic of PUBLISH in a query's text; None: it has none, or the text is no query."""
    found = published(text)
    return None if found is None else found[1]


def topics_of(texts: Iterable[str]) -> set[str]:
    """The topics of PUBLISH in the texts of queries."""
    return {topic for text in texts if (topic := topic_of(text)) is not None}


@lru_cache(maxsize=_TEXTS)
def has_rows(text: str) -> bool:
    """True if a query publishes rows (AS), which are no results as Saffron's own readers know them."""
    query = _parsed(text)
    return query is not None and query.publish is not None and query.publish.form is not None


def _parsed(text: str) -> Query | None:
    try:
        return parse(text)
    except QueryError:
        return None
