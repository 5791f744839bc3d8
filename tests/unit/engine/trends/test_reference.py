"""The reference of aggregate queries: its two readings beside each other, and beside the paper."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from saffron.language.syntax.parsing.parser import parse
from tests.reference.match.generate import STRATEGIES
from tests.reference.trends import generate
from tests.reference.trends.asked import ask
from tests.reference.trends.results import DEFINITION, TWIN, Reading, answers
from tests.unit.engine.trends.examples import ALL, COUNTS, FIGURE_6, FIGURE_12, NESTED, PRICES, stream

both = pytest.mark.parametrize("reading", [DEFINITION, TWIN], ids=["definition", "twin"])


def returned(query: str, events: str, reading: Reading) -> list[list[Any]]:
    """The values of each result."""
    return [list(answer.returned.values()) for answer in answers(query, stream(events), reading)]


@both
@pytest.mark.parametrize(("pattern", "events", "expected"), COUNTS)
def test_counts_of_the_papers_examples(pattern: str, events: str, expected: int, reading: Reading) -> None:
    query = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1000 ms TIME STRICT"
    assert returned(query, events, reading) == [[expected]]


@both
def test_every_aggregate_of_figure_12(reading: Reading) -> None:
    query = f"RETURN {ALL} PATTERN {NESTED} WITHIN 1000 ms TIME STRICT"
    assert returned(query, FIGURE_12, reading) == [[11, 20, 4, 6, 100, 5]]


@both
def test_windows_of_example_6_that_slide_by_3(reading: Reading) -> None:
    events = [{**event, "ts": event["ts"] - 1} for event in stream(FIGURE_6)]
    query = f"RETURN COUNT(*) PATTERN {NESTED} WITHIN 10 ms SLIDE 3 ms TIME STRICT"
    found = [(answer.low, *answer.returned.values()) for answer in answers(query, events, reading)]
    assert found == [(-6, 1), (-3, 11), (0, 43), (3, 5), (6, 1)]


@both
def test_down_trends_of_section_2(reading: Reading) -> None:
    query = "RETURN COUNT(*) PATTERN A+ a WHERE a.x > NEXT(a).x WITHIN 1000 ms"
    assert returned(query, PRICES, reading) == [[275]]
    assert returned(query.replace("A+ a", "A{8,} a"), PRICES, reading) == [[1]]


@both
def test_a_pair_of_trends_by_section_9(reading: Reading) -> None:
    """(a1) (a3) (a1 a3) of one side, (a1) (a3) (b2 a3) (b2) of the other: not with itself, none twice."""
    query = "RETURN COUNT(*) PATTERN A+ AND (SEQ(B?, A c) OR B d) WITHIN 1000 ms"
    assert returned(query, "a1 b2 a3", reading) == [[3 * 4 - 2 - 1]]


@both
def test_equal_times_follow_each_other_unless_strict(reading: Reading) -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 9 ms"
    assert returned(query, "a1 b1 b2", reading) == [[2]]
    assert returned(f"{query} TIME STRICT", "a1 b1 b2", reading) == [[1]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, 100 of them."""
    if "first" in metafunc.fixturenames:
        count = 20_000 if metafunc.config.getoption("nightly") else 500
        metafunc.parametrize("first", range(0, count, 100))


def test_both_readings_give_the_same(first: int) -> None:
    for seed in range(first, first + 100):
        text, events = generate.case(random.Random(seed))
        asked = ask(text)
        assert _sorted(answers(asked, events, DEFINITION)) == _sorted(answers(asked, events, TWIN)), (seed, text)


def _sorted(found: Sequence[object]) -> list[str]:
    return sorted(map(repr, found))


_SIGNS = "SEQ OR AND ANY( NOT NOT+ + * ? {2,3} {2,} {0,2} [i] [i-1] NEXT( abs( [k] .k]"
_CLAUSES = "SLIDE EVENTS OPEN STRICT COUNT(* COUNT(v MIN MAX SUM AVG HAVING GROUP"
_FORMS = "{seq} {not} {last} {again}"
WORDS = (*_SIGNS.split(), *_CLAUSES.split(), *_FORMS.split(), *STRATEGIES)


def test_random_queries_use_the_whole_language_and_have_trends() -> None:
    """Guards the generator. In braces: a NOT of a SEQ, one inside a NOT, one that ends, a type twice."""
    seen: Counter[str] = Counter()
    for seed in range(500):
        text, events = generate.case(random.Random(seed))
        assert parse(text)
        if answers(text, events):
            seen.update(word for word in WORDS if word in text)
            pattern = text.split("PATTERN")[1].split("WITHIN")[0]
            forms = {"seq": r"NOT SEQ", "not": r"NOT SEQ\([^)]*NOT", "last": r"NOT \S+ v\d\)( |$)", "NOT+": r"NOT .\+"}
            seen.update(f"{{{name}}}" if name != "NOT+" else name for name, p in forms.items() if re.search(p, pattern))
            kinds = re.findall(r"([A-D])\S* v\d", pattern)
            seen["{again}"] += len(set(kinds)) < len(kinds)
            seen["trends"] += 1
    assert seen["trends"] > 250
    assert min(seen[word] for word in WORDS) > 1, {word: seen[word] for word in WORDS}
