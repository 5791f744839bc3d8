"""User-defined aggregates: registered, checked, evaluated in RETURN, compiled for kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import saffron
from saffron.engine.operators import aggregates
from saffron.errors import AggregateError, QueryError, SaffronError
from tests.unit.api.samples import EVENTS

LIMIT = 3.0


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    before = set(aggregates.registered())
    yield
    for name in set(aggregates.registered()) - before:
        aggregates.forget(name)


def returned(item: str, events: list[dict[str, Any]] = EVENTS) -> list[Any]:
    text = f"PATTERN SEQ(Rise+ a[], Fall b) WHERE [user] WITHIN 1 min RETURN {item} AS it"
    return [one.returns["it"] for one in saffron.replay(text, events)]


def geomean() -> None:
    @saffron.aggregate(initial=1.0, final=lambda acc, n: acc ** (1 / n))
    def geomean(acc: float, x: float) -> float:
        return acc * x


def test_return_evaluates_it_over_a_finished_closure() -> None:
    geomean()
    assert returned("geomean(a[].x)")[0] == pytest.approx(4.0)
    assert returned("1 + GEOMEAN(a[].n)")[0] == pytest.approx(1 + math.sqrt(3))


def test_of_nothing_and_where_it_is_no_number_it_is_null() -> None:
    geomean()
    nothing = [{**event, "x": None} for event in EVENTS] + [{"type": "Rise", "ts": 9999, "user": "z", "x": 1.5}]
    assert returned("geomean(a[].x)", nothing)[0] is None

    @saffron.aggregate
    def inverse(acc: float, x: float) -> float:
        return 1.0 / (x - x)

    assert returned("inverse(a[].n)")[0] is None


def test_unknown_ones_are_suggested_and_strings_refused() -> None:
    geomean()
    with pytest.raises(QueryError, match="Did you mean 'geomean'"):
        returned("geomen(a[].x)")
    with pytest.raises(QueryError, match="geomean of strings"):
        returned("geomean(a[].user)")


def test_conditions_run_them() -> None:
    geomean()
    text = "PATTERN SEQ(Rise+ a[], Fall b) WHERE [user] {} WITHIN 1 min RETURN geomean(a[].x) AS it"
    every = [one.returns["it"] for one in saffron.replay(text.format(""), EVENTS)]
    chosen = [one.returns["it"] for one in saffron.replay(text.format("AND geomean(a[].x) > 4.5"), EVENTS)]
    assert every == [4.0, 8.0, 5.0]
    assert chosen == [8.0, 5.0]


def test_a_condition_whose_function_does_not_compile_refuses_the_query() -> None:
    aggregates.register("odd", lambda acc, x: float(str(acc + x)[:3]) + len(globals()))
    text = "PATTERN SEQ(Rise+ a[], Fall b) WHERE odd(a[].x) > b.x WITHIN 1 s"
    with pytest.raises(SaffronError, match="'odd' cannot be compiled"):
        saffron.replay(text, EVENTS).counts()


def test_the_function_stays_what_it_was_and_a_new_one_replaces_the_old() -> None:
    @saffron.aggregate(name="plus")
    def first(acc: float, x: float) -> float:
        return acc + x

    assert first(1.0, 2.0) == 3.0
    assert returned("plus(a[].n)")[0] == 4.0
    saffron.aggregate(name="plus", initial=10)(first)
    assert returned("plus(a[].n)")[0] == 14.0


@pytest.mark.parametrize(
    ("name", "step", "initial", "said"),
    [
        ("sum", lambda acc, x: acc, 0.0, "is a function of the language"),
        ("My", lambda acc, x: acc, 0.0, "is no lower-case name"),
        ("a b", lambda acc, x: acc, 0.0, "is no lower-case name"),
        ("agg", lambda acc: acc, 0.0, r"step takes \(acc\); it must be \(acc, x\)"),
        ("agg", lambda acc, *x: acc, 0.0, "it must be"),
        ("agg", max, 0.0, "step is a builtin_function_or_method"),
        ("agg", lambda acc, x: "s", 0.0, "gives 's', a str; it must be a number"),
        ("agg", lambda acc, x: x > acc, 0.0, "gives True, a bool"),
        ("agg", lambda acc, x: x["a"], 0.0, "step fails on the number 1"),
        ("agg", lambda acc, x: acc, math.nan, "initial is nan; it must be a finite number"),
        ("agg", lambda acc, x: acc, "0", "initial is '0'"),
    ],
)
def test_what_is_no_aggregate_is_refused_at_once(name: str, step: Any, initial: Any, said: str) -> None:
    with pytest.raises(AggregateError, match=said):
        aggregates.register(name, step, initial=initial)


def test_a_function_that_fails_later_says_on_what() -> None:
    aggregates.register("picky", lambda acc, x: acc + {1.0: 1.0}[x])
    with pytest.raises(AggregateError, match="'picky' failed on its input number 1"):
        returned("picky(a[].n)")


Undefined = tuple[float, Callable[[float, float], float], Callable[[float, int], float], float]
UNDEFINED: dict[str, Undefined] = {
    "root of a negative number": (1.0, lambda acc, x: acc * x, lambda acc, n: acc ** (1 / n), -8.0),
    "a function's domain": (0.0, lambda acc, x: acc + math.sqrt(2.5 - x), lambda acc, n: acc, 3.0),
    "logarithm of 0": (0.0, lambda acc, x: acc + x, lambda acc, n: math.log(acc), -1.0),
    "exponential beyond float64": (0.0, lambda acc, x: acc + x, lambda acc, n: math.exp(acc), 1000.0),
    "power beyond float64": (0.0, lambda acc, x: acc + 10.0**x, lambda acc, n: acc, 1000.0),
    "product beyond float64, made finite": (1.0, lambda acc, x: acc * x * x, lambda acc, n: n / acc, 1e200),
    "division by 0, made finite": (0.0, lambda acc, x: acc + 1.0 / x, lambda acc, n: n / acc, 0.0),
}


@pytest.mark.parametrize(
    ("name", "compiled"),
    [*((name, False) for name in UNDEFINED), ("a function's domain", True), ("division by 0, made finite", True)],
)
def test_what_is_no_finite_number_is_null_wherever_it_is_asked_for(name: str, compiled: bool) -> None:
    initial, step, final, value = UNDEFINED[name]
    aggregates.register("own", step, initial=initial, final=final)
    events = [{"type": "Rise", "ts": ts, "x": x} for ts, x in enumerate((1.0, value, 1.0))]
    events += [{"type": "Fall", "ts": 3, "x": None}]

    def found(condition: str) -> dict[int, Any]:
        text = f"PATTERN SEQ(Rise+ a[], Fall b) {condition} WITHIN 1 s RETURN a[1].ts AS first, own(a[].x) AS it"
        with saffron.open(text, compiled=compiled) as live:
            return {one.returns["first"]: one.returns["it"] for one in live.feed(events)}

    every = found("")
    assert every[1] is None
    assert every[2] is not None
    assert found("WHERE own(a[].x) > -1e300") == {first: it for first, it in every.items() if it is not None}


class TestCompiled:
    def test_it_gives_what_python_gives(self) -> None:
        own = aggregates.register(
            "norm", lambda acc, x: acc + x * x if abs(x) < LIMIT else acc, final=lambda acc, n: math.sqrt(acc) / n
        )
        step, final = own.compiled
        acc = own.initial
        for x in (1.0, -2.0, 30.0):
            acc = step(acc, x)
        assert final(acc, 3) == own.fold([1.0, -2.0, 30.0]) == pytest.approx(math.sqrt(5) / 3)

    def test_what_does_not_compile_says_what_may_be_used(self) -> None:
        own = aggregates.register("odd", lambda acc, x: float(str(acc + x)[:3]) + len(globals()))
        with pytest.raises(AggregateError, match=r"cannot be compiled.*use numbers, math"):
            _ = own.compiled

    def test_the_stamp_is_that_of_code_and_constants(self) -> None:
        def scaled(factor: float) -> Callable[[float, float], float]:
            return lambda acc, x: acc + factor * x

        one, two, again = (aggregates.register(name, scaled(f)) for name, f in (("p", 1.0), ("q", 2.0), ("r", 1.0)))
        assert one.stamp == again.stamp != two.stamp
        assert aggregates.register("p", scaled(1.0), initial=1.0).stamp != one.stamp
