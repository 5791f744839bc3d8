"""Who reads the results of a query that is replaced or removed is told, with what becomes of it."""

from __future__ import annotations

import pytest

from saffron.control.queries.left_readers import left_readers
from saffron.language import bind

MAKER = "QUERY mk PATTERN A a WITHIN 1 s RETURN a.x AS x, a.y AS y INTO Mid"
TEXTS = {
    "mk": MAKER,
    "rd": "QUERY rd PATTERN Mid m WHERE m.x > 0 WITHIN 1 s RETURN m.x AS x INTO Top",
    "not": "QUERY not PATTERN SEQ(A a, NOT Mid m) WITHIN 1 s",
    "any": "QUERY any PATTERN ANY e WITHIN 1 s",
    "up": "QUERY up PATTERN Top t WITHIN 1 s",
    "wrong": "QUERY wrong",
}
GONE = "reads Mid, the results of mk: it stays, gets no more of them,"


@pytest.mark.parametrize(
    ("after", "more", "told"),
    [
        (None, {}, [f"query not {GONE} and finds nothing in them", f"query rd {GONE} and finds nothing in them"]),
        (None, {"mk2": MAKER}, [f"query not {GONE} only those of mk2", f"query rd {GONE} only those of mk2"]),
        (MAKER.replace("Mid", "Mod"), {}, [f"query {one} {GONE} and finds nothing in them" for one in ("not", "rd")]),
        (
            MAKER.replace("a.y AS y", "a.y AS z"),
            {},
            [f"query {one} reads Mid, the results of mk: y is null from now on" for one in ("not", "rd")],
        ),
        (MAKER.replace("1 s", "2 s"), {}, []),
        (
            "QUERY mk PATTERN A a WITHIN 1 s",
            {},
            [f"query {one} {GONE} and finds nothing in them" for one in ("not", "rd")],
        ),
    ],
)
def test_each_reader_is_named(after: str | None, more: dict[str, str], told: list[str]) -> None:
    plan = None if after is None else bind(after, None, name="mk", lenient=True).plan
    assert list(left_readers("mk", {**TEXTS, **more}, plan)) == told


def test_a_query_that_nobody_reads_says_nothing() -> None:
    assert not list(left_readers("up", TEXTS, None))
    assert not list(left_readers("wrong", TEXTS, None))
    assert not list(left_readers("nosuch", TEXTS, None))
