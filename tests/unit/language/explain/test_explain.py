"""Explanations: the automaton with its edges (N3), the template, cost classes (X7), and drawings."""

from __future__ import annotations

import json
import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from saffron.language import bind, compile_query, explain_json, explain_svg, explain_text
from saffron.language.cost.complexity import match_complexity, trend_complexity
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan
from tests.unit.language.samples import LETTERS, PAPERS, RALLY, STOCK

RALLY_TEXT = """\
match query rally
  stream   events
  strategy skip-till-next-match
  key      [symbol], each value on its own
  window   last.ts - first.ts <= 1 hour
  cost     polynomial, O(W^3): a Kleene closure under skip-till-next-match: a run splits only where
           it leaves the closure; 3 states
  merging  each run stays its own: later edges read avg(a[].price), an aggregate over all that each
           has bound
  partial matches: runs

automaton (NFA^b)
  a[1]
    begin    -> a[i]  type = Stock AND a[1].volume > 1000
  a[i]
    take     stay     type = Stock AND [symbol] AND a[i].price > avg(a[..i-1].price)
                      AND ts - first.ts <= 1 hour
    ignore   stay     NOT take AND ts - first.ts <= 1 hour
    proceed  -> b     the event begins b
  b
    begin    -> F     type = Stock AND [symbol] AND b.volume < 0.8 * a[last].volume
                      AND ts - first.ts <= 1 hour
    ignore   stay     NOT begin AND ts - first.ts <= 1 hour
  F  a match

returns
  symbol = a[1].symbol
  gain = a[last].price - a[1].price
  count(a[])
"""

TREND_TEXT = """\
aggregate query down
  stream   events
  strategy skip-till-any-match
  time     by (ts, arrival)
  key      [symbol, sector], each value on its own
  group    sector
  window   10 minutes, one every 10 seconds
  panes    10 seconds each, 60 to a window; an event lies in 60 windows
  cost     linearithmic, O(k n log n): each event finds its predecessors as a range of those before
           it, kept in order with their subtotals; each event keeps an aggregate for each of its k =
           60 windows

template (GRETA)
  S      type = Stock AND S.volume > 5  (start, end)
  S -> S  S.price > NEXT(S).price
    predecessors: an ordered tree by S.price, above NEXT(S).price

returns
  COUNT(*)
"""

GROUPS_TEXT = """\
match query groups
  stream   events
  strategy skip-till-next-match, strict-contiguity for b[i]
  time     events with equal ts are never adjacent
  key      [k], each value on its own
  window   last.ts - first.ts <= 1 hour
  output   LONGEST with timeouts
  consume  c
  cost     exponential, O(W^2 2^W): a repeated group has a choice, an AND or a repetition inside:
           each iteration may split a run
  partial matches: runs

pattern
  in order
    repeated, 2 times or more
      in order
        A a[]
        repeated, once or more
          B b[]
    NOT 1: B n then C m
    all of, in any order
      C c
      one of
        nothing
        A d

what may follow what
  begin -> a
  a -> b  what does not fit is skipped
  b -> a  again, what does not fit is skipped
  b -> b  again, nothing in between
  b -> c  what does not fit is skipped  NOT 1
  b -> d  what does not fit is skipped  NOT 1
  c -> d  what does not fit is skipped
  d -> c  what does not fit is skipped
  c -> match
  d -> match

conditions
  b[i].x > a[i].x  (of each b, with a of the same iteration)
  a[i].x > a[i-1].x  (of each a)
  c.x > sum(b[].x)  (when c is taken)
  c.x > d.x  (when the last of c, d is known)
  b.len > 3  (when b is complete)
  1 = 1  (of the first event)
  n.x > c.x  (of NOT 1)

returns
  x = c.x
"""

GROUPS = """PATTERN SEQ(SEQ(A a, B+ b){2,}, NOT SEQ(B n, C m), (C c AND A? d))
    WHERE skip-till-next-match, strict-contiguity(b[i]) { [k] AND b[i].x > a[i].x AND a[i].x > a[i-1].x
    AND c.x > sum(b[].x) AND c.x > d.x AND b.len > 3 AND 1 = 1 AND n.x > c.x }
    WITHIN 1 h RETURN c.x OUTPUT LONGEST WITH TIMEOUTS CONSUME c TIME STRICT"""

DOWN = """QUERY down RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [symbol,sector] AND S.price > NEXT(S).price
    AND S.volume > 5 GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds"""


def test_the_example_of_the_language_page() -> None:
    assert explain_text(compile_query(RALLY, STOCK)) == RALLY_TEXT


def test_query_1_of_greta() -> None:
    assert explain_text(compile_query(DOWN, STOCK)) == TREND_TEXT


def test_a_pattern_of_groups() -> None:
    plan = compile_query(GROUPS, LETTERS, name="groups")
    assert explain_text(plan) == GROUPS_TEXT


def test_json_of_a_pattern_of_groups() -> None:
    found = explain_json(compile_query(GROUPS, LETTERS, name="groups"))
    assert json.loads(json.dumps(found)) == found
    assert found["pattern"] == {
        "seq": [
            {
                "repeat": {"seq": [{"event": "a"}, {"repeat": {"event": "b"}, "low": 1, "high": None}]},
                "low": 2,
                "high": None,
            },
            {"not": 0},
            {"and": [{"event": "c"}, {"or": [{"seq": []}, {"event": "d"}]}], "count": 2},
        ]
    }
    assert (found["begins"], found["ends"]) == (["a"], ["c", "d"])
    assert {"from": "b", "to": "b", "strategy": "strict-contiguity", "not": []} in found["links"]
    assert {"from": "b", "to": "c", "strategy": "skip-till-next-match", "not": [0]} in found["links"]
    assert found["absences"] == [{"sequences": [["n", "m"]], "conditions": ["n.x > c.x"]}]
    assert found["conditions"][2] == {
        "expression": "c.x > sum(b[].x)", "text": "c.x > sum(b[].x)", "asked": "when c is taken"
    }  # fmt: skip
    assert (found["output"], found["timeouts"], found["consume"]) == ("LONGEST", True, ["c"])
    assert "states" not in found


UNWRITTEN = "publish  none: only other queries read the results (PUBLISH writes them, too)"


@pytest.mark.parametrize(
    ("clauses", "lines"),
    [
        ("CONFIDENCE >= 0.5", ["likely   confidence >= 0.5"]),
        ("OUTPUT FIRST", ["output   FIRST"]),
        ("OUTPUT ALL WITH TIMEOUTS", ["output   ALL with timeouts"]),
        ("CONSUME ALL", ["consume  a, b"]),
        ("RETURN a.x EMIT VALUES", ["emit     values: results have no events"]),
        ("PUBLISH 'alerts' KEY a.x", ["publish  to topic alerts, keyed by a.x"]),
        ("RETURN a.x INTO Rise", ["into     Rise", UNWRITTEN]),
        ("RETURN a.x INTO Rise PUBLISH", ["into     Rise"]),
        (
            "RETURN a.x PUBLISH 't' AS JSON SCHEMA",
            ["publish  to topic t as JSON SCHEMA"],
        ),
    ],
)
def test_what_is_reported(clauses: str, lines: list[str]) -> None:
    text = explain_text(compile_query(f"PATTERN SEQ(A a, B+ b) WITHIN 1 h {clauses}", LETTERS))
    assert "automaton (NFA^b)" in text
    assert [line.strip() for line in text.splitlines() if line.strip() in lines] == lines


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("A{3} a", ["repeated, 3 times"]),
        ("ANY(1, A a)", ["repeated, once"]),
        ("A{2,4} a", ["repeated, 2 to 4 times"]),
        ("ANY(2, A a, B b, C c) DISTINCT k", ["2 of, in any order", "different k: a, b, c"]),
        ("SEQ(D d, ANY(2, A a) DISTINCT k)+", ["different k: a of one iteration of the repetition around a"]),
        ("SEQ(A a, NOT (B n OR C m), A z)", ["NOT 1: B n or C m", "a -> z  what does not fit is skipped  NOT 1"]),
        ("SEQ(NOT B, A a, NOT C)", ["begin -> a  NOT 1", "a -> match  NOT 2"]),
    ],
)
def test_lines_of_patterns(pattern: str, lines: list[str]) -> None:
    text = explain_text(compile_query(f"PATTERN {pattern} WITHIN 1 h", LETTERS))
    assert [line.strip() for line in text.splitlines() if line.strip() in lines] == lines


def edges(strategy: str, where: str = "", within: str = "WITHIN 10 EVENTS") -> dict[str, str]:
    """Formulas by "state edge" of a closure between two events."""
    plan = compile_query(f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy} {where} {within}", LETTERS)
    return {
        f"{state['name']} {edge['edge']}": " AND ".join(edge["conditions"])
        for state in explain_json(plan)["states"]
        for edge in state["edges"]
    }


def test_ignore_edges_tell_the_strategies_apart() -> None:
    within = "seq - first.seq < 10"
    ignores = {
        strategy: [formula for name, formula in edges(strategy, where).items() if name.endswith("ignore")]
        for strategy, where in (
            ("strict-contiguity", "{[k]}"),
            ("partition-contiguity", "{[k]}"),
            ("skip-till-next-match", ""),
            ("skip-till-any-match", ""),
        )
    }
    assert ignores == {
        "strict-contiguity": ["false"] * 3,
        "partition-contiguity": [f"NOT [k] AND {within}"] * 3,
        "skip-till-next-match": [f"NOT {edge} AND {within}" for edge in ("begin", "take", "begin")],
        "skip-till-any-match": [within] * 3,
    }
    assert [f for name, f in edges("partition-contiguity").items() if name.endswith("ignore")] == ["false"] * 3


def test_every_edge() -> None:
    conditions = "{ [k] AND b[1].x > a.x AND b[i].x > b[i-1].x AND b.len > 2 AND (c.x = 1 OR c.x = 2) }"
    assert edges("skip-till-any-match", conditions, "WITHIN 1 h SLIDE 1 s") == {
        "a begin": "type = A",
        "b[1] begin": "type = B AND [k] AND b[1].x > a.x AND in one window with the first event",
        "b[1] ignore": "in one window with the first event",
        "b[i] take": "type = B AND [k] AND b[i].x > b[i-1].x AND in one window with the first event",
        "b[i] ignore": "in one window with the first event",
        "b[i] proceed": "b.len > 2 AND the event begins c",
        "c begin": "type = C AND [k] AND (c.x = 1 OR c.x = 2) AND in one window with the first event",
        "c ignore": "in one window with the first event",
    }


@pytest.mark.parametrize(
    ("pattern", "strategy", "name", "bound"),
    [
        ("A a", "skip-till-any-match", "linear", "O(W)"),
        ("SEQ(A a, B b)", "skip-till-next-match", "linear", "O(W)"),
        ("SEQ(A a, B b)", "strict-contiguity", "linear", "O(W)"),
        ("SEQ(A a, B b, C c)", "skip-till-any-match", "polynomial", "O(W^3)"),
        ("SEQ(A a, B+ b[], C c)", "skip-till-next-match", "polynomial", "O(W^4)"),
        ("SEQ(A a, B+ b[], C c)", "partition-contiguity", "polynomial", "O(W^4)"),
        ("SEQ(A a, B+ b[], C c)", "skip-till-any-match", "exponential", "O(W^2 2^W)"),
        ("SEQ(A a, B+ b[])", "skip-till-any-match", "exponential", "O(W 2^W)"),
        ("SEQ(A+ a[], B+ b[])", "skip-till-any-match", "exponential", "O(2^(2W))"),
        ("SEQ(A a, NOT B b, C c)", "skip-till-next-match", "linear", "O(W)"),
        ("SEQ(A a, B? b, C c)", "skip-till-next-match", "linear", "O(W)"),
        ("A a AND B b", "skip-till-any-match", "polynomial", "O(W^2)"),
        ("ANY(2, A a, B b, C c)", "skip-till-any-match", "polynomial", "O(W^2)"),
        ("SEQ(A a, (B b OR C c))", "skip-till-any-match", "polynomial", "O(W^2)"),
        ("SEQ(A a, B{2,3} b)", "skip-till-any-match", "polynomial", "O(W^4)"),
        ("SEQ(A a, B{2,3} b)", "skip-till-next-match", "polynomial", "O(W^3)"),
        ("SEQ(A a, B b)+", "skip-till-next-match", "polynomial", "O(W^3)"),
        ("SEQ(A a, B b)+", "skip-till-any-match", "exponential", "O(2^W)"),
        ("SEQ(C c, SEQ(A a, B b)+)", "skip-till-any-match", "exponential", "O(W 2^W)"),
        ("SEQ(A a, B+ b)+", "skip-till-next-match", "exponential", "O(2^W)"),
        ("SEQ(A a, B+ b)+", "strict-contiguity", "polynomial", "O(W^4)"),
        ("SEQ(A a, A+ b)+", "strict-contiguity", "exponential", "O(2^W)"),
        ("(A a OR B b)+", "skip-till-next-match", "exponential", "O(2^W)"),
        ("SEQ(A a, B+ b, C c)", "skip-till-any-match, strict-contiguity(b[i])", "polynomial", "O(W^4)"),
        ("SEQ(A a, B+ b, C c)", "skip-till-next-match, skip-till-any-match(b[i])", "exponential", "O(W^2 2^W)"),
    ],
)
def test_cost_classes_of_match_queries(pattern: str, strategy: str, name: str, bound: str) -> None:
    plan = compile_query(f"PATTERN {pattern} WHERE {strategy} WITHIN 1 h", LETTERS)
    assert isinstance(plan, MatchPlan)
    cost = match_complexity(plan)
    assert (cost.name, cost.bound) == (name, bound)
    assert cost.reason


def test_an_exponential_query_is_warned_of_before_it_starts() -> None:
    text = "PATTERN SEQ(A a, B+ b) WHERE skip-till-any-match WITHIN 1 h"
    (warning,) = bind(text, LETTERS, name="q").warnings
    assert warning == (
        "query warning: the number of matches can grow exponentially, O(W 2^W)\n"
        "LINE 1: PATTERN SEQ(A a, B+ b) WHERE skip-till-any-match WITHIN 1 h\n"
        "                ^^^^^^^^^^^^^^\n"
        "Skip-till-any-match may take or skip each event of a Kleene closure: every subset can be a match.\n"
        "Fewer: skip-till-next-match, OUTPUT FIRST or LONGEST, a shorter WITHIN; or count them: RETURN COUNT(*)."
    )
    assert not bind(text + " OUTPUT FIRST", LETTERS, name="q").warnings
    (likely,) = bind(text + " CONFIDENCE >= 0.9", LETTERS, name="q").warnings
    assert likely.endswith("Fewer: a higher CONFIDENCE, below which the search ends, or a shorter WITHIN.")


@pytest.mark.parametrize(
    ("where", "name", "bound"),
    [
        ("", "linear", "O(n)"),
        ("WHERE A.x > 1", "linear", "O(n)"),
        ("WHERE A.x < NEXT(A).x", "linearithmic", "O(n log n)"),
        ("WHERE A.x + NEXT(A).x > 3", "polynomial", "O(n^2)"),
        ("WHERE A.x < NEXT(A).x AND A.y < NEXT(A).y", "polynomial", "O(n^2)"),
    ],
)
def test_cost_classes_of_aggregate_queries(where: str, name: str, bound: str) -> None:
    plan = compile_query(f"PATTERN A+ {where} WITHIN 1 h RETURN COUNT(*)", LETTERS)
    assert isinstance(plan, TrendPlan)
    cost = trend_complexity(plan)
    assert (cost.name, cost.bound) == (name, bound)


@pytest.mark.parametrize(
    ("within", "line"),
    [
        ("WITHIN 90 s", "last.ts - first.ts <= 90 seconds"),
        ("WITHIN 100 EVENTS", "last.seq - first.seq < 100"),
        ("WITHIN 1 h SLIDE 1500 ms", "1 hour, one every 1500 ms"),
        ("WITHIN 2 EVENTS SLIDE 1 EVENTS", "2 events, one every 1 event"),
        ("WITHIN 1 h SLIDE 1 h", "1 hour, one after the other"),
        ("WITHIN 1 h OPEN ON B WHERE B.x > 1", "1 hour from each B where B.x > 1"),
    ],
)
def test_windows(within: str, line: str) -> None:
    plan = compile_query(f"PATTERN A a {within}", LETTERS)
    assert f"\n  window   {line}\n" in explain_text(plan)


def test_json_holds_the_whole_plan() -> None:
    match = explain_json(compile_query(RALLY, STOCK))
    assert json.loads(json.dumps(match)) == match
    assert match["kind"] == "match"
    assert match["components"][0] == {"variable": "a", "type": "Stock", "closure": True}
    assert match["window"] == {"size": 3_600_000, "slide": None, "unit": "ms", "opens_on": None}
    assert match["complexity"]["class"] == "polynomial"
    assert [state["name"] for state in match["states"]] == ["a[1]", "a[i]", "b", "F"]
    assert match["returns"][1] == {"name": "gain", "expression": "a[last].price - a[1].price"}
    trend = explain_json(compile_query(DOWN, STOCK))
    assert json.loads(json.dumps(trend)) == trend
    assert (trend["kind"], trend["group"], trend["strict"]) == ("aggregate", ["sector"], False)
    (edge,) = trend["transitions"]
    assert (edge["from"], edge["to"], edge["conditions"]) == ("S", "S", ["S.price > NEXT(S).price"])
    assert (edge["index"]["search"], edge["index"]["ranges"]) == ("tree", [[">", "NEXT(S).price"]])
    assert trend["panes"] == {"size": 10_000, "windows": 60}
    assert trend["states"][0]["conditions"] == ["S.volume > 5"]


def test_null_and_hostile_text_in_explanations() -> None:
    text = "PATTERN A a WHERE a.z = '<&>\x07' WITHIN 1 h RETURN a.z AS v"
    plan = compile_query(text, LETTERS, lenient=True)
    assert "v = a.z" in explain_text(plan)
    assert "\x07" not in explain_text(plan)
    ElementTree.fromstring(explain_svg(plan))


# ---------------------------------------------------------------- drawings

DRAWN = [
    RALLY.replace("Stock", "A").replace("symbol", "k").replace("price", "x").replace("volume", "y"),
    "PATTERN SEQ(A a, B+ b[], C c, A+ d[], B e, C f) WITHIN 1 h",
    "PATTERN SEQ(A a, B b, C c, A d, B e, C f, A g) WHERE skip-till-any-match WITHIN 1 h",
    "PATTERN A+ WITHIN 1 h RETURN COUNT(*)",
    "PATTERN SEQ(NOT B, A? a, NOT SEQ(B n, C m), (B b AND SEQ(C c, A d))+, NOT D) WHERE b[i].x > c[i].x WITHIN 1 h",
    "PATTERN ANY(3, A, B, C, D, A, B, C) DISTINCT x WITHIN 1 h",
    "PATTERN SEQ((A a OR B b OR C c), SEQ(A d, B* e)+, (A OR D n)) WITHIN 1 h",
    """PATTERN (SEQ(A+, (SEQ(B, (SEQ(C, A x))+))+, B y, (SEQ(C z, A w+))+))+ WHERE A.x < NEXT(A).x
    WITHIN 1 h RETURN COUNT(*)""",
]

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def boxes(document: ElementTree.Element) -> list[Box]:
    """(left, top, right, bottom) of all labels, the legend's lines, and the outer circles of states."""
    found: list[Box] = []
    for text in document.iter(f"{SVG}text"):
        x, y, length = float(text.attrib["x"]), float(text.attrib["y"]), len(text.text or "")
        width = length * (6.7 if text.attrib.get("class") == "l" else 7.3)
        if text.attrib.get("class") == "l":
            found.append((x - width / 2, y - 10, x + width / 2, y + 2))
        elif text.attrib.get("class") != "n":
            found.append((x, y - 11, x + width, y + 3))
    for circle in document.iter(f"{SVG}circle"):
        x, y, radius = (float(circle.attrib[name]) for name in ("cx", "cy", "r"))
        if radius == 28:
            found.append((x - radius, y - radius, x + radius, y + radius))
    return found


@pytest.mark.parametrize("query", DRAWN)
def test_drawings_are_whole_and_nothing_overlaps(query: str) -> None:
    plan = compile_query(query, LETTERS)
    document = ElementTree.fromstring(explain_svg(plan))
    width, height = float(document.attrib["width"]), float(document.attrib["height"])
    found = boxes(document)
    for left, top, right, bottom in found:
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
    for one, two in combinations(found, 2):
        assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1], (one, two)


def test_drawings_need_nothing_from_elsewhere() -> None:
    drawing = explain_svg(compile_query(RALLY, STOCK))
    assert re.findall(r"https?://[^\"]+", drawing) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in drawing


@pytest.mark.parametrize("name", [name for name in PAPERS if name in ("N query 2", "X Q1", "X Q5", "X Q6, option 1")])
def test_queries_of_the_papers_are_explained_without_a_schema(name: str) -> None:
    plan = compile_query(PAPERS[name], None)
    assert explain_text(plan).startswith("match query query\n")
    assert explain_json(plan)["text"] == plan.text


def test_where_results_go_is_told_to_programs_too() -> None:
    plain = explain_json(compile_query("PATTERN A a WITHIN 1 h", LETTERS))
    assert "delivery" not in plain
    told = explain_json(compile_query("PATTERN A a WITHIN 1 h EMIT VALUES PUBLISH 't' AS AVRO KEY a.x", LETTERS))
    assert told["delivery"] == {"events": False, "written": True, "topic": "t", "key": "a.x", "form": "AVRO"}
    text = "PATTERN A+ GROUP BY k WITHIN 1 h RETURN COUNT(*) AS n PUBLISH 't' KEY COUNT(*)"
    trend = explain_json(compile_query(text, LETTERS))
    assert trend["delivery"] == {"events": True, "written": True, "topic": "t", "key": "COUNT(*)", "form": None}
    assert "\n  publish  to topic t, keyed by COUNT(*)\n" in explain_text(compile_query(text, LETTERS))
