"""Which conditions on lists the binder takes, against the reference matcher: never one that it refuses, and never one
that would have to be asked again of an event whose iteration is over."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

from saffron.errors import QueryError
from saffron.language import compile_query
from tests.reference.match.conditions import Condition
from tests.reference.match.events import Bindings, events_of
from tests.reference.match.question import question
from tests.reference.match.subsets import derived
from tests.unit.language.samples import ATTRIBUTES

GROUPS = (
    "SEQ({0} a, {1} b)+", "SEQ({0}+ a, {1} b)+", "SEQ({0} a, {1}+ b)+", "({0} a AND {1} b)+", "({0}+ a AND {1} b)+",
    "SEQ({0}? a, {1} b)+", "({0} a OR {1} b)+", "SEQ({0} a, {1} b)", "SEQ({0}+ a, {1} b)", "SEQ({0} a, {1}+ b)",
    "SEQ({0}+ a, {1}+ b)", "({0}+ a AND {1}+ b)", "({0}+ a OR {1} b)", "SEQ({0} a, SEQ({1} b, C+ c)+)",
    "SEQ(SEQ({0}+ a, C c), {1} b)+", "SEQ({0} a, ({1} b OR C c))+", "SEQ(SEQ({0} a, {1} b)+, C c)+",
    "({0} a AND SEQ({1} b, C c))+", "SEQ(({0} a OR C c)+, {1} b)", "ANY(2, {0} a, {1} b, C c)",
)  # fmt: skip
FORMS = ("{0}.x", "{0}[i].x", "{0}[i].x", "{0}[i].x", "{0}[i-1].x", "{0}[1].x", "{0}[last].x", "avg({0}[].x)",
         "sum({0}[..i-1].x)", "{0}.len")  # fmt: skip


def queries(rng: random.Random, count: int) -> list[str]:
    made = []
    for _ in range(count):
        pattern = rng.choice(GROUPS).format(rng.choice("AB"), rng.choice("AB"))
        names = [name for name in "abc" if f" {name}" in pattern]
        parts = [rng.choice(FORMS).format(rng.choice(names)) for _ in range(rng.choice([2, 2, 3]))]
        made.append(
            f"PATTERN {pattern} WHERE {' <= '.join(parts[:2])}{''.join(f' + {p}' for p in parts[2:])} WITHIN 1 h"
        )
    return made


def taken(text: str) -> bool:
    try:
        compile_query(text, ATTRIBUTES)
    except QueryError:
        return False
    return True


def test_no_condition_is_taken_that_the_reference_refuses() -> None:
    rng = random.Random(3)
    seen: Counter[str] = Counter()
    for text in queries(rng, 3000):
        seen["all"] += 1
        if taken(text):
            seen["taken"] += 1
            question(text)
    assert 500 < seen["taken"] < 2500


def known(asked: Condition, bound: Bindings) -> set[int]:
    """Which events of the focus (by their index) the condition can be asked of, given these bindings."""
    lists = {leaf.number: [one for one in bound if one.leaf == leaf.number] for _, leaf in asked.references}
    if not all(lists.values()):
        return set()
    assert asked.focus is not None
    return {
        number
        for number, focus in enumerate(lists[asked.focus.number])
        if all(
            any(one.iterations == focus.iterations[: len(leaf.loops)] for one in lists[leaf.number])
            for leaf in asked.taking
        )
    }


def test_no_condition_is_asked_again_of_an_iteration_that_is_over() -> None:
    """What an event makes known concerns itself, or an event of its own iteration."""
    rng = random.Random(7)
    asked_of = 0
    for text in queries(rng, 1000):
        if not taken(text):
            continue
        asking = question(text)
        condition = asking.conditions[0]
        if condition.focus is None:
            continue
        for types in (rng.choices("ABC", k=6), rng.choices("AB", k=6), list("ABABCC"), list("BABCAB")):
            stream = events_of([{"seq": at, "ts": at, "type": name} for at, name in enumerate(types)])
            for some in combinations(stream, rng.choice([3, 4, 5])):
                for way in derived(asking.pattern.root, some):
                    asked_of += asked_once(condition, way, text)
    assert asked_of > 1000


def asked_once(condition: Condition, way: Bindings, text: str) -> int:
    """How often the condition became known; each time of the iteration that the event belonged to."""
    assert condition.focus is not None
    depth, before, count = len(condition.focus.loops), set[int](), 0
    for size, last in enumerate(way, start=1):
        now = known(condition, way[:size])
        focuses = [one for one in way[:size] if one.leaf == condition.focus.number]
        for number in now - before:
            assert focuses[number].iterations[:depth] == last.iterations[:depth], text
        count += len(now - before)
        before = now
    return count
