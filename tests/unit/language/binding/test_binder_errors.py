"""Names and kinds that are wrong, what is not run yet, warnings, and lenient binding."""

from __future__ import annotations

import pytest

from saffron.errors import QueryError
from saffron.language import bind, compile_query
from saffron.language.plan.expressions import Attribute, Binary, Const, In, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Condition, Edge
from saffron.schema.schema import Kind
from tests.unit.language.samples import LETTERS, PAPERS

PATTERN = "PATTERN SEQ(A a, B+ b[], C c) "

SCHEMA_ERRORS = {
    # text: (message, range, hint)
    "PATTERN SEQ(A a, E b)": ("unknown event type 'E'", "E", "The stream has: A, B, C, D."),
    "PATTERN A a WHERE a.z = 1": ("unknown attribute 'z' of type A", "a.z", "A has: x, y, k, flag."),
    "PATTERN D d WHERE d.flag": ("unknown attribute 'flag' of type D", "d.flag", "D has: x, only_d."),
    "PATTERN D d WHERE d.only = 1": (
        "unknown attribute 'only' of type D", "d.only", "D has: x, only_d. Did you mean 'only_d'?"),
    "PATTERN A a WHERE q.x = 1": ("unknown variable 'q'", "q.x", "The pattern has: a."),
    "PATTERN SEQ(A a, B a)": (
        "two components are called 'a'", "B a", "Give each component a variable of its own."),
    "PATTERN A a[]": ("a[] is a list, but the pattern takes one event", "A a[]", "A closure has a plus: A+ a[]."),
    "PATTERN SEQ(A a, A b) WHERE A.x = 1": (
        "several components have the type 'A'", "A.x", "Use a variable: a, b."),
    "PATTERN SEQ(A a, D d) WHERE [k]": ("unknown attribute 'k' of type D", "k", "D has: x, only_d."),
    PATTERN + "WHERE b.x = 1": (
        "b is a closure, a list of events", "b.x",
        ("Write b[1].x for the first event, b[last].x for the last, max(b[].x) for all; "
        "in a condition b[i].x is of every event.")),
    PATTERN + "WHERE a[i].x = 1": (
        "a is one event, not a closure", "a[i].x", "Write a.x; a closure has a plus: A+."),
    PATTERN + "WHERE b[].x = 1": (
        "a list of events where one value is needed", "b[].x", "Aggregate it, as in max(b[].x)."),
    PATTERN + "WHERE b[i] = 1": ("an event where a value is needed", "b[i]", "Name an attribute: b[i].x."),
    PATTERN + "WHERE max(b) = 1": (
        "max runs over the events of a closure", "max(b)",
        ("Write max(b[].x) over a finished closure, max(b[..i-1].x) over the events taken so far. "
        "The max of several values: max(p, q).")),
    PATTERN + "WHERE avg(a[].x) = 1": (
        "a is one event, not a closure", "a[].x", "Write a.x; a closure has a plus: A+."),
    PATTERN + "WHERE sum(b[].x * a.x) = 1": (
        "sum reads another event beside a list", "a.x",
        "Its formula reads the events of the list alone. Write the other outside, as in a.x * sum(b[].x)."),
    PATTERN + "WHERE len(a.k) = 1": ("unknown function 'len'", "len(a.k)", "Write length(a.x)."),
    PATTERN + "WHERE a.k REGEXP '('": (
        "no regular expression: missing ): (", "'('",
        "It is an expression of RE2, which has no back references and no looking ahead or behind."),
    PATTERN + "WHERE a.x LIKE '1%'": (
        "LIKE takes text, this is a number", "a.x", "A number as text: CAST(a.x AS string)."),
    PATTERN + "WHERE hour(a.ts, 'Mars') = 1": (
        "no time zone is called 'Mars'", "'Mars'",
        "Zones have their names in the tz database, as in hour(a.ts, 'Europe/Berlin')."),
    PATTERN + "WHERE sum(b[]) = 1": ("sum needs an attribute", "sum(b[])", "Write sum(b[].x)."),
    PATTERN + "WHERE sum(b[].k) = 1": ("sum of strings", "sum(b[].k)", "sum takes numbers."),
    PATTERN + "WHERE median(b[].x) = 1": (
        "unknown function 'median'", "median(b[].x)",
        "Did you mean 'min'?"),
    PATTERN + "WHERE abs(a.x, 1) = 1": ("abs takes 1 argument, not 2", "abs(a.x, 1)", "It is abs(number)."),
    PATTERN + "WHERE a.k + 1 = 2": ("cannot add a string", "a.k", "Arithmetic takes numbers."),
    PATTERN + "WHERE 2 * a.flag > 1": ("cannot multiply a truth value", "a.flag", "Arithmetic takes numbers."),
    PATTERN + "WHERE -a.k = 2": ("cannot negate a string", "a.k", "Arithmetic takes numbers."),
    PATTERN + "WHERE sqrt(a.k) = 2": ("sqrt takes numbers, this is a string", "a.k", "It is sqrt(number)."),
    PATTERN + "WHERE a.flag < c.flag": (
        "truth values have no order: < cannot compare them", "a.flag", "Compare them with = or !=."),
    PATTERN + "WHERE a.x": (
        "a condition is true or false, this is a number", "a.x",
        "Compare it with something: =, !=, <, <=, >, >= or IN."),
    PATTERN + "WHERE NOT a.k": (
        "NOT joins what is true or false, this is a string", "a.k", "Compare it with something."),
    PATTERN + "WHERE a.x = 1 OR a.x": (
        "OR joins what is true or false, this is a number", "a.x", "Compare it with something."),
    PATTERN + "WHERE a.x IN (1, 'p')": (
        "IN mixes a number with a string", "'p'", "All choices are of one kind."),
    PATTERN + "WHERE a.k = p": ("p stands alone", "p", "Write whose it is: a.p; a string stands in quotes: 'p'."),
    PATTERN + "WHERE a.k = null": (
        "null is no value to compare with", "null",
        "A comparison with null is false: write a.x IS NULL or a.x IS NOT NULL."),
    PATTERN + "WHERE a.x < NEXT(c).x": (
        "NEXT belongs to aggregate queries (COUNT(*) in RETURN)", "NEXT(c).x",
        "In a match query write c[i-1] and c[i]."),
    PATTERN + "RETURN b[i].x": (
        "in RETURN, no event is being taken", "b[i].x",
        "Write b[1], b[last], or an aggregate such as avg(b[].x)."),
    PATTERN + "RETURN avg(b[..i-1].x)": (
        "in RETURN, no event is being taken", "b[..i-1].x", "Write b[]: the finished closure."),
    PATTERN + "RETURN x": ("x stands alone", "x", "Write whose it is, as in a.x."),
    PATTERN + "RETURN a": (
        "a stands alone", "a",
        "The events themselves are always in the result; RETURN names values computed from them."),
    PATTERN + "RETURN a.x AS n, c.x AS n": (
        "two items of RETURN are called 'n'", "c.x AS n", "Name one of them: ... AS name."),
    PATTERN + "WHERE strict-contiguity(a, b, q)": ("unknown variable 'q'", "q", "The pattern has: a, b, c."),
}  # fmt: skip


@pytest.mark.parametrize("text", SCHEMA_ERRORS)
def test_wrong_names_and_kinds(text: str) -> None:
    message, part, hint = SCHEMA_ERRORS[text]
    with pytest.raises(QueryError) as caught:
        compile_query(text + " WITHIN 1 h", LETTERS)
    error = caught.value
    assert (error.message, error.text[error.start : error.end], error.hint) == (message, part, hint)
    assert error.stage == "schema"


PLAN_ERRORS = {
    "PATTERN SEQ(A a, (B b AND C c)) RETURN COUNT(*)": (
        "AND inside another pattern counts no pairs of trends", "B b AND C c"),
    "PATTERN A a RETURN COUNT(*) EMIT VALUES": ("EMIT VALUES belongs to match queries", "VALUES"),
    "PATTERN SEQ(A a, B b) OUTPUT COMPRESSED EMIT VALUES": (
        "OUTPUT COMPRESSED has no values of one match to emit", "VALUES"),
    "PATTERN SEQ(A a, B b) OUTPUT COMPRESSED PUBLISH 't' KEY a.x": (
        "OUTPUT COMPRESSED has one result for many matches: no key of one", "a.x"),
    "PATTERN A+ EXACT": ("EXACT belongs to aggregate queries (COUNT(*) in RETURN)", "EXACT"),
    "PATTERN A a RETURN COUNT(*) INTO E": (
        "the results of an aggregate query are no events to others", "E"),
    "PATTERN A a RETURN COUNT(*) CONFIDENCE >= 0.5": ("CONFIDENCE belongs to match queries", "0.5"),
    "PATTERN A a OUTPUT FIRST RETURN COUNT(*)": (
        "OUTPUT FIRST chooses among matches, and trends are never built", "FIRST"),
    "PATTERN A a OUTPUT ALL WITH TIMEOUTS RETURN COUNT(*)": (
        "WITH TIMEOUTS reports what was begun, and trends are never built", "ALL WITH TIMEOUTS"),
    "PATTERN A a CONSUME a RETURN COUNT(*)": (
        "CONSUME takes events from later matches, and trends are never built", "a"),
    "PATTERN A a HAVING a.x > 3": ("HAVING belongs to aggregate queries (COUNT(*) in RETURN)", "a.x > 3"),
    "PATTERN A a GROUP BY k": ("GROUP BY belongs to aggregate queries (COUNT(*) in RETURN)", "k"),
    PATTERN + "WHERE b[i].x < c.x": ("b[i].x has no value when c comes", "b[i].x"),
    PATTERN + "WHERE b[i-1].x < c.x": ("b[i-1].x has no value when c comes", "b[i-1].x"),
    PATTERN + "WHERE c.x > avg(b[..i-1].x)": ("b[..i-1] is over when c comes", "avg(b[..i-1].x)"),
    PATTERN + "WHERE b[i].x < b[last].x": (
        "a condition on each event cannot know the end of its closure", "b[last].x"),
    "PATTERN SEQ(" + "A, " * 30 + "A)": ("a pattern of this kind has at most 30 components, this one has 31", "A"),
    "RETURN COUNT(*) PATTERN SEQ(" + "A, " * 62 + "A)": (
        "a pattern of this kind has at most 62 components, this one has 63", "A"),
}  # fmt: skip


@pytest.mark.parametrize("text", PLAN_ERRORS)
def test_what_is_not_run_is_refused_with_an_alternative(text: str) -> None:
    message, part = PLAN_ERRORS[text]
    with pytest.raises(QueryError) as caught:
        compile_query(text + " WITHIN 1 h", LETTERS)
    error = caught.value
    assert (error.message, error.text[error.start : error.end], error.stage) == (message, part, "plan")
    assert error.hint


def test_slide_and_open_on_exclude_each_other() -> None:
    with pytest.raises(QueryError, match="a window either slides or opens on events"):
        compile_query("PATTERN A a WITHIN 1 h SLIDE 1 s OPEN ON B", LETTERS)


def test_an_error_in_full() -> None:
    with pytest.raises(QueryError) as caught:
        compile_query(PATTERN + "\nWHERE b[i].x <\tc.x WITHIN 1 h", LETTERS)
    assert str(caught.value) == (
        "query error: b[i].x has no value when c comes\n"
        "LINE 2: WHERE b[i].x <    c.x WITHIN 1 h\n"
        "              ^^^^^^\n"
        "Write b[last].x, b[1].x, or an aggregate such as max(b[].x)."
    )


WARNINGS = {
    "WHERE a.x = 'p'": "a number is compared with a string: always false",
    "WHERE a.k IN (1, 2)": "a string is compared with a number: always false",
    "WHERE a.flag = 1": "a truth value is compared with a number: always false",
    "WHERE b[i].x > b[1].x": "for the first event, b[i] and b[1] are the same: the condition applies to it too",
}


@pytest.mark.parametrize("where", WARNINGS)
def test_warnings(where: str) -> None:
    bound = bind(f"{PATTERN}{where} WITHIN 1 h", LETTERS, name="q")
    assert len(bound.warnings) == 1
    assert bound.warnings[0].startswith(f"query warning: {WARNINGS[where]}\nLINE 1: PATTERN")
    assert "^" in bound.warnings[0]


def test_a_slide_longer_than_its_window_is_a_warning() -> None:
    bound = bind("PATTERN A a WITHIN 1 s SLIDE 2 s", LETTERS, name="q")
    assert "SLIDE is longer than WITHIN" in bound.warnings[0]
    assert not bind(PATTERN + "WHERE a.x = 1 WITHIN 1 s SLIDE 1 s", LETTERS, name="q").warnings


def conditions(text: str) -> tuple[tuple[Condition, ...], tuple[str, ...]]:
    bound = bind(text + " WITHIN 1 h", LETTERS, name="q", lenient=True)
    assert isinstance(bound.plan, MatchPlan)
    return bound.plan.conditions, bound.warnings


def test_lenient_binding_turns_unknown_attributes_into_null() -> None:
    found, warnings = conditions("PATTERN A a WHERE a.z = 1")
    assert found == (
        Condition(0, Edge.BEGIN, Binary("=", Attribute(0, Which.SINGLE, "z", Kind.NULL), Const(1)), True, "a.z = 1"),
    )
    assert warnings[0].startswith("query warning: unknown attribute 'z' of type A\n")


def test_lenient_binding_reads_an_attribute_that_other_types_have() -> None:
    found, warnings = conditions("PATTERN D d WHERE d.k = 'p'")
    expr = found[0].expr
    assert isinstance(expr, Binary)
    assert isinstance(expr.left, Attribute)
    assert (expr.left.name, expr.left.kind) == ("k", Kind.STRING)
    assert len(warnings) == 1


def test_lenient_binding_lets_unknown_types_through() -> None:
    found, warnings = conditions("PATTERN SEQ(A a, Z z) WHERE z.x > 1 AND z.q > a.x")
    assert [condition.component for condition in found] == [1, 1]
    assert "unknown event type 'Z'" in warnings[0]


def test_lenient_binding_of_an_unknown_key_matches_nothing() -> None:
    bound = bind("PATTERN SEQ(A a, B b) WHERE [nothing, k] WITHIN 1 h", LETTERS, name="q", lenient=True)
    assert isinstance(bound.plan, MatchPlan)
    assert bound.plan.key == ("nothing", "k")
    assert bound.plan.conditions == ()


def test_lenient_warnings_are_few() -> None:
    text = "PATTERN A a WHERE " + " OR ".join(f"a.q{i} = 1" for i in range(100))
    assert len(conditions(text)[1]) == 20


def test_without_a_schema_kinds_are_guessed() -> None:
    bound = bind("PATTERN SEQ(A a, B b) WHERE [k] AND a.s = 'p' AND b.t IN ('q') AND a.f AND a.n > b.n WITHIN 1 h",
                 None, name="q")  # fmt: skip
    assert isinstance(bound.plan, MatchPlan)
    exprs = [condition.expr for condition in bound.plan.conditions]
    assert isinstance(exprs[0], Binary)
    assert isinstance(exprs[1], In)
    kinds = [exprs[0].left, exprs[1].operand, exprs[2]]
    assert [part.kind for part in kinds if isinstance(part, Attribute)] == [Kind.STRING, Kind.STRING, Kind.BOOL]


RUN_ALREADY = {
    "N query 1": True, "N query 1, key": True, "N query 2": True, "N query 3": True, "N benchmark": True,
    "N query p3*": True, "X Q1": True, "X Q2": True, "X Q3": True, "X Q4": True, "X Q5": True, "X Q6, option 1": True,
    "X Q6, option 2": True, "X figure 2": True, "X 5": True, "X closures": True, "T Q1": True, "T Q1, variant": True,
    "T Q2": True, "T Q3": True, "T example": True, "T figure 13": True, "P Q1": True, "P Q3": True,
    "P Q4": True, "G": True, "page": False,
}  # fmt: skip


@pytest.mark.parametrize("name", PAPERS)
def test_which_queries_of_the_papers_run(name: str) -> None:
    if RUN_ALREADY[name]:
        assert compile_query(PAPERS[name], None).text
        return
    with pytest.raises(QueryError) as caught:
        compile_query(PAPERS[name], None)
    assert caught.value.stage == "plan"
