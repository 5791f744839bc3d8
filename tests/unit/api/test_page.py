"""The examples of docs/python.md and docs/live.md."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from saffron.engine.operators import aggregates
from saffron.schema.functions import own

DOCS = Path(__file__).resolve().parents[3] / "docs"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.slow
def test_the_examples_give_what_the_page_says() -> None:
    try:
        done = doctest.testfile(str(DOCS / "python.md"), module_relative=False, optionflags=OPTIONS)
    finally:
        aggregates.forget("geomean")
        own.forget("initial")
    assert done.attempted > 20
    assert done.failed == 0


def test_the_examples_of_live_queries_give_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(DOCS / "live.md"), module_relative=False, optionflags=OPTIONS)
    assert done.attempted > 10
    assert done.failed == 0
