"""Patterns of match queries as shapes; what NOT rules out; the same components as the reference matcher's."""

from __future__ import annotations

import random
from itertools import combinations, product

import pytest

from saffron.errors import QueryError
from saffron.language import bind, compile_query, parse
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absent, Choice, Distinct, InOrder, Interleaved, Loop, Shape, Strategy, Take
from tests.reference.match import generate
from tests.reference.match.events import events_of
from tests.reference.match.question import question
from tests.reference.match.shape import shape_of
from tests.reference.match.subsets import derived
from tests.unit.language.samples import ATTRIBUTES, LETTERS


def match(text: str) -> MatchPlan:
    plan = compile_query(text + " WITHIN 1 h", LETTERS)
    assert isinstance(plan, MatchPlan)
    return plan


def written(shape: Shape, plan: MatchPlan) -> str:
    """A shape in a line: [a b] in order, {a|b} choices, <2: a b> together, (a)1..3 a repetition, !0 a NOT."""
    match shape:
        case Take(component=component):
            return plan.components[component].variable
        case InOrder(parts=parts):
            return "[" + " ".join(written(part, plan) for part in parts) + "]"
        case Choice(parts=parts):
            return "{" + "|".join(written(part, plan) for part in parts) + "}"
        case Interleaved(parts=parts, count=count):
            return f"<{count}: " + " ".join(written(part, plan) for part in parts) + ">"
        case Loop(number=number, body=body, low=low, high=high):
            return f"({written(body, plan)}){number}:{low}..{'' if high is None else high}"
        case Absent(number=number):
            return f"!{number}"


@pytest.mark.parametrize(
    ("pattern", "shape", "flat"),
    [
        ("A a", "a", True),
        ("SEQ(A a, B+ b[], C c)", "[a (b)0:1.. c]", True),
        ("SEQ(A a, SEQ(B b, C c))", "[a b c]", True),
        ("SEQ(A{1} a, B{1,1} b)", "[a b]", True),
        ("SEQ(A{1} a[], B{0,1} b[])", "[(a)0:1..1 {[]|(b)1:1..1}]", False),
        ("SEQ(A a, (B b[], C c){1})", "[a ([b c])0:1..1]", False),
        ("(A{1} a[]){1}", "(a)0:1..1", False),
        ("(A? a[], B b)+", "([{[]|a} b])0:1..", False),
        ("ANY(2, A{1} a[])", "(a)0:2..2", False),
        ("((A+)+)+", "(A)0:1..", True),
        ("(A*)+", "{[]|(A)0:1..}", False),
        ("A? a", "{[]|a}", False),
        ("(A??)?", "{[]|A}", False),
        ("A* a", "{[]|(a)0:1..}", False),
        ("A{2} a", "(a)0:2..2", False),
        ("A{2,} a", "(a)0:2..", False),
        ("A{0,3} a", "{[]|(a)0:1..3}", False),
        ("SEQ(A a, B b)+", "([a b])0:1..", False),
        ("SEQ(A a, SEQ(B+ b, C c){2,4}, D d)", "[a ([(b)1:1.. c])0:2..4 d]", False),
        ("(A? a)+", "{[]|(a)0:1..}", False),
        ("SEQ(A? a, B? b){2,3}", "{[]|([{[]|a} {[]|b}])0:1..3}", False),
        ("A a OR B b", "{a|b}", False),
        ("A a AND SEQ(B b, C c)", "<2: a [b c]>", False),
        ("SEQ(A a, (B b AND C c))+", "([a <2: b c>])0:1..", False),
        ("ANY(2, A a, B b, C c)", "<2: a b c>", False),
        ("ANY(1, A a, B b)", "{a|b}", False),
        ("ANY(1, A a[])", "(a)0:1..1", False),
        ("ANY(3, A a[])", "(a)0:3..3", False),
        ("SEQ(NOT A, B b, NOT C c, D d, NOT A)", "[!0 b !1 d !2]", False),
        ("SEQ(A a, NOT B b, NOT C c, D d)", "[a !0 d]", False),
        ("SEQ(A a, NOT B b, C? c, NOT D d, A e)", "[a !0 {[]|c} !1 e]", False),
        ("SEQ(A a, SEQ(B b, NOT C c, D d), A e)", "[a [b !0 d] e]", False),
        ("SEQ(A a, NOT B, C c)+", "([a !0 c])0:1..", False),
    ],
)
def test_shapes(pattern: str, shape: str, flat: bool) -> None:
    plan = match(f"PATTERN {pattern}")
    assert (written(plan.pattern, plan), plan.flat) == (shape, flat)


def test_only_flat_plans_have_conditions_and_all_have_checks() -> None:
    where = "WHERE a.x > 1 AND b[i].x > a.x"
    flat = match(f"PATTERN SEQ(A a, B+ b[]) {where}")
    assert [check.text for check in flat.checks] == ["a.x > 1", "b[i].x > a.x"]
    assert len(flat.conditions) == 3
    for other in (f"SEQ(A a, B{{2,}} b[]) {where}", f"SEQ(A a, B+ b[]) {where} TIME STRICT"):
        plan = match(f"PATTERN {other}")
        assert (plan.flat, plan.conditions, plan.checks) == (False, (), flat.checks)


def test_components_of_nots_come_last_grouped() -> None:
    plan = match("PATTERN SEQ(NOT A n, A a, NOT SEQ(B m, C+ o[]), A+ b[], NOT A)")
    assert [(part.variable, str(part.types), part.closure) for part in plan.components] == [
        ("a", "A", False), ("b", "A", True), ("n", "A", False), ("m", "B", False), ("o", "C", False), ("A", "A", False),
    ]  # fmt: skip
    assert plan.positive == 2
    assert [absence.components for absence in plan.absences] == [(2,), (3, 4), (5,)]


@pytest.mark.parametrize(
    ("pattern", "sequences"),
    [
        ("B b", ["b"]),
        ("B+ b", ["b"]),
        ("B{2,3} b", ["b b#2"]),
        ("B? b", ["b"]),
        ("SEQ(B b, C* c)", ["b"]),
        ("SEQ(B? b, C? c)", ["b", "c"]),
        ("(B b OR SEQ(C c, D d))", ["b", "c d"]),
        ("(B b AND C c)", ["b c", "c b"]),
        ("(B b AND SEQ(C c, D d))", ["b c d", "c b d", "c d b"]),
        ("ANY(2, B b, C c, D d)", ["b c", "c b", "b d", "d b", "c d", "d c"]),
        ("ANY(2, B b)", ["b b#2"]),
        ("SEQ(B b, C c){2}", ["b c b#2 c#2"]),
        ("(B b OR SEQ(B e, C c))", ["b", "e c"]),
        ("ANY(1, B? b, C c)", ["b", "c"]),
    ],
)
def test_what_a_not_rules_out(pattern: str, sequences: list[str]) -> None:
    plan = match(f"PATTERN SEQ(A a, NOT {pattern}, A z)")
    (absence,) = plan.absences
    names = [part.variable for part in plan.components]
    assert [" ".join(names[one] for one in sequence) for sequence in absence.sequences] == sequences


def random_not(rng: random.Random, depth: int) -> str:
    kinds = ["event", "event"] + (["seq", "or", "and", "any", "repeat"] if depth else [])
    parts = [random_not(rng, depth - 1) for _ in range(2)] if depth else []
    match rng.choice(kinds):
        case "seq":
            return f"SEQ({', '.join(parts)})"
        case "or":
            return f"({' OR '.join(parts)})"
        case "and":
            return f"({' AND '.join(parts)})"
        case "any":
            return f"ANY({rng.randrange(1, 3)}, {', '.join([*parts, rng.choice('ABC')])})"
        case "repeat":
            return f"({parts[0]}){rng.choice(['+', '*', '?', '{2}', '{2,3}', '{0,2}'])}"
    return rng.choice("ABC")


def test_sequences_rule_out_what_the_reference_does() -> None:
    """Over all short streams: one of the sequences is there exactly if some choice of events matches the pattern."""
    rng = random.Random(4)
    streams = [types for size in range(1, 5) for types in product("ABC", repeat=size)]
    for _ in range(60):
        pattern = random_not(rng, 2)
        plan = match(f"PATTERN SEQ(D d, NOT {pattern}, D e)")
        types = [str(part.types) for part in plan.components]
        sequences = {tuple(types[one] for one in sequence) for sequence in plan.absences[0].sequences}
        root = shape_of(parse(f"PATTERN {pattern} WITHIN 1 h").pattern).root
        for stream in rng.sample(streams, 25):
            events = events_of([{"seq": at, "ts": at, "type": name} for at, name in enumerate(stream)])
            chosen = [tuple(some) for size in range(1, 5) for some in combinations(events, size)]
            expected = any(derived(root, some) for some in chosen)
            found = any(tuple(event.type for event in some) in sequences for some in chosen)
            assert found == expected, (pattern, stream)


def test_distinct() -> None:
    plan = match("PATTERN SEQ(A a, ANY(2, B b, C c) DISTINCT k)")
    assert [(rule.components, rule.attribute, rule.loops) for rule in plan.distinct] == [((1, 2), "k", ())]
    plan = match("PATTERN SEQ(D d, ANY(2, A a[]) DISTINCT x)+")
    assert [(rule.components, rule.attribute, rule.loops) for rule in plan.distinct] == [((1,), "x", (0,))]
    assert isinstance(plan.distinct[0], Distinct)


def test_components_and_strategies_are_those_of_the_reference() -> None:
    """On random queries; both number loops from the outside, so that these agree too."""
    rng = random.Random(11)
    bound = 0
    for _ in range(300):
        text = generate.query(rng, functions=["spread"])
        try:
            plan = bind(text, ATTRIBUTES, name="q", aggregates=frozenset({"spread"})).plan
        except QueryError:
            continue
        bound += 1
        assert isinstance(plan, MatchPlan)
        asked = question(text, {"spread": sum})
        leaves = asked.pattern.leaves
        assert [(part.variable, part.types.known) for part in plan.components] == [
            (one.variable, one.types) for one in leaves
        ]
        assert [part.closure for part in plan.components[: plan.positive]] == [
            bool(one.loops) for one in leaves[: asked.pattern.positive]
        ]
        names = [Strategy(asked.begins[number]) for number in range(asked.pattern.positive)]
        assert list(plan.begins) == names
        for number, leaf in enumerate(leaves[: asked.pattern.positive]):
            assert not leaf.loops or plan.continues[number] is Strategy(asked.continues[number])
        if plan.absences == ():
            assert tuple(map(attribute_shown, plan.key)) == tuple(one.removeprefix("=") for one in asked.partition)
        assert plan.strict == asked.strict_time
        assert len(plan.distinct) == len(asked.pattern.distinct)
    assert bound > 200
