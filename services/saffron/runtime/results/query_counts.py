"""Numbers of results by query within a block, in a form whose size does not depend on the queries' names.

Brokers store little beside an offset. A query takes four to seven bytes there: a digest of its name, and its number.
"""

from __future__ import annotations

from base64 import b85decode, b85encode
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from saffron.engine.operators.results import Results

_DIGEST = 3
_MORE, _BITS = 0x80, 7
"""A number is written in groups of 7 bits, the lowest first. The highest bit of a byte says that one more follows."""

Counts = Mapping[int, int]
"""Numbers of results by the digest of the query's name."""


@lru_cache(maxsize=4096)
def name_digest(name: str) -> int:
    """A number of 24 bits for a query's name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=_DIGEST).digest(), "big")


def counts_by_query(results: Results, index: int) -> Counts:
    """Number of results by query, among the first `index` results."""
    numbers = np.bincount(results.query[:index], minlength=len(results.names)).tolist()
    return _summed(dict(zip(results.names, numbers, strict=True)))


def results_of_others(counts: Counts, names: Collection[str]) -> int:
    """Number of results of queries other than `names`."""
    present = {name_digest(name) for name in names}
    return sum(number for digest, number in counts.items() if digest not in present)


def counts_text(counts: Counts) -> str:
    """The counts as text, which needs no escapes in JSON."""
    written = bytearray()
    for digest, number in counts.items():
        written += digest.to_bytes(_DIGEST, "big")
        while number >= _MORE:
            written.append(number % _MORE | _MORE)
            number >>= _BITS
        written.append(number)
    return b85encode(written).decode()


def counts_of(kept: object) -> Counts:
    """The counts in a text; or in a mapping by name, as version 0.1.0 wrote them. ValueError: neither."""
    if isinstance(kept, Mapping):
        return _summed({str(name): int(number) for name, number in kept.items()})
    content, counts, at = b85decode(str(kept)), dict[int, int](), 0
    while at < len(content):
        digest, at = int.from_bytes(content[at : at + _DIGEST], "big"), at + _DIGEST
        number, shift = content[at] % _MORE, _BITS
        while content[at] & _MORE:
            at += 1
            number, shift = number | (content[at] % _MORE) << shift, shift + _BITS
        counts[digest], at = number, at + 1
    return counts


def _summed(numbers: Mapping[str, int]) -> Counts:
    summed = Counter[int]()
    for name, number in numbers.items():
        summed[name_digest(name)] += number
    return {digest: number for digest, number in summed.items() if number}
