"""Functions of a user's own that raise anything, or give no value: a failure, in words that every record takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from saffron.errors import FunctionError
from saffron.schema.functions.own import forget, register
from saffron.schema.functions.text import LONGEST


class Unprintable(Exception):
    def __str__(self) -> str:
        return "half \ud800 \x1b[2J\n\x00"

    __repr__ = __str__


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


HOSTILE: tuple[BaseException, ...] = (
    Unprintable(),
    Speechless(),
    ValueError("x" * 10_000_000),
    ExceptionGroup("several", [Unprintable(), ValueError("b")]),
    SystemExit(3),
    GeneratorExit(),
)


def called(gives: type, function: Callable[[], Any]) -> Any:
    """What a function of a user's own gives, of which only the kind is told."""

    def own(x: float):  # type: ignore[no-untyped-def]
        return function()

    own.__annotations__ |= {"x": float, "return": gives}
    try:
        return register("own", own, frozenset()).meaning(1.0)
    finally:
        forget("own")


@pytest.mark.parametrize("error", HOSTILE, ids=lambda error: type(error).__name__)
def test_whatever_it_raises_is_its_failure(error: BaseException) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(FunctionError, match=r"function 'own' failed on \(1.0\)") as caught:
        called(float, fails)
    text = str(caught.value)
    assert orjson.dumps(text)
    assert text.isprintable()
    assert len(text) < 1000


def test_an_interrupt_is_the_users() -> None:
    def fails() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        called(float, fails)


@pytest.mark.parametrize(
    ("gives", "value", "words"),
    [
        (str, "half \ud800", "no text: it has half of a surrogate pair"),
        (str, 1, "not a string"),
        (float, 10**400, "beyond every float of 64 bits"),
        (float, 10**5000, "beyond every float of 64 bits"),
        (float, True, "not a number"),
        (int, 2**63, "no whole number of 64 bits"),
        (int, 0.5, "no whole number of 64 bits"),
        (bool, 1, "not true or false"),
    ],
    ids=itertools.count(),
)
def test_what_is_no_value_of_its_kind(gives: type, value: object, words: str) -> None:
    with pytest.raises(FunctionError) as caught:
        called(gives, lambda: value)
    assert words in str(caught.value)
    assert orjson.dumps(str(caught.value))


def test_a_text_may_be_as_long_as_those_of_other_functions() -> None:
    assert called(str, lambda: "x" * LONGEST) == "x" * LONGEST
    assert called(str, lambda: "x" * (LONGEST + 1)) is None
