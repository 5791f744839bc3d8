"""The examples of docs/python.md."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from saffron.engine.operators import aggregates
from saffron.schema.functions import own

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


@pytest.mark.slow
def test_the_examples_give_what_the_page_says() -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    try:
        done = doctest.testfile(str(PAGE), module_relative=False, optionflags=options)
    finally:
        aggregates.forget("geomean")
        own.forget("initial")
    assert done.attempted > 20
    assert done.failed == 0
