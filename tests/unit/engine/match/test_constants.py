"""Queries that differ in numbers, strings and windows only have the same kernels; their constants are their own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import saffron
from saffron.engine.events.strings import Pinned, Strings
from saffron.engine.match.core.automaton import build
from saffron.engine.match.core.classify import bit_tests, classify_source
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.core.source.arithmetic import real_at
from saffron.engine.match.core.step_text import StepText
from saffron.engine.match.flat.given_events import GivenEvents
from saffron.engine.match.flat.step_source import StepSource
from saffron.engine.match.general import automaton as general
from saffron.engine.match.general.source.step_source import GeneralSource
from saffron.engine.match.general.source.table_text import TableText
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

KINDS = {"v": Kind.FLOAT, "n": Kind.INT, "s": Kind.STRING}
SCHEMA = Schema(KINDS, dict.fromkeys("ABC", tuple(KINDS)), {})
TEXT = """PATTERN SEQ(A a, NOT C c, B b)
WHERE skip-till-next-match { a.v > %s AND b.v < %s * a.v AND b.s != %s AND a.n IN (%s, %s) AND c.n > b.n + %s }
WITHIN %s ms SLIDE %s ms"""
FIRST = (1, 2.5, "'x'", 3, 4, 5, 100, 50)
SECOND = (2, 2.5, "'y'", 7, 7, 6, 90, 30)


def plan(text: str) -> MatchPlan:
    found = compile_query(text, SCHEMA, name="q")
    assert isinstance(found, MatchPlan)
    return found


def texts(query: MatchPlan) -> tuple[list[str | None], list[Names]]:
    names = [Names(), Names()]
    if query.flat:
        automaton = build(query)
        return [
            StepSource(text := StepText(automaton, names[0]), GivenEvents(text)).module(),
            classify_source(bit_tests(automaton), names[1]),
        ], names
    return [GeneralSource(TableText(general.build(query), names[0])).module()], names


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("NOT C c, ", "").replace(" AND c.n > b.n + %s", "")])
def test_the_text_of_kernels_has_no_constants(text: str) -> None:
    left, right = (
        texts(plan(text % tuple(one for number, one in enumerate(values) if number != 5 or "NOT" in text)))
        for values in (FIRST, SECOND)
    )
    assert left[0] == right[0]
    assert [one.constants for one in left[1]] != [one.constants for one in right[1]]


def test_constants_keep_their_values() -> None:
    strings = Strings()
    values: list[str | int | float] = ["word", 7, -0.5, math.inf, "word", -(2**63) + 1]
    pinned = Pinned(strings, values)
    (held,) = pinned.codes
    assert [strings.value(int(held[0])), strings.value(int(held[4]))] == ["word", "word"]
    assert [int(held[1]), int(held[5])] == [7, -(2**63) + 1]
    assert [real_at(held, 2), real_at(held, 3)] == [-0.5, np.inf]
    pinned.release()


@pytest.mark.parametrize(
    "written", ["9007199254740993", "-9007199254740993", "CAST('9007199254740993' AS integer)", "1.5"]
)
def test_a_number_that_the_query_names_is_returned_as_it_is(written: str) -> None:
    events = [{"type": "A", "ts": 1, "x": 1}]
    (found,) = saffron.replay(f"PATTERN A a WITHIN 1 ms RETURN {written} AS n", events)
    digits = written.partition("'")[2].partition("'")[0] or written
    assert str(found.returns["n"]) == digits
