"""Random aggregate queries over the whole grammar, from their text to their results, against the definition.

Kernels run as plain Python, but for some hundred cases. A case is named by its seed (`language.case(seed)`); a failure
shows the seed, the text and the events. `make nightly` asks many more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

import pytest

from tests.reference.trends import generate, walk
from tests.reference.trends.results import Answer, answers
from tests.unit.engine.trends.language import Case, Line, blocks, case, found_lines, near, run, same
from tests.unit.engine.trends.matched import answers_by_matches, why_not
from tests.unit.engine.trends.refused import TWINLESS

CHUNK = 100
SEEDS, NIGHTLY = 2_200, 24_000
TAKEN = 85
"""Queries that one test asks, and how many of them at least the binder takes (of all, more than 2,000 and 20,000)."""

LONG_CHUNK, LONG, LONG_NIGHTLY = 5, 20, 2_000
"""Long streams that one test asks about, and all of them."""

TWINS = range(50_000, 50_400)
COMPILED, STREAMS = 2, 80
"""Queries that are asked of compiled kernels, and the streams for each."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, CHUNK of them; `long`: those of long streams."""
    nightly = metafunc.config.getoption("nightly")
    if "first" in metafunc.fixturenames:
        metafunc.parametrize("first", range(0, NIGHTLY if nightly else SEEDS, CHUNK))
    if "long" in metafunc.fixturenames:
        metafunc.parametrize("long", range(40_000, 40_000 + (LONG_NIGHTLY if nightly else LONG), LONG_CHUNK))


def cases(seeds: Iterable[int]) -> Iterator[Case]:
    yield from (made for made in map(case, seeds) if isinstance(made, Case))


def check(made: Case, found: list[bytes]) -> None:
    expected = answers(made.asked, made.events)
    lines = found_lines(found)
    assert same(lines, expected), f"{made}\nfound {lines}\nexpected {expected}"


def order(results: Sequence[Line | Answer]) -> list[object]:
    """In which order windows and groups stand."""
    return [(one.low, one.high, one.group) for one in results]


def cuts(made: Case) -> list[int]:
    return [made.rng.randrange(len(made.events)) for _ in range(made.rng.randrange(1, 5))]


def test_results_are_those_of_the_definition_whatever_the_blocks_and_restarts(first: int) -> None:
    refused = Counter[str]()
    for made in map(case, range(first, first + CHUNK)):
        if isinstance(made, str):
            refused[made] += 1
            continue
        pieces = blocks(made, cuts(made))
        found = run(made, pieces, restart=made.rng.randrange(len(pieces)))
        check(made, found)
        if made.seed % 4 == 0:  # to the byte, ids too
            assert run(made, blocks(made)) == found, str(made)
            assert order(found_lines(found)) == order(walk.answers(made.plan, made.asked, made.events)), str(made)
    assert refused.total() <= CHUNK - TAKEN, refused


def test_long_streams_give_what_their_graphs_add_up_to(long: int) -> None:
    """Beyond what can be enumerated, and beyond 2^63: each window's graph by a quadratic loop over exact fractions."""
    for seed in range(long, long + LONG_CHUNK):
        made = case(seed, long=True)
        if isinstance(made, str):
            continue
        found = run(made, blocks(made))
        lines = found_lines(found)
        expected = walk.answers(made.plan, made.asked, made.events)
        exact = all(line.exact for line in lines)
        sizes = expected if exact else walk.answers(made.plan, made.asked, made.events, absolute=True)
        assert near(lines, expected, sizes), f"{made}\nfound {lines}\nexpected {expected}"
        assert order(lines) == order(expected), str(made)
        pieces = blocks(made, cuts(made))
        assert run(made, pieces, restart=made.rng.randrange(len(pieces))) == found, str(made)


def test_compiled_kernels_give_the_same() -> None:
    for made in islice(cases(count(60_000)), COMPILED):
        for _ in range(STREAMS):
            events = generate.stream(made.rng, made.text, made.rng.randrange(5, 11))
            other = replace(made, events=events)
            check(other, run(other, blocks(other, cuts(other)), compiled=True))


def test_an_aggregate_is_that_of_the_matches_that_the_matcher_finds() -> None:
    """The twin law, with saffron on both sides."""
    left_out: Counter[str] = Counter()
    compared = with_trends = 0
    for made in cases(TWINS):
        why = why_not(made)
        if why is not None:
            left_out[why] += 1
            continue
        expected = answers_by_matches(made)
        lines = found_lines(run(made, blocks(made)))
        assert same(lines, expected), f"{made}\nfound {lines}\nexpected {expected}"
        compared += 1
        with_trends += bool(lines)
    assert set(left_out) <= set(TWINLESS)
    assert with_trends > compared // 3
