"""Two versions beside each other: what is compared, and what only names a row."""

from __future__ import annotations

from beside import Figure, Tables, figures


def of(*runs: list[dict[str, object]]) -> list[Tables]:
    return [{"figures.json": rows} for rows in runs]


def test_the_medians_of_what_differs_between_runs_are_compared() -> None:
    before = of(*([{"query": "abc", "events": 1000, "ms": ms, "note": "-"}] for ms in (4.0, 2.0, 9.0)))
    now = of(*([{"query": "abc", "events": 1000, "ms": ms, "note": "-"}] for ms in (2.0, 3.0, 1.0)))
    (found,) = figures(before, now)
    assert found == Figure("abc, events 1,000, -", "ms", 4.0, 2.0, (1 / 9, 0.5, 1.5))


def test_rows_tables_and_columns_that_one_version_lacks_are_left_out() -> None:
    before: list[Tables] = [{"a.json": [{"query": "x", "ms": 1.0}]}]
    now: list[Tables] = [
        {"a.json": [{"query": "x", "ms": 2.0, "new ms": 1.5}, {"query": "y", "ms": 2.5}], "b.json": [{"ms": 3.0}]}
    ]
    moved = of([{"query": "y", "ms": 1.0}])
    assert not list(figures(moved, now))
    assert [(one.row, one.name, one.ratios) for one in figures(before, now)] == [("x", "ms", (2.0,))]


def test_a_text_that_differs_between_runs_names_no_row() -> None:
    before, now = of([{"query": "x", "load": "0.5", "ms": 1.0}]), of([{"query": "x", "load": "0.7", "ms": 2.0}])
    assert [one.row for one in figures(before, now)] == ["x"]
