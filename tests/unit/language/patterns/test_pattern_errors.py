"""Each construct of patterns used wrongly: what the error says, where it points, that it shows a way out."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language import compile_query
from tests.unit.language.samples import LETTERS

LISTS = "PATTERN SEQ(A a, B b)+ WHERE "
NOT_ONE = "PATTERN SEQ(A a, NOT B b, C c) "
NOT_LIST = "PATTERN SEQ(A+ a, NOT B+ b, C c) "
LONGER = "a match lasts longer than a window of 1 hour, by the times of its NOTs"

ERRORS = {
    # text: (message, range)
    "PATTERN NOT A a": ("a NOT outside of SEQ", "NOT A a"),
    "PATTERN (A a OR NOT B b)": ("a NOT outside of SEQ", "NOT B b"),
    "PATTERN SEQ(A a, (NOT B b)+)": ("a NOT outside of SEQ", "NOT B b"),
    "PATTERN SEQ(A a, NOT (NOT B b), C c)": ("a NOT inside a NOT", "NOT B b"),
    "PATTERN SEQ(A a, NOT SEQ(B b, NOT D d, C c), C e)": ("a NOT inside a NOT", "NOT D d"),
    "PATTERN SEQ(NOT A a, NOT B b)": ("a SEQ of nothing but NOTs", "NOT A a"),
    "PATTERN SEQ(A a, SEQ(NOT B b, C c))": (
        "a NOT that begins or ends a SEQ stands in the outermost SEQ only", "NOT B b"),
    "PATTERN SEQ(A a, NOT B b)+": ("a NOT that begins or ends a SEQ stands in the outermost SEQ only", "NOT B b"),
    "PATTERN SEQ(A+ a[] UNTIL B b, C c) CONFIDENCE >= 0.5": (
        "imprecise times do not tell what UNTIL comes before", "B b"),
    "PATTERN SEQ(A a, NOT B FOR 1 hour, C c)": (LONGER, "FOR 1 hour"),
    "PATTERN SEQ(A a, NOT B FOR 40 minutes, C c, NOT D FOR 21 minutes)": (LONGER, "FOR 21 minutes"),
    "PATTERN SEQ(D d, (A a, NOT B FOR 20 minutes, C c){3})": (LONGER, "FOR 20 minutes"),
    "PATTERN SEQ(A a, (B b AND NOT C FOR 1 hour), D d)": (LONGER, "FOR 1 hour"),
    "PATTERN SEQ(A a, NOT ANY(5, A, B, C, A, B, C), C c)": (
        "a NOT of more than 128 sequences of events", "NOT ANY(5, A, B, C, A, B, C)"),
    "PATTERN SEQ(A a, NOT B{40} b, C c)": ("a pattern of this kind has at most 30 components", "B{40} b"),
    NOT_ONE + "RETURN b.x": ("b stands inside a NOT", "b.x"),
    NOT_LIST + "RETURN avg(b[].x)": ("b stands inside a NOT", "b[].x"),
    NOT_ONE + "CONSUME a, b": ("b stands inside a NOT", "a, b"),
    "PATTERN SEQ(A a, NOT B b, C c, NOT D d) WHERE b.x < d.x": ("a condition on the events of two NOTs", "d.x"),
    NOT_LIST + "WHERE avg(b[].x) > 1": ("no list is built of b, which stands inside a NOT", "avg(b[].x)"),
    NOT_LIST + "WHERE b.len > 1": ("no list is built of b, which stands inside a NOT", "b.len"),
    NOT_LIST + "WHERE b[i].x > b[i-1].x": ("b[i-1].x has no value inside a NOT", "b[i-1].x"),
    NOT_LIST + "WHERE b[last].x > 1": ("b[last].x has no value inside a NOT", "b[last].x"),
    NOT_LIST + "WHERE b[i].x > a[i].x": ("a[i].x has no value in a condition of a NOT", "a[i].x"),
    "PATTERN SEQ(A a, NOT B b, C c)+ WHERE b[1].x > 1": ("b[1].x has no value inside a NOT", "b[1].x"),
    "PATTERN SEQ(A a, NOT B b, C c)+ WHERE b[i].x > a[last].x": (
        "a NOT in a repetition cannot know the end of that repetition", "a[last].x"),
    "PATTERN SEQ(A a, NOT SEQ(B+ b, C+ d), C c) WHERE b[i].x > d[i].x": (
        "b[i].x has no value when d comes", "b[i].x"),
    LISTS + "a[i].x > b[1].x": ("a[i].x has no value when b comes", "a[i].x"),
    LISTS + "a[i].x > b[last].x": ("a condition on each event cannot know the end of its closure", "b[last].x"),
    LISTS + "a[i].x > a.len": ("a condition on each event cannot know the end of its closure", "a.len"),
    "PATTERN SEQ(A? a, B b)+ WHERE b[i].x > a[1].x": ("b[i].x has no value when a comes", "b[i].x"),
    "PATTERN SEQ(B+ b, A a)+ WHERE a[i].x < b[i].x": ("b[i].x has no value when a comes", "b[i].x"),
    "PATTERN (B+ b AND A a)+ WHERE a[i].x < b[i].x": ("b[i].x has no value when a comes", "b[i].x"),
    "PATTERN SEQ(A+ a, B+ b) WHERE a[i].x < b[i].x": ("a[i].x has no value when b comes", "a[i].x"),
    "PATTERN A+ a AND B b WHERE a[i].x < b.x": ("a[i].x has no value when b comes", "a[i].x"),
    "PATTERN A+ a AND B+ b WHERE a[i].x < avg(b[].x)": ("a[i].x has no value when b comes", "a[i].x"),
    "PATTERN A+ a AND B b WHERE b.x < avg(a[..i-1].x)": ("a[..i-1] is over when b comes", "avg(a[..i-1].x)"),
    "PATTERN SEQ(A a, NOT D d, A b) WHERE partition-contiguity { [A.k] }": (
        "partition-contiguity needs a key that what must not be there has, too", "A.k"),
    "PATTERN SEQ(A a, NOT D d, A b) WHERE [A.k] OUTPUT NON-OVERLAP": (
        "NON-OVERLAP needs a key that what must not be there has, too", "A.k"),
    "PATTERN SEQ(A a, B b) WHERE strict-contiguity(b[i])": ("b is one event, with no next one to wait for", "b[i]"),
    "PATTERN SEQ(A a, B b) WHERE strict-contiguity(a), skip-till-any-match(a)": (
        "a second strategy for this step", "a"),
    "PATTERN SEQ(A a, B b) WHERE strict-contiguity, skip-till-any-match": (
        "a second strategy for the whole pattern", "skip-till-any-match"),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_what_has_no_meaning_is_refused(text: str) -> None:
    message, part = ERRORS[text]
    with pytest.raises(QueryError) as caught:
        compile_query(text + " WITHIN 1 h", LETTERS)
    error = caught.value
    assert (error.message, error.text[error.start : error.end], error.stage) == (message, part, "plan")
    assert error.hint


NAMES = {
    "PATTERN SEQ(A a, B b)+ WHERE a.x > 1": ("a is a closure, a list of events", "a.x"),
    "PATTERN SEQ(A a, B? b) WHERE b[i].x > 1": ("b is one event, not a closure", "b[i].x"),
    "PATTERN SEQ(A a, B b[])": ("b[] is a list, but the pattern takes one event", "B b[]"),
    "PATTERN ANY(2, A a[], B b)": ("a[] is a list, but the pattern takes one event", "A a[]"),
    "PATTERN ANY(2, A a) WHERE a.x > 1": ("a is a closure, a list of events", "a.x"),
    "PATTERN ANY(2, A a, D d) DISTINCT k": ("unknown attribute 'k' of type D", "ANY(2, A a, D d) DISTINCT k"),
    "PATTERN (A a OR B a)": ("two components are called 'a'", "B a"),
    "PATTERN SEQ(A a, NOT B b, C c) WHERE b.z = 1": ("unknown attribute 'z' of type B", "b.z"),
    "PATTERN SEQ(A a, NOT D d, C c) WHERE [k]": ("unknown attribute 'k' of type D", "k"),
    "PATTERN SEQ(A a, B b) CONSUME c": ("unknown variable 'c'", "c"),
}


@pytest.mark.parametrize("text", NAMES)
def test_names_and_kinds_in_patterns(text: str) -> None:
    message, part = NAMES[text]
    with pytest.raises(QueryError) as caught:
        compile_query(text + " WITHIN 1 h", LETTERS)
    error = caught.value
    assert (error.message, error.text[error.start : error.end], error.stage) == (message, part, "schema")
    assert error.hint
