"""What `saffron dlq` says of the letters that it lists."""

from __future__ import annotations

from collections import Counter

from saffron.cli.streams.dlq import summary
from saffron.runtime.dead_letters.reading import Found


def test_reasons_are_counted_once_where_no_letter_has_the_one_asked_for() -> None:
    reasons = Counter({"no-type": 1, "not-json": 1200})
    assert summary(Found([], reasons, 1201, whole=True)) == "none of this reason; 1 no-type, 1,200 not-json"
    assert summary(Found([], Counter(), 0, whole=True)) == "none"
