"""How queries and results show themselves: on a terminal, and in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import saffron
from saffron.api.html import duration, moment, window_span
from saffron.api.timeline import timeline
from saffron.errors import InputError, QueryError, SchemaError
from tests.unit.api.samples import EVENTS, MATCHES, SCHEMA, TRENDS

SVG = "{http://www.w3.org/2000/svg}"


def svg(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


@pytest.fixture(scope="module")
def match() -> saffron.Match:
    found = saffron.replay(MATCHES, EVENTS).head(1)[0]
    assert isinstance(found, saffron.Match)
    return found


class TestQuery:
    def test_it_explains_and_draws_itself(self) -> None:
        query = saffron.compile(MATCHES, SCHEMA)
        assert query.name == "peaks"
        assert query.explain().startswith("match query peaks")
        assert query.to_dict()["kind"] == "match"
        assert ElementTree.fromstring(query.svg()).tag == f"{SVG}svg"
        assert repr(query).startswith("<saffron.Query peaks: PATTERN SEQ(Rise+ a[], Fall b)")
        assert query._repr_html_().startswith('<img style="max-width:100%" alt="the plan of peaks" src="data:image/svg')

    def test_names_are_checked_where_the_schema_is_known(self, tmp_path: Path) -> None:
        wrong = MATCHES.replace("b.user", "b.usr")
        assert saffron.compile(wrong).warnings == ()
        with pytest.raises(QueryError, match="Did you mean 'user'"):
            saffron.compile(wrong, SCHEMA)
        assert len(saffron.compile(wrong, SCHEMA, lenient=True).warnings) == 1
        (tmp_path / "broken.json").write_text("{")
        with pytest.raises(SchemaError, match="is not JSON"):
            saffron.compile(MATCHES, tmp_path / "broken.json")

    def test_files_name_their_queries(self, tmp_path: Path) -> None:
        (tmp_path / "falls.saf").write_text("PATTERN Fall f WITHIN 1 s")
        assert saffron.compile(tmp_path / "falls.saf").name == "falls"
        assert saffron.compile("PATTERN Fall f WITHIN 1 s", name="mine").name == "mine"
        with pytest.raises(InputError, match="cannot read"):
            saffron.compile(tmp_path / "none.saf")


class TestMatch:
    def test_its_parts(self, match: saffron.Match) -> None:
        a, b = match.events["a"], match.events["b"]
        assert isinstance(a, list)
        assert isinstance(b, saffron.Event)
        assert (b.ts, b["n"], b.get("x"), len(a)) == (4000, 4, None, 2)
        assert [event.n for event in a] == [1, 3]
        assert (match.query, match.partition, match.key["user"], match.start, match.end) == (
            "peaks",
            0,
            "ann",
            1000,
            4000,
        )
        assert match.window is None
        assert match.confidence is None
        assert not match.timeout
        assert match.returns["steps"] == 2
        assert match["id"] == match.id
        assert match == saffron.replay(MATCHES, EVENTS).head(1)[0]
        assert len({match, *saffron.replay(MATCHES, EVENTS)}) == 2
        with pytest.raises(AttributeError, match="the event has no attribute 'price'; it has seq, ts, type, user"):
            _ = b.price

    def test_it_is_one_line_on_a_terminal(self, match: saffron.Match) -> None:
        assert repr(match) == (
            "<Match peaks: user='ann' a[2] b, 1000 + 3 s, steps=2, total=4, gain=6, up=False, who='ann'>"
        )
        assert repr(match.events["b"]) == "Fall(seq=3, ts=4000, user='ann', n=4)"

    def test_it_draws_its_events_on_a_time_line(self, match: saffron.Match) -> None:
        drawn = svg(match._repr_html_())
        dots = drawn.findall(f"{SVG}circle")
        assert [float(dot.attrib["cx"]) for dot in dots] == [90.0, 268.0, 624.0]
        assert len({dot.attrib["cy"] for dot in dots}) == 2
        assert dots[2].findtext(f"{SVG}title") == "b: seq: 3, ts: 4000, type: Fall, user: ann, n: 4"

    def test_what_users_write_is_escaped(self) -> None:
        events = [{"type": "A", "ts": 1, "u": "<script>"}]
        found = saffron.replay('PATTERN A a WHERE [u] WITHIN 1 s RETURN a.u AS "<b>"'.replace('"<b>"', "b"), events)
        html = found.head(1)[0]._repr_html_()  # type: ignore[attr-defined]
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "<script>" not in found._repr_html_()


class TestTimeline:
    def test_events_of_one_time_stand_in_order_of_arrival(self) -> None:
        drawn = svg(timeline([("a", [{"seq": 3, "ts": 5}]), ("b", [{"seq": 7, "ts": 5}])], 5, 5))
        first, second = (float(dot.attrib["cx"]) for dot in drawn.findall(f"{SVG}circle"))
        assert first < second

    def test_long_closures_are_thinned_and_counted(self) -> None:
        events = [{"seq": n, "ts": n} for n in range(10_001)]
        html = timeline([("a", events), ("b", [])], 0, 10_000)
        drawn = svg(html)
        assert 200 < len(drawn.findall(f"{SVG}circle")) <= 401
        assert {"× 10,001", "none"} <= {text.text for text in drawn.findall(f"{SVG}text")}

    @pytest.mark.parametrize("span", [1, 7, 999, 60_001, 3_600_000, 86_400_000, 10**10, 10**13])
    def test_there_are_a_few_marks_at_round_distances(self, span: int) -> None:
        drawn = svg(timeline([("a", [{"seq": 0, "ts": 0}, {"seq": 1, "ts": span}])], 0, span))
        marks = [text.text for text in drawn.findall(f"{SVG}text") if (text.text or "").startswith("+")]
        assert 1 <= len(marks) <= 6

    def test_imprecise_times_stand_in_their_middle(self) -> None:
        rows: list[tuple[str, list[dict[str, Any]]]] = [("a", [{"seq": 0, "ts": [0, 10]}, {"seq": 1, "ts": [90, 110]}])]
        dots = svg(timeline(rows, 0, 110)).findall(f"{SVG}circle")
        assert float(dots[0].attrib["cx"]) > 90


def test_trends_and_results_have_their_tables() -> None:
    results = saffron.replay([MATCHES, TRENDS], EVENTS)
    html = results._repr_html_()
    assert "COUNT(*)" in html
    assert "4 in all" in html
    trend = next(one for one in results if isinstance(one, saffron.Trend))
    assert repr(trend) == "<Trend counted: [0, 10000), user='ann', COUNT(*)=3>"
    assert (trend.group["user"], trend.window, trend.exact) == ("ann", (0, 10_000), True)
    assert "COUNT(*)" in trend._repr_html_()
    once = saffron.replay(MATCHES, iter(EVENTS))
    assert "read only once" in once._repr_html_()
    assert once.counts() == {"peaks": 2}


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (3200, "3.2 s"),
        (250_000, "4 min 10 s"),
        (7_500_000, "2 h 5 min"),
        (10**8, "1 d 3 h"),
    ],
)
def test_durations_are_short(ms: int, text: str) -> None:
    assert duration(ms) == text


def test_times_near_to_1970_stay_numbers() -> None:
    assert moment(17) == "17"
    assert moment(1_700_000_000_123) == "2023-11-14 22:13:20.123"
    assert moment(2**53) == str(2**53)
    assert window_span((1_700_000_000_000, 1_700_000_060_000)) == "2023-11-14 22:13:20 + 1 min"


SOME = [{"type": "ABBC"[n], "ts": n, "x": n} for n in range(4)]


class TestOutput:
    def test_compressed_results_list_their_matches(self) -> None:
        query = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match WITHIN 1 s OUTPUT COMPRESSED"
        results = saffron.replay(query, SOME)
        (one,) = results
        assert isinstance(one, saffron.Compressed)
        assert (one.count, one.key, len(list(one.matches()))) == (3, {}, 3)
        assert next(one.matches()) == {"a": 0, "b": [1, 2], "c": 3}
        assert repr(one).startswith("<Compressed query: 3 matches that end at 3>")
        assert "matches" in one._repr_html_()
        assert "matches" in results._repr_html_()
        assert results.to_arrow()["count"].to_pylist() == [3]

    def test_timeouts_say_what_they_waited_for(self) -> None:
        results = saffron.replay("PATTERN SEQ(B b, A a) WITHIN 1 s OUTPUT ALL WITH TIMEOUTS RETURN a.x", SOME)
        found = list(results)
        assert [(one.timeout, one.waiting) for one in found if isinstance(one, saffron.Match)] == [(True, ("a",))] * 2
        assert "b" in repr(found[0])
        table = results.to_arrow()
        assert table["waiting"].to_pylist() == [["a"], ["a"]]
        assert table["return"].to_pylist() == [{"x": None}] * 2
