"""Forgetting: what is older than a half-life counts half, so that models follow a stream that has changed.

Counted in batches that brought something for what is forgotten: nothing is forgotten for want of anything new, and a
batch that is done again forgets the same, exactly.
"""

from __future__ import annotations

from saffron.model_builder.books import Books
from saffron.model_builder.policy import Policy

_PLENTY = 10
"""What is left when so many times as much as a first model needs is halved, is still good for one that is believed."""


def decay(books: Books, policy: Policy) -> None:
    """Halve what the books' batch has touched and whose time has come; but nothing of what there is little of."""
    for query in books.queries.values():
        if query.touched == books.batch:
            query.since_halved += 1
            if query.since_halved >= policy.half_life and policy.is_enough(query.counts, times=_PLENTY):
                query.halve()
    for stream in books.streams.values():
        if stream.touched == books.batch:
            stream.since_halved += 1
            if stream.since_halved >= policy.half_life:
                stream.halve()
    for book in books.features.held.values():
        if book.touched == books.batch:
            book.since_halved += 1
            if book.since_halved >= policy.half_life and policy.is_enough_of_events(book.counts, times=_PLENTY):
                book.halve()
