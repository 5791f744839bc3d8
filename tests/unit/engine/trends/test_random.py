"""Random queries over random streams: the engine counts what the reference enumerates, however the stream is cut."""

from __future__ import annotations

import random
from collections.abc import Iterator

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saffron.engine import jit
from tests.reference.trends import answers
from tests.unit.engine.trends.build import query_control, schema_control
from tests.unit.engine.trends.cases import Case, cut, random_case, run, whole

_RELAXED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def check(case: Case, *, compiled: bool) -> list[bytes]:
    found = run(whole(case, "q", random.Random(0)), compiled=compiled)
    expected = answers(case.question, case.events)
    shown = [orjson.loads(line) for line in found]
    assert [(*line["window"], line["group"], line["return"]["COUNT(*)"]) for line in shown] == [
        (low, high, group, count) for low, high, _, group, count in expected
    ], case.text
    assert all(line["exact"] for line in shown)
    assert len({line["id"] for line in shown}) == len(shown)
    return found


@pytest.fixture(scope="module", autouse=True)
def _own_sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A thousand generated sources stay out of the user's cache."""
    before = jit._directory
    jit.use_directory(tmp_path_factory.mktemp("kernels"))
    yield
    jit.use_directory(before)


@settings(_RELAXED, max_examples=1000)
@given(st.integers(0, 2**32))
def test_counts_are_those_of_the_enumerated_trends(seed: int) -> None:
    check(random_case(random.Random(seed)), compiled=False)


@settings(_RELAXED, max_examples=40)
@given(st.integers(0, 2**32))
def test_compiled_counts_are_those_of_the_enumerated_trends(seed: int) -> None:
    check(random_case(random.Random(seed)), compiled=True)


@settings(_RELAXED, max_examples=150)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 12), max_size=6))
def test_cuts_and_restarts_change_nothing(seed: int, bounds: list[int]) -> None:
    case = random_case(random.Random(seed))
    controls = (schema_control(), query_control("q", text=case.text))
    found = run(whole(case, "q", random.Random(0)), compiled=False)
    assert run(cut(case, "q", bounds, random.Random(seed), controls), compiled=False, restarts=True) == found
