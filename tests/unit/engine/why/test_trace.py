"""What the trace of a key, or of a match, says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from saffron.engine.why.as_dict import to_dict
from saffron.engine.why.as_text import lines
from saffron.engine.why.decisions import What
from saffron.engine.why.trace import GivenEvent, Trace, trace_of_key, trace_of_match
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.INT, "k": Kind.STRING}, dict.fromkeys("ABCD", ("x", "k")), {})


def plan(text: str) -> MatchPlan:
    made = compile_query(text, SCHEMA)
    assert isinstance(made, MatchPlan)
    return made


def steps(text: str) -> list[GivenEvent]:
    """`A3 B5 +10 C1`: an event of each type with its x, one ms apart; +10 skips ten ms."""
    made: list[GivenEvent] = []
    ts = 0
    for word in text.split():
        if word.startswith("+"):
            ts += int(word)
        else:
            made.append(GivenEvent({"seq": len(made), "ts": ts, "type": word[0], "x": int(word[1:])}))
            ts += 1
    return made


def key_trace(query: str, events: str, shown: int = 100) -> Trace:
    return trace_of_key(plan(query), {}, steps(events), shown=shown)


def body(trace: Trace) -> list[str]:
    """The table's rows, spaces squeezed."""
    text = [" ".join(line.split()) for line in lines(trace)]
    return text[text.index(next(line for line in text if line.startswith("seq "))) + 1 : text.index("")]


def meant(match: list[list[int]]) -> list[list[dict[str, int]]]:
    return [[{"seq": seq} for seq in part] for part in match]


def outcomes(trace: Trace) -> list[list[tuple[What, int]]]:
    return [[(one.what, one.runs) for one in row.outcomes] for row in trace.rows]


def test_a_refusal_names_the_condition_and_both_values() -> None:
    trace = key_trace("PATTERN SEQ(A a, B b) WHERE b.x > a.x + 1 WITHIN 10 ms", "A3 B4 B5")
    assert body(trace) == [
        "0 0 A 3 begins a run as a",
        "1 1 B 4 1 run waits on; it is refused",
        "as b by b.x > a.x + 1 [4 > 4]",
        "2 2 B 5 taken as b by 1 run",
        "match",
    ]
    assert (trace.matches, trace.refused) == (1, {"b.x > a.x + 1": 1})


def test_a_run_says_what_it_waits_for_and_when_its_window_ends() -> None:
    trace = key_trace("PATTERN SEQ(A a, B b) WITHIN 3 ms", "A1 C1 A2 +5 C2 A3")
    assert body(trace) == [
        "0 0 A 1 begins a run as a",
        "1 1 C 1 passed over: 1 run waits for b",
        "2 2 A 2 passed over: 1 run waits for b",
        "begins a run as a",
        "3 8 C 2 2 runs expired: the window is over",
        "4 9 A 3 begins a run as a",
    ]
    assert trace.live == {"has a, waits for b": 1}
    assert "1 has a, waits for b" in " ".join(" ".join(lines(trace)).split())


def test_an_event_that_begins_nothing_says_why() -> None:
    assert body(key_trace("PATTERN SEQ(A a, B b) WHERE a.x IN (1, 2) WITHIN 3 ms", "A7 D1")) == [
        "0 0 A 7 begins no run; refused",
        "as a by a.x IN (1, 2) [7 IN (1, 2)]",
        "1 1 D 1 no run waits for it",
    ]


def test_contiguity_ends_runs() -> None:
    trace = key_trace("PATTERN SEQ(A a, B b) WHERE partition-contiguity { b.x > 5 } WITHIN 9 ms", "A1 B1 A1 C1")
    assert body(trace) == [
        "0 0 A 1 begins a run as a",
        "1 1 B 1 ends 1 run, for which nothing may be skipped: refused",
        "as b by b.x > 5 [1 > 5]",
        "2 2 A 1 begins a run as a",
        "3 3 C 1 ends 1 run, for which nothing may be skipped: no b",
    ]


def test_strict_contiguity_sees_the_events_of_other_keys() -> None:
    made = plan("PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] } WITHIN 9 ms")
    foreign = GivenEvent({"seq": 1, "ts": 1, "type": "A", "x": 1, "k": "b"}, ours=False)
    first, _, last = steps("A1 C1 B1")
    trace = trace_of_key(made, {"k": "a"}, [first, foreign, last], shown=9)
    assert outcomes(trace) == [[(What.BEGINS, 1)], [(What.DIES, 1)], []]


def test_not_names_the_event_that_forbids_the_match() -> None:
    trace = key_trace("PATTERN SEQ(A a, NOT C c, B b) WHERE c.x > a.x WITHIN 9 ms", "A1 C1 C5 B1")
    assert "no match: NOT forbids event 2" in body(trace)
    assert trace.matches == 0


def test_a_trailing_not_is_decided_when_the_window_ends() -> None:
    query = "PATTERN SEQ(A a, NOT C c) WITHIN 4 ms"
    assert body(key_trace(query, "A1 B1"))[-1] == "end match"
    assert body(key_trace(query, "A1 C1 +9 B1"))[-1] == "2 11 B 1 no match: NOT forbids event 1"


def test_null_and_conditions_of_other_forms_show_their_values() -> None:
    events = [GivenEvent({"seq": 0, "ts": 0, "type": "A", "x": None, "k": "a"})]
    trace = trace_of_key(plan("PATTERN A a WHERE a.x > 1 AND (a.x = 2 OR a.k = 'b') WITHIN 1 ms"), {}, events, shown=9)
    assert [values for _, _, values in trace.rows[0].outcomes[0].refusals] == ["null > 1", "null = 2 OR 'a' = 'b'"]


def test_only_the_last_events_are_told() -> None:
    trace = key_trace("PATTERN SEQ(A a, B b) WITHIN 9 ms", "A1 B1 A1 B1 A1 B1", shown=2)
    assert (trace.left_out, len(trace.rows), trace.matches) == (4, 2, 1)
    assert "(4 earlier events of the key are left out)" in list(lines(trace))


def test_events_of_other_keys_take_no_place_of_the_last_events() -> None:
    made = plan("PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] } WITHIN 50 ms")
    events = [{"seq": at, "ts": at, "type": "A", "x": 1, "k": "ab"[at % 2]} for at in range(12)]
    trace = trace_of_key(made, {"k": "a"}, [GivenEvent(one, ours=one["k"] == "a") for one in events], shown=4)
    assert (trace.left_out, [row.event["seq"] for row in trace.rows if row.event]) == (2, [4, 5, 6, 7, 8, 9, 10, 11])


def test_long_stories_are_cut_in_the_middle() -> None:
    trace = key_trace("PATTERN A a WITHIN 9 ms", " ".join(["A1"] * 500), shown=500)
    assert any("(380 events are left out here)" in line for line in lines(trace))
    assert len(to_dict(trace)["events"]) == 500


class TestOfAMatch:
    @staticmethod
    def told(query: str, events: str, match: list[list[int]]) -> Trace | None:
        return trace_of_match(plan(query), {}, steps(events), meant(match))

    def test_it_follows_the_run_that_found_it(self) -> None:
        query = "PATTERN SEQ(A+ a[], B b) WHERE skip-till-next-match { a[i].x > a[i-1].x } WITHIN 99 ms"
        trace = self.told(query, "A1 A5 A3 B1 A9 B2", [[0, 1, 4], [5]])
        assert trace is not None
        assert body(trace) == [
            "0 0 A 1 begins a run as a",
            "1 1 A 5 taken as a by 1 run",
            "2 2 A 3 1 run waits on; it is refused",
            "as a by a[i].x > a[i-1].x [3 > 5]",
            "4 4 A 9 taken as a by 1 run",
            "5 5 B 2 taken as b by 1 run",
            "match",
        ]

    def test_what_is_no_match_has_no_trace(self) -> None:
        assert self.told("PATTERN SEQ(A a, B b) WITHIN 99 ms", "A1 A1 B1 B1", [[0], [3]]) is None

    @pytest.mark.parametrize("strategy", ["skip-till-next-match", "skip-till-any-match", "partition-contiguity"])
    def test_each_event_of_it_is_taken_in_turn(self, strategy: str) -> None:
        made = plan(f"PATTERN SEQ(A a, (B b | SEQ(C c, D d))+, A e) WHERE {strategy} WITHIN 99 ms")
        events = steps("A1 B1 C1 D1 B1 A1")
        trace = trace_of_match(made, {}, events, meant([[0], [1, 4], [2], [3], [5]]))
        assert trace is not None
        assert list(_taken(trace)) == [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "b"), (5, "e")]


def _taken(trace: Trace) -> Iterable[tuple[Any, str | None]]:
    for row in trace.rows:
        for one in row.outcomes:
            if row.event is not None and one.what in (What.BEGINS, What.TAKES):
                yield row.event["seq"], one.component


def test_a_not_with_a_time_says_when_that_is_over_and_what_it_refuses() -> None:
    trace = key_trace("PATTERN SEQ(A a, NOT B FOR 5 ms, C c, NOT B EVERY 4 ms) WITHIN 20 ms", "A1 C1 +5 C2 +9 D1")
    assert body(trace) == [
        "0 0 A 1 begins a run as a",
        "1 1 C 1 1 run waits on; it is refused",
        "as c by NOT B B FOR 5 ms [1 > 5]",
        "2 7 C 2 taken as c by 1 run",
        "3 17 D 1 match: the time of the last NOT was over at 11",
        "match: the time of the last NOT was over at 15",
        "end match: the time of the last NOT was over at 19",
    ]


def test_an_or_with_a_not_says_which_side_came_first() -> None:
    trace = key_trace("PATTERN SEQ(A a, (C c OR NOT B FOR 5 ms)) WITHIN 20 ms", "A1 +9 C1")
    assert body(trace) == [
        "0 0 A 1 begins a run as a",
        "1 10 C 1 match: the time of the last NOT was over at 5",
        "1 run waits on; it is refused",
        "as c by NOT B B FOR 5 ms came first [10 <= 5]",
    ]
