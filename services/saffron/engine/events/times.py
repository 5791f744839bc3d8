"""Event times: ISO 8601 text to milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# `datetime.fromisoformat` takes more forms than users mean (week dates, "20240101"), and other ones in each Python.
_FORM = re.compile(
    r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?)?", flags=re.ASCII
)


def parse_iso(text: str) -> int | None:
    """Milliseconds since 1970 UTC of an ISO 8601 date or date and time, or None where `text` is none.

    Without Z or an offset it is UTC. Digits beyond the millisecond are cut off (towards the past).
    """
    if not _FORM.fullmatch(text):
        return None
    try:
        when = datetime.fromisoformat(text.upper().replace(",", "."))
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return (when - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        return None
