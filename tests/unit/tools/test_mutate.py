"""The mutation check finds what it changes, and the tests that it asks."""

from __future__ import annotations

from mutants import mutants_of
from mutate import ROOT, SUITES, targets


def test_the_files_that_are_changed_and_the_tests_are_there() -> None:
    assert all(mutants_of(ROOT / path) for path in targets() if path.name != "__init__.py")
    tests = {word.partition("::")[0] for suite in SUITES for word in suite if word.startswith("tests/")}
    assert tests
    assert all((ROOT / path).is_file() for path in tests)
