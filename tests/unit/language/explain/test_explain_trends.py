"""Explanations of aggregate queries: all graphs, what waits for what, panes, indexes, cost."""

from __future__ import annotations

import json
from itertools import combinations
from xml.etree import ElementTree

import pytest

from saffron.language import explain_json, explain_svg, explain_text, parse
from saffron.language.cost.complexity import trend_complexity
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.scope.scope import Scope
from saffron.language.trends.plan import bind_trend
from tests.unit.language.explain.test_explain import boxes
from tests.unit.language.samples import LETTERS

NESTED = """PATTERN (SEQ(A+, NOT SEQ(C, NOT D, B n), B b))+
WHERE A.x < NEXT(A).x AND A.flag = NEXT(A).flag AND A.y + NEXT(b).y > 3
WITHIN 10 min SLIDE 45 s GROUP BY x RETURN x, COUNT(*), SUM(A.x) / COUNT(*) AS mean HAVING COUNT(*) > 3
TIME STRICT EXACT"""

NESTED_TEXT = """\
aggregate query q
  stream   events
  strategy skip-till-any-match
  time     events with equal ts are never adjacent
  key      [x], each value on its own
  group    x
  window   10 minutes, one every 45 seconds
  panes    15 seconds each, 40 to a window; an event lies in 14 windows
  numbers  integers of any size
  cost     polynomial, O(k n^2): a condition on adjacent events that no order of them serves: each
           event is compared with those before; each event keeps an aggregate for each of its k = 14
           windows

template (GRETA)
  A      type = A  (start)
  b      type = B  (end)
  A -> A  A.x < NEXT(A).x AND A.flag = NEXT(A).flag
    predecessors: an ordered tree by A.x for each A.flag = NEXT(A).flag, below NEXT(A).x
  A -> b  A.y + NEXT(b).y > 3
    NOT 1; predecessors: a scan
  b -> A  true
    predecessors: a running total

negative graph, NOT 1
  C      type = C  (start)
  n      type = B  (end)
  C -> n  true
    NOT 2; predecessors: a running total

negative graph, NOT 2
  D      type = D  (start, end)

dependencies
  template: NOT 1 first
  NOT 1: NOT 2 first

returns
  COUNT(*)
  mean = SUM(A.x) / COUNT(*)

having
  COUNT(*) > 3
"""

AND = "PATTERN SEQ(A+, B) AND (A+ y){2} WHERE skip-till-any-match, strict-contiguity(A[i]) WITHIN 10 s RETURN COUNT(*)"
NEXT = """PATTERN SEQ(NOT C, A+, B?, D, NOT C) WHERE skip-till-next-match { A.x != NEXT(A).x }
WITHIN 100 EVENTS SLIDE 50 EVENTS RETURN COUNT(*)"""
OPENED = "PATTERN A+ WITHIN 10 s OPEN ON B RETURN COUNT(*)"


def trend(text: str) -> TrendPlan:
    return bind_trend(parse(text), Scope(text, LETTERS, lenient=False), "q")


def test_all_graphs_in_words() -> None:
    assert explain_text(trend(NESTED)) == NESTED_TEXT


def test_sides_of_and_and_strategies_of_steps() -> None:
    text = explain_text(trend(AND))
    assert "  strategy skip-till-any-match, strict-contiguity from A to A\n" in text
    assert "\ntemplate of what both sides match\n  none: no sequence of events matches both\n" in text
    assert "  y:1 -> y:2  true\n" in text
    assert "    nothing in between; predecessors: the last event alone\n" in text


def test_who_waits_for_whom_under_skip_till_next_match() -> None:
    text = explain_text(trend(NEXT))
    assert "  A      type = A  (start after NOT 1)\n" in text
    assert "  D      type = D  (end before NOT 2)\n" in text
    noted = "what does not fit is skipped; and waits for B, D no longer; predecessors: a scan"
    assert noted in " ".join(text.split())
    assert "  panes    50 events each, 2 to a window; an event lies in 2 windows\n" in text


def test_windows_that_share_panes_say_so() -> None:
    text = explain_text(trend("PATTERN A+ WITHIN 1 h SLIDE 1 min RETURN COUNT(*)"))
    assert "  panes    1 minute each; an event counts once, in its pane\n" in text
    assert "once for all 60 windows" in " ".join(text.split())


def test_windows_that_events_open_have_no_panes() -> None:
    assert "  panes    none: an event lies in each window that is open when it comes\n" in explain_text(trend(OPENED))
    assert explain_json(trend(OPENED))["panes"] == {"size": None, "windows": None}


def test_json_says_the_same() -> None:
    shown = explain_json(trend(NESTED))
    assert json.loads(json.dumps(shown)) == shown
    assert shown["dependencies"] == {"template": ["NOT 1"], "NOT 1": ["NOT 2"]}
    assert [graph["negative"] for graph in shown["graphs"]] == [0, 1]
    assert [edge["index"]["search"] for edge in shown["transitions"]] == ["tree", "scan", "total"]
    assert shown["transitions"][1]["not_between"] == [0]
    assert (shown["exact"], shown["having"]) == (True, "COUNT(*) > 3")


@pytest.mark.parametrize("query", [NESTED, AND, NEXT, OPENED])
def test_drawings_hold_all_graphs_and_nothing_overlaps(query: str) -> None:
    plan = trend(query)
    drawing = explain_svg(plan)
    states = sum(len(one.states) for one in (plan.template, *plan.sides, *plan.negatives))
    assert drawing.count('r="28"') == states
    found = boxes(ElementTree.fromstring(drawing))
    for one, two in combinations(found, 2):
        assert one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1], (one, two)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("A+ WHERE A.x + NEXT(A).x > 1 WITHIN 1 h", "a condition on adjacent events that no order of them serves"),
        ("A+ WHERE skip-till-next-match { A.x > NEXT(A).x } WITHIN 1 h", "under skip-till-next-match, events wait"),
        ("SEQ(A, NOT SEQ(B b, C c), D) WITHIN 1 h", "a NOT of several events between two others"),
        ("SEQ(A, NOT SEQ(B b, C c)) WHERE b.x < c.x WITHIN 1 h", "a condition on adjacent events inside a NOT"),
        ("SEQ(A+, NOT SEQ(B b, C c), D) WHERE A.x < NEXT(A).x WITHIN 1 h TIME STRICT", "a NOT of several events"),
    ],
)
def test_why_predecessors_are_scanned(query: str, reason: str) -> None:
    found = trend_complexity(trend(f"PATTERN {query} RETURN COUNT(*)"))
    assert found.bound == "O(n^2)"
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("pattern", "tail", "bound"),
    [
        ("A+", "WITHIN 1 h", "O(n)"),
        ("A+", "WITHIN 1 h SLIDE 10 min", "O(k n)"),
        ("A+", "WITHIN 1 h SLIDE 1 min", "O(n)"),
        ("SEQ(A+, NOT B, C)", "WITHIN 1 h SLIDE 1 min", "O(k n)"),
        ("A+", "WHERE skip-till-next-match WITHIN 1 h SLIDE 1 min", "O(k n)"),
        ("A+", "WITHIN 1 h SLIDE 1 min TIME STRICT", "O(k n)"),
        ("A+", "WITHIN 1 h OPEN ON B", "O(k n)"),
        ("A+", "WHERE strict-contiguity { A.x + NEXT(A).x > 1 } WITHIN 1 h", "O(n)"),
        ("SEQ(A, NOT SEQ(B b, C c), D)", "WHERE b.x < c.x WITHIN 1 h", "O(n^2)"),
        ("SEQ(A, NOT B, D)", "WHERE A.x < NEXT(D).x WITHIN 1 h", "O(n log n)"),
        ("A+", "WHERE A.x < NEXT(A).x WITHIN 1 h TIME STRICT", "O(n log n)"),
        ("A+ a", "WHERE a[i-1].x > 2 WITHIN 1 h", "O(n log n)"),
        ("A+", "WHERE A.x != NEXT(A).x WITHIN 1 h SLIDE 1 min", "O(k n log n)"),
    ],
)
def test_cost_classes(pattern: str, tail: str, bound: str) -> None:
    assert trend_complexity(trend(f"PATTERN {pattern} {tail} RETURN COUNT(*)")).bound == bound
