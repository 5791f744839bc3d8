"""The growth of counters, some of which begin anew or are gone."""

from __future__ import annotations

from saffron.runtime.telemetry.growth import Growth


def test_growth_is_told_since_the_last_look() -> None:
    growth = Growth[str]()
    assert growth.since({"a": 3, "b": 1}) == {"a": 3, "b": 1}
    assert growth.since({"a": 5, "b": 1}) == {"a": 2, "b": 0}
    assert growth.since({"a": 4}) == {"a": 4}, "it has begun anew at 0"
    assert growth.since({"a": 4, "b": 1}) == {"a": 0, "b": 1}, "what was gone begins at 0"
