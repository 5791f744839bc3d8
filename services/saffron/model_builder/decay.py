"""Decay: counts are halved once per half-life, so that models follow a changing stream.

A half-life is a number of batches with observations for the book. So nothing decays without new observations, and a
repeated batch decays the same counts.
"""

from __future__ import annotations

from saffron.model_builder.books import Books
from saffron.model_builder.policy import Policy

_PLENTY = 10
"""Multiple of the observations of a first model that a book must have before it is halved."""


def decay(books: Books, policy: Policy) -> None:
    """Halve the books that the batch has updated and whose half-life has passed, if they have enough observations."""
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
