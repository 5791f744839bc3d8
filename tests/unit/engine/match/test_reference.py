"""The reference matcher itself, on the worked examples of the papers and of the language's definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from tests.reference.match.answers import answers, composed, returned
from tests.reference.match.events import Event, events_of
from tests.reference.match.matches import Match, all_matches
from tests.reference.match.output import counts_by_last, timeouts
from tests.reference.match.question import question
from tests.reference.match.worlds import Vague, likely_matches

STRICT, PARTITION, NEXT, ANY = (
    "strict-contiguity",
    "partition-contiguity",
    "skip-till-next-match",
    "skip-till-any-match",
)


def letters(text: str, **attributes: Sequence[Any]) -> list[Event]:
    """ "A1 B2" -> events 1, 2 of these types at these times; attributes one value an event."""
    words = text.split()
    values = [{name: column[n] for name, column in attributes.items()} for n in range(len(words))]
    return events_of(
        {"seq": n + 1, "ts": int(word[1:]), "type": word[0], **given}
        for n, (word, given) in enumerate(zip(words, values, strict=True))
    )


def shown(found: Sequence[Match]) -> list[str]:
    """ "1;2,3" for each match: seqs by component."""
    return [";".join(",".join(map(str, part)) for part in match.seqs()) for match in found]


def run(query: str, stream: str | Sequence[Event], functions: Mapping[str, Any] | None = None) -> list[str]:
    """Matches of a query without WITHIN, in their order."""
    text = query if "WITHIN" in query else f"{query} WITHIN 100 ms"
    return shown(answers(text, letters(stream) if isinstance(stream, str) else stream, functions))


# ---------------------------------------------------------------- the definition's own examples


@pytest.mark.parametrize(
    ("query", "stream", "matches"),
    [
        ("PATTERN SEQ(A a, B+ b[], C c)", "A1 B2 D3 B4 C5", ["1;2,4;5"]),
        ("PATTERN SEQ(A a, B+ b[], C c)", "A1 B2 C3 B4 C5 C6", ["1;2;3", "1;2,4;5", "1;2,4;6"]),
        ("PATTERN SEQ(A a, B+ b[])", "A1 B2 B3", ["1;2", "1;2,3"]),
    ],
)
def test_what_skip_till_next_match_means_for_closures(query: str, stream: str, matches: list[str]) -> None:
    """language, "Strategy"."""
    assert run(query, stream) == matches


@pytest.mark.parametrize(
    ("strategy", "matches"),
    [
        (STRICT, ["2;3,4;5"]),
        (PARTITION, ["2;3,4;5"]),
        (NEXT, ["1;3,4;5", "2;3,4;5"]),
        (ANY, ["1;3,4;5", "1;3;5", "1;4;5", "2;3,4;5", "2;3;5", "2;4;5"]),
    ],
)
def test_the_example_of_the_second_paper(strategy: str, matches: list[str]) -> None:
    """X: contiguity gives one match, next-match two, any-match six."""
    assert run(f"PATTERN SEQ(A a, B+ b, C c) WHERE {strategy} WITHIN 10 ms", "A1 A2 B5 B6 C7") == matches


def test_non_decreasing_subsequences() -> None:
    events = letters("B1 B2 B3 B4 B5", val=(0.1, 0.2, 0.15, 0.19, 0.25))
    query = "PATTERN SEQ(B+ b) WHERE {} {{ b[i].val >= b[i-1].val }}"
    assert [one for one in run(query.format(NEXT), events) if one.startswith("1")] == ["1", "1,2", "1,2,5"]
    found = run(query.format(ANY), events)
    assert len(found) == 19
    assert "1,3,4,5" in found


def test_figure_4_of_the_second_paper() -> None:
    events = letters("A1 B4 B5 B6 C7", v=(0, 6, 7, 9, 0))
    query = f"PATTERN SEQ(A a, B+ b, C c) WHERE {ANY} {{ b[i].v >= b[i-1].v }}"
    assert len(run(query, events)) == 7


QUERY_3 = """PATTERN SEQ(Stock+ a[], Stock b) WHERE skip-till-next-match {
    [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price) AND b.volume < 0.8 * a[last].volume }
    WITHIN 1 hour"""


def test_query_3_on_figure_3() -> None:
    prices = (100, 120, 120, 121, 120, 125, 120, 120)
    volumes = (1010, 990, 1005, 999, 999, 750, 950, 700)
    events = [
        {"seq": n, "ts": n, "type": "Stock", "symbol": "IBM", "price": price, "volume": volume}
        for n, (price, volume) in enumerate(zip(prices, volumes, strict=True), 1)
    ]
    found = shown(answers(QUERY_3, events))
    assert found[:2] == ["1,2,3,4,5;6", "3,4;6"]
    assert next(one for one in found if one.endswith(";8")) == "1,2,3,4,5,6,7;8"


SHOPLIFTING = "PATTERN SEQ(S a, ~(R b), E c) WHERE [tag]"


@pytest.mark.parametrize(
    ("stream", "matches"), [("S1 R2 E3 S4 E5", ["4;5"]), ("S1 E3 S4 E5", ["1;2", "3;4"]), ("S1 R2 E3 E5", [])]
)
def test_shoplifting(stream: str, matches: list[str]) -> None:
    """N query 1, and G: dropping the counter adds a false positive, dropping the shelf loses a match."""
    assert run(SHOPLIFTING, letters(stream, tag=[7] * 5)) == matches


def test_the_register_must_have_the_same_tag() -> None:
    assert run(SHOPLIFTING, letters("S1 R2 E3", tag=(7, 8, 7))) == ["1;3"]


def test_contamination_is_a_path() -> None:
    """N query 2 (lemma 3.2: reachability)."""
    sites: dict[str, tuple[str, ...]] = {
        "site": ("x", "", "", "", ""),
        "origin": ("", "x", "y", "x", "z"),
        "to": ("", "y", "z", "z", "w"),
    }
    query = f"PATTERN SEQ(A a, S+ b) WHERE {ANY} {{ b[1].origin = a.site AND b[i].origin = b[i-1].to }}"
    assert run(query, letters("A1 S2 S3 S4 S5", **sites)) == ["1;2", "1;2,3", "1;4", "1;2,3,5", "1;4,5"]


def test_query_p3_star_prunes_what_overlaps() -> None:
    query = """PATTERN SEQ(S+ a, S b, S c) WHERE skip-till-next-match { a[i].price > max(a[..i-1].price)
        AND c.price > a[1].price AND c.price < a[last].price } OUTPUT NON-OVERLAP"""
    prices = (1, 3, 1, 2, 5, 8, 1, 6)
    events = letters("S1 S2 S3 S4 S5 S6 S7 S8", price=prices)
    assert run(query, events) == ["1,2;3;4", "5,6;7;8"]


# ---------------------------------------------------------------- GRETA's counts, as matches

EXAMPLE_6 = "A1 B2 C2 A3 E3 A4 C5 D6 B7 A8 B9"


@pytest.mark.parametrize(
    ("pattern", "stream", "count"),
    [
        ("(SEQ(A+, B))+", "A1 B2 A3 A4 B7", 11),
        ("(SEQ(A+, B))+", EXAMPLE_6, 43),
        ("A+", EXAMPLE_6, 15),
        ("SEQ(A+, B)", EXAMPLE_6, 23),
        ("(SEQ(A+, NOT SEQ(C, NOT E, D), B))+", EXAMPLE_6, 13),
        ("SEQ(A+, NOT E)", EXAMPLE_6, 14),
        ("SEQ(NOT E, A+)", EXAMPLE_6, 12),
        ("SEQ(A+, B, A, A+, B+)", "A1 B2 A3 A4 B5", 1),
    ],
)
def test_the_counts_of_the_third_paper(pattern: str, stream: str, count: int) -> None:
    """T, from definition 1: an aggregate query equals the aggregate over the matches of its twin."""
    query = f"PATTERN {pattern} WHERE {ANY} TIME STRICT WITHIN 100 ms SLIDE 100 ms"
    assert len(run(query, stream)) == count


def test_down_trends() -> None:
    """T, section 2."""
    events = letters(" ".join(f"S{n}" for n in range(10)), price=(10, 2, 9, 8, 7, 1, 6, 5, 4, 3))
    found = run(f"PATTERN S+ s WHERE {ANY} {{ s[i].price < s[i-1].price }}", events)
    assert (len(found), max(found, key=len)) == (275, "1,3,4,5,7,8,9,10")


def test_windows_of_ten_sliding_by_three() -> None:
    """T, example 6 shifted by -1."""
    shifted = " ".join(f"{word[0]}{int(word[1:]) - 1}" for word in EXAMPLE_6.split())
    query = question(f"PATTERN (SEQ(A+, B))+ WHERE {ANY} TIME STRICT WITHIN 10 ms SLIDE 3 ms")
    windows = [match.window for match in all_matches(query, letters(shifted))]
    assert [windows.count((low, low + 10)) for low in (-6, -3, 0, 3, 6)] == [1, 11, 43, 5, 1]


# ---------------------------------------------------------------- groups, options, repetition


@pytest.mark.parametrize(
    ("query", "stream", "matches"),
    [
        ("PATTERN SEQ(A a, B? b, C c)", "A1 B2 C3", ["1;2;3", "1;;3"]),
        ("PATTERN SEQ(A a, B* b, C c)", "A1 B2 B3 C4", ["1;2,3;4", "1;;4"]),
        ("PATTERN SEQ(A a, B{2} b, C c)", "A1 B2 B3 B4 C5", ["1;2,3;5"]),
        ("PATTERN SEQ(A{2,3} a, C c)", "A1 A2 A3 A4 C5", ["1,2,3;5", "2,3,4;5", "3,4;5"]),
        ("PATTERN SEQ(A{2,} a)", "A1 A2 A3", ["1,2", "1,2,3", "2,3"]),
        ("PATTERN SEQ(X x, A a OR B b)", "X1 B2 A3", ["1;;2", "1;3;"]),
        ("PATTERN SEQ(X x, (A a OR B b)+)", "X1 B2 A3", ["1;;2", "1;3;2", "1;3;"]),
        ("PATTERN SEQ(X x, A a AND B b)", "X1 A2 B3 A4", ["1;2;3", "1;4;3"]),
        ("PATTERN SEQ(X x, SEQ(A a, B b) AND C c)", "X1 A2 C3 B4 C5", ["1;2;4;3", "1;2;4;5"]),
        ("PATTERN SEQ(X x, A+ a AND B b)", "X1 A2 B3 A4", ["1;2;3", "1;2,4;3", "1;4;3"]),
        ("PATTERN SEQ(X x, ANY(2, A a, B b, C c))", "X1 B2 B3 C4", ["1;;2;4"]),
        ("PATTERN ANY(2, A a) DISTINCT k", "A1 A2 A3", ["1,3", "2,3"]),
        ("PATTERN SEQ(A a, B b)+", "A1 B2 C3 A4 B5", ["1;2", "1,4;2,5", "4;5"]),
        ("PATTERN SEQ(A a, B+ b)+", "A1 B2 A3 B4", ["1;2", "1,3;2,4", "1;2,4", "3;4"]),
        ("PATTERN SEQ(A a, (B b, C c)*, D d)", "A1 B2 C3 B4 D5 C6 D7", ["1;;;5", "1;2,4;3,6;7"]),
    ],
)
def test_selection_over_groups_and_options(query: str, stream: str, matches: list[str]) -> None:
    keys = (1, 1, 2, 1, 1, 1, 1)
    assert run(query, letters(stream, k=keys)) == matches


def test_a_repeated_groups_variables_are_lists() -> None:
    events = letters("A1 B2 A3 B4 A5 B6", x=(1, 2, 3, 2, 5, 9))
    assert run("PATTERN SEQ(A a, B b)+ WHERE b[i].x > a[i].x", events)[-1] == "5;6"
    assert run("PATTERN SEQ(A a, B b)+ WHERE a[i].x > a[i-1].x AND a[last].x > 4", events) == [
        "1,3,5;2,4,6",
        "3,5;4,6",
        "5;6",
    ]
    asked = question("PATTERN SEQ(A a, B b)+ WITHIN 10 ms RETURN a.len, sum(b[].x) AS total, a[1].x")
    found = returned(asked, answers(asked, events)[1])
    assert found == {"len": 2, "total": 4, "x": 1}


def test_a_condition_on_an_unbound_variable_holds_and_returns_null() -> None:
    events = letters("A1 C2", x=(1, 2))
    asked = question("PATTERN SEQ(A a, B? b, C c) WHERE b.x > 5 WITHIN 10 ms RETURN b.x AS bx, c.x")
    (match,) = answers(asked, events)
    assert returned(asked, match) == {"bx": None, "x": 2}


def test_a_condition_on_and_is_asked_in_either_order() -> None:
    query = "PATTERN A a AND B b WHERE a.x < b.x"
    assert run(query, letters("A1 B2", x=(1, 2))) == ["1;2"]
    assert run(query, letters("B1 A2", x=(2, 1))) == ["2;1"]
    assert run(query, letters("B1 A2", x=(1, 2))) == []


def test_own_aggregates_see_what_is_not_null() -> None:
    events = letters("A1 A2 A3", x=(1, None, 9))
    query = "PATTERN A{3} a WHERE spread(a[].x) > 7"
    assert run(query, events, {"spread": lambda values: max(values) - min(values)}) == ["1,2,3"]


# ---------------------------------------------------------------- strategies for each step


@pytest.mark.parametrize(
    ("strategies", "matches"),
    [
        ("skip-till-next-match", ["1;2,5;6"]),
        ("skip-till-next-match, strict-contiguity(b[i])", ["1;2;6"]),
        ("skip-till-next-match, strict-contiguity(b)", ["1;2,5;6"]),
        ("skip-till-next-match, skip-till-any-match(b)", ["1;2,5;6", "1;5;6"]),
        ("skip-till-next-match, skip-till-any-match(c)", ["1;2,5;6", "1;2;6"]),
        ("strict-contiguity, skip-till-next-match(b[i], b)", ["1;2,5;6"]),
        ("strict-contiguity(a, b, c)", []),
    ],
)
def test_each_step_has_its_strategy(strategies: str, matches: list[str]) -> None:
    assert run(f"PATTERN SEQ(A a, B+ b, C c) WHERE {strategies}", "A1 B2 D3 D4 B5 C6") == matches


def test_partition_contiguity_passes_over_other_keys_strict_does_not() -> None:
    events = letters("A1 C2 B3", k=(1, 2, 1))
    assert run(f"PATTERN SEQ(A a, B b) WHERE {PARTITION} {{ [k] }}", events) == ["1;3"]
    assert run(f"PATTERN SEQ(A a, B b) WHERE {STRICT} {{ [k] }}", events) == []


# ---------------------------------------------------------------- NOT


@pytest.mark.parametrize(
    ("pattern", "stream", "matches"),
    [
        ("SEQ(A a, NOT SEQ(C c, D d), B b)", "A1 D2 C3 B4", ["1;4"]),
        ("SEQ(A a, NOT C, NOT D, B b)", "A1 D2 C3 B4", ["1;4"]),
        ("SEQ(A a, NOT C, NOT D, B b)", "A1 C2 D3 B4", []),
        ("SEQ(A a, NOT C+, B b)", "A1 C2 B3 A4 B5", ["4;5"]),
        ("SEQ(NOT C, A a)", "C1 A2 A9", ["3"]),
        ("SEQ(A a, NOT C)", "A1 A4 C6", ["1"]),
        ("SEQ(A? a, NOT C, B b)", "C1 B2", []),
        ("SEQ(A a, SEQ(X? x, NOT C, B b)+)", "A1 B2 C3 B4", ["1;;2"]),
        ("SEQ(A a, NOT SEQ(C c, NOT E, D d), B b)", "A1 C2 E3 D4 B5", ["1;5"]),
    ],
)
def test_not(pattern: str, stream: str, matches: list[str]) -> None:
    assert run(f"PATTERN {pattern} WITHIN 4 ms", stream) == matches


def test_conditions_of_a_not_say_what_must_not_be() -> None:
    query = "PATTERN SEQ(A a, NOT C c, B b) WHERE c.x > a.x AND c.x < b.x"
    assert run(query, letters("A1 C2 B3", x=(1, 5, 3))) == ["1;3"]
    assert run(query, letters("A1 C2 B3", x=(1, 2, 3))) == []


@pytest.mark.parametrize("pattern", ["NOT A", "SEQ(NOT A)", "SEQ(A, SEQ(NOT B, C))", "SEQ(A, NOT B)+", "A AND NOT B"])
def test_a_not_out_of_place_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="NOT"):
        question(f"PATTERN {pattern} WITHIN 1 ms")


# ---------------------------------------------------------------- windows and output


def test_output_chooses_among_all() -> None:
    query = f"PATTERN SEQ(A a, B+ b) WHERE {ANY} WITHIN 9 ms OUTPUT {{}}"
    assert run(query.format("ALL"), "A1 B2 B3") == ["1;2", "1;2,3", "1;3"]
    assert run(query.format("FIRST"), "A1 B2 B3") == ["1;2"]
    assert run(query.format("LONGEST"), "A1 B2 B3") == ["1;2,3"]
    assert run(query.format("NON-OVERLAP"), "A1 B2 B3 A4 B5") == ["1;2", "4;5"]
    asked = question(query.format("COMPRESSED"))
    found = answers(asked, letters("A1 B2 B3"))
    assert sorted((event.seq, count) for (event, _), count in counts_by_last(found).items()) == [(2, 1), (3, 2)]


def test_consumed_events_serve_no_later_match() -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE {ANY} CONSUME {{}}"
    assert run(query.format("NONE"), "A1 A2 B3 B4") == ["1;3", "2;3", "1;4", "2;4"]
    assert run(query.format("ALL"), "A1 A2 B3 B4") == ["1;3", "2;4"]
    assert run(query.format("a"), "A1 A2 B3 B4") == ["1;3", "2;3"]


def test_timeouts_are_runs_that_no_match_continued() -> None:
    asked = question("PATTERN SEQ(A a, B b, C? c, D d) WITHIN 5 ms OUTPUT ALL WITH TIMEOUTS")
    found = timeouts(asked, letters("A1 B2 D3 A4 B5"))
    assert [([event.seq for part in one.parts for event in part], one.waits) for one in found] == [([4, 5], ("c", "d"))]


def test_results_become_events_of_another_query() -> None:
    """N11: a result stands behind the event that completed it, and breaks no contiguity."""
    pairs = question("PATTERN SEQ(A a, B b) WITHIN 9 ms RETURN a.x, b.x - a.x AS rise INTO Pair")
    events = composed(pairs, letters("A1 B2 C3 A4 B5", x=(1, 3, 0, 2, 9)))
    assert [(e.type, e.seq, e.counter, dict(e.attributes)) for e in events if e.counter] == [
        ("Pair", 2, 1, {"x": 1, "rise": 2}),
        ("Pair", 5, 1, {"x": 2, "rise": 7}),
    ]
    assert run("PATTERN SEQ(Pair p, Pair q) WHERE q.rise > p.rise", events) == ["2;5"]
    assert run(f"PATTERN SEQ(B b, C c) WHERE {STRICT}", events) == ["2;3"]
    assert run(f"PATTERN SEQ(B b, Pair p, C c) WHERE {STRICT}", events) == ["2;2;3"]


def test_a_trailing_not_is_known_when_the_window_closes() -> None:
    quiet = question("PATTERN SEQ(A a, NOT B) WITHIN 3 ms RETURN a.x INTO Quiet")
    made = [event for event in composed(quiet, letters("A1 C2 C9", x=(1, 2, 3))) if event.counter]
    assert [(event.seq, event.ts) for event in made] == [(2, 4)]


# ---------------------------------------------------------------- imprecise time


def vague(*events: tuple[str, int, int]) -> list[Vague]:
    return [Vague(n, lo, hi, kind, {}) for n, (kind, lo, hi) in enumerate(events, 1)]


def test_the_confidence_of_a_match_sums_its_worlds() -> None:
    """X2: a in 1..2, b in 2..3: strictly before in three worlds of four."""
    asked = question("PATTERN SEQ(A a, B b) WITHIN 10 ms")
    (match,) = likely_matches(asked, vague(("A", 1, 2), ("B", 2, 3)))
    assert match.confidence == Fraction(3, 4)
    sure = question("PATTERN SEQ(A a, B b) WITHIN 10 ms CONFIDENCE >= 0.8")
    assert likely_matches(sure, vague(("A", 1, 2), ("B", 2, 3))) == []
    near = question("PATTERN SEQ(A a, B b) WITHIN 1 ms")
    assert likely_matches(near, vague(("A", 1, 2), ("B", 2, 3)))[0].confidence == Fraction(1, 2)


def test_times_may_have_another_distribution() -> None:
    asked = question("PATTERN SEQ(A a, B b) WITHIN 10 ms")
    early = Vague(1, 1, 2, "A", {}, (Fraction(9, 10), Fraction(1, 10)))
    (match,) = likely_matches(asked, [early, *vague(("A", 9, 9), ("B", 2, 2))[1:]])
    assert match.confidence == Fraction(9, 10)


def test_uncorrelated_closures_are_sets_correlated_ones_lists() -> None:
    events = vague(("A", 1, 1), ("B", 2, 3), ("B", 2, 3), ("C", 4, 4))
    pair = ((1, 0),), ((2, 0), (3, 0)), ((4, 0),)
    loose = question("PATTERN SEQ(A a, B+ b, C c) WITHIN 10 ms")
    assert {one.parts: one.confidence for one in likely_matches(loose, events)}[pair] == 1
    tied = question("PATTERN SEQ(A a, B+ b, C c) WHERE b[i].ts > b[i-1].ts WITHIN 10 ms")
    found = {one.parts: one.confidence for one in likely_matches(tied, events)}
    assert found[pair] == found[((1, 0),), ((3, 0), (2, 0)), ((4, 0),)] == Fraction(1, 4)
