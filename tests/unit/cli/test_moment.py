"""Times as a person reads them."""

from __future__ import annotations

import pytest

from saffron.cli.console import moment


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (1_700_000_000_123, "2023-11-14 22:13:20"),
        (1_700_000_000_000_000, "1700000000000000"),
        (-(2**53), str(-(2**53))),
    ],
)
def test_what_is_in_no_year_that_a_calendar_has_stays_a_number(ms: int, shown: str) -> None:
    """Microseconds taken for milliseconds, say."""
    assert moment(ms) == shown
