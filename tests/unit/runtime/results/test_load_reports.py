"""Load reports: what is left out of one that its topic would not take."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from saffron.runtime.results.load_reports import load_message


@pytest.mark.parametrize("queries", [1, 60, 400])
def test_a_report_that_is_too_large_has_fewer_traced_matches(queries: int) -> None:
    match = list(range(4_000_000_000, 4_000_000_064))
    traced: dict[str, Any] = {
        f"query_{number}": {"count": 900, "matches": [[n, *match] for n in range(32)]} for number in range(queries)
    }
    body: dict[str, Any] = {"service": "matcher", "position": 7, "traced": traced}
    message = load_message(body)
    sent = orjson.loads(message)
    assert len(message) <= 500_000
    assert {**sent, "traced": {}} == {**body, "traced": {}}
    for query, one in traced.items():
        kept = sent["traced"][query]["matches"]
        assert sent["traced"][query]["count"] == 900
        assert kept == one["matches"][len(one["matches"]) - len(kept) :]
        assert kept
    assert (message == orjson.dumps(body)) == (queries == 1)
