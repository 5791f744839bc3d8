"""Events and queries that the tests of the Python API share."""

from __future__ import annotations

from typing import Any

EVENTS: list[dict[str, Any]] = [
    {"type": "Rise", "ts": 1000, "user": "ann", "n": 1, "x": 2.0},
    {"type": "Rise", "ts": 1500, "user": "bob", "n": 2, "x": 5.0},
    {"type": "Rise", "ts": 2000, "user": "ann", "n": 3, "x": 8.0},
    {"type": "Fall", "ts": 4000, "user": "ann", "n": 4, "x": None},
    {"type": "Fall", "ts": 9000, "user": "bob", "n": 5, "x": 1.0},
]

MATCHES = """
    QUERY peaks PATTERN SEQ(Rise+ a[], Fall b) WHERE [user] WITHIN 5 s
    RETURN count(a[]) AS steps, sum(a[].n) AS total, a[last].x - a[1].x AS gain, b.x > 0 AS up, b.user AS who
"""
TRENDS = "QUERY counted PATTERN Rise+ GROUP BY user RETURN COUNT(*) WITHIN 10 s"

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "type": {"const": name},
                "ts": {"type": "integer"},
                "user": {"type": "string"},
                "n": {"type": "integer"},
                "x": {"type": ["number", "null"]},
            },
        }
        for name in ("Rise", "Fall")
    ],
}
