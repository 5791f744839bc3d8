"""`saffron replay --why` and `Results.why`: what they tell is what the engine does."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

import saffron
from saffron.cli.main import app
from saffron.engine.why import kept_steps
from saffron.engine.why.block_traces import matches_only
from saffron.engine.why.trace import GivenEvent
from saffron.errors import InputError
from tests.unit.api.samples import EVENTS, MATCHES, TRENDS

QUERIES = [
    "PATTERN SEQ(A+ a[], B b) WHERE [k] AND a[i].x > avg(a[..i-1].x) AND b.x < a[last].x WITHIN 9 ms",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip-till-any-match { [k] AND b[i].x >= a.x } WITHIN 6 ms SLIDE 2 ms",
    "PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] AND b.x > a.x } WITHIN 5 EVENTS",
    "PATTERN SEQ(A+ a[], B b, A c) WHERE partition-contiguity { [k] AND count(a[]) < 3 } WITHIN 20 ms",
    "PATTERN SEQ(A a, NOT B FOR 2 ms) WHERE strict-contiguity { [k] } WITHIN 3 ms",
    "PATTERN SEQ(A a, B b, NOT A FOR 2 ms) WHERE [k] WITHIN 9 ms OPEN ON B",
]


def stream(seed: int, size: int = 60) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    ts = 1000
    events = []
    for _ in range(size):
        ts += rng.choice([0, 1, 1, 2])
        event = {"type": rng.choice("AAB"), "ts": ts, "k": rng.choice("pq"), "x": rng.choice([1, 2, 3, 4, None])}
        events.append(event)
    return events


@pytest.mark.filterwarnings("ignore:query warning")
@pytest.mark.parametrize("query", QUERIES)
def test_the_matches_told_of_are_those_of_the_engine(query: str) -> None:
    total = 0
    for seed in range(4):
        results = saffron.replay(query, stream(seed))
        found = results.counts()["query"]
        assert sum(results.why(f"k={key}", events=1000).trace.matches for key in "pq") == found
        total += found
    assert total > 0


@pytest.mark.filterwarnings("ignore:query warning")
@pytest.mark.parametrize("query", QUERIES)
def test_every_match_has_a_trace_that_takes_its_events(query: str) -> None:
    results = saffron.replay(query, stream(7))
    for match in results.head(5):
        assert isinstance(match, saffron.Match)
        told = results.why(match).to_dict()
        taken = [
            (row["event"]["seq"], outcome["variable"])
            for row in told["events"]
            for outcome in row["outcomes"]
            if outcome["what"] in ("begins", "takes")
        ]
        bound = [
            (event.seq, name)
            for name, events in match.events.items()
            for event in (events if isinstance(events, list) else [events])
            if event is not None
        ]
        assert taken == sorted(bound)


@pytest.mark.parametrize("cut_at", [1, 10_000])
def test_events_of_other_keys_do_not_take_the_place_of_the_keys_own(
    cut_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_steps, "_FIRST_CUT", cut_at)
    events = [{"type": "A", "ts": 1, "k": "p"}, {"type": "B", "ts": 2, "k": "p"}]
    events += [{"type": "A", "ts": 1000 * at, "k": "q"} for at in range(1, 100)]
    query = "PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] } WITHIN 10 ms"
    trace = saffron.replay(query, events).why("k=p").trace
    assert (trace.matches, trace.left_out) == (1, 0)
    assert [row.event and row.event["seq"] for row in trace.rows][:2] == [0, 1]


def test_only_steps_that_matter_are_kept() -> None:
    plan = saffron.compile("PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] } WITHIN 10 ms").plan
    kept = kept_steps.KeptSteps(matches_only(plan), shown=1)
    for block in range(10):
        ours = (
            GivenEvent({"seq": at, "ts": at}, at % 100_000 == 500) for at in range(block * 50_000, (block + 1) * 50_000)
        )
        kept.add(ours)
    assert (kept.ours, kept.left_out) == (5, 3)
    assert len(kept.steps) < 60_000
    near = [step for step in kept.steps if 400_480 <= step.event["ts"] <= 400_520]
    assert len(near) == 41


@pytest.mark.parametrize("user", ["Smith, Bob", "a=b", "a,user=b", " x ", "*", ""])
def test_a_key_may_have_any_text(user: str) -> None:
    events = [{"type": kind, "ts": ts, "user": user, "n": 1} for ts, kind in enumerate("AB")]
    alone = saffron.replay("PATTERN SEQ(A a, B b) WHERE [user] WITHIN 9 ms", events)
    assert alone.why(f"user={user}").trace.matches == 1


@pytest.mark.parametrize("asked", ["user=Smith, Bob,n=1", "n= 1 , user=Smith, Bob", "user = Smith, Bob, n = 1"])
def test_a_comma_ends_a_value_where_another_attribute_follows(asked: str) -> None:
    events = [{"type": kind, "ts": ts, "user": "Smith, Bob", "n": 1} for ts, kind in enumerate("AB")]
    both = saffron.replay("PATTERN SEQ(A a, B b) WHERE [user] AND [n] WITHIN 9 ms", events)
    assert both.why(asked).trace.matches == 1


def test_it_shows_itself() -> None:
    told = saffron.replay(MATCHES, EVENTS).why("user=ann")
    assert repr(told).startswith("peaks, user=ann: 2 matches among these events\nseq")
    assert "watermark: 9000" in repr(told)
    assert told._repr_html_().startswith("<pre")


def test_what_is_not_there_is_said_with_what_is() -> None:
    results = saffron.replay(MATCHES, EVENTS)
    with pytest.raises(InputError, match=r"no event has user = 'bop'; there are ann, bob. Did you mean 'bob'\?"):
        results.why("user=bop")
    with pytest.raises(InputError, match="the key of peaks is asked for as user=VALUE; got 'n=1'"):
        results.why("n=1")
    with pytest.raises(InputError, match="of 2 results none has an id that begins with 'ffffff'"):
        results.why("ffffff")
    with pytest.raises(InputError, match="counted counts trends"):
        saffron.replay(TRENDS, EVENTS).why("user=ann")
    with pytest.raises(InputError, match="reads the events again"):
        saffron.replay(MATCHES, iter(EVENTS)).why("user=ann")
    trends = saffron.replay(TRENDS, EVENTS)
    with pytest.raises(InputError, match="counted counts trends"):
        trends.why(next(iter(trends)))
    with pytest.raises(InputError, match="why is asked for a NoneType; give a match, its id, or a key"):
        results.why(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="events is -5: it should be a whole number from 1 on"):
        results.why("user=ann", events=-5)


COMPOSED = {
    "rise": "QUERY rise PATTERN SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 6 ms "
    "RETURN a.k, b.x - a.x AS by INTO Rise",
    "calm": "QUERY calm PATTERN SEQ(Rise r, NOT A a) WHERE [k] WITHIN 5 ms RETURN r.k, r.by AS size INTO Calm",
    "pairs": "QUERY pairs PATTERN SEQ(Rise r, A a, Rise s) WHERE [k] AND s.by >= r.by WITHIN 20 ms",
    "gaps": "QUERY gaps PATTERN SEQ(Calm c, NOT Rise n, B b) WHERE [k] WITHIN 20 EVENTS",
    "strict": "QUERY strict PATTERN SEQ(Calm c, A+ a[], B b) WHERE partition-contiguity { [k] } WITHIN 30 ms",
}


@pytest.mark.filterwarnings("ignore:query warning")
def test_results_of_other_queries_are_told_of_as_events() -> None:
    totals = dict.fromkeys(COMPOSED, 0)
    for seed in range(2):
        results = saffron.replay(list(COMPOSED.values()), stream(seed, 90))
        for name, found in results.counts().items():
            traces = [results.why(f"k={key}", query=name, events=1000).trace for key in "pq"]
            assert sum(trace.matches for trace in traces) == found, (seed, name)
            totals[name] += found
        for match in results.head(40)[::4]:
            assert isinstance(match, saffron.Match)
            assert results.why(match).trace.matches == 1
    assert min(totals.values()) > 2, totals


def test_such_an_event_shows_what_made_it_one_level_down() -> None:
    events = [
        {"type": "A", "ts": 1, "k": "p", "x": 1},
        {"type": "B", "ts": 2, "k": "p", "x": 3},
        {"type": "A", "ts": 3, "k": "p", "x": 1},
        {"type": "B", "ts": 4, "k": "p", "x": 9},
    ]
    results = saffron.replay([COMPOSED["rise"] + " PUBLISH", COMPOSED["pairs"]], events)
    trace = results.why("k=p", query="pairs")
    first = next(match for match in results if isinstance(match, saffron.Match) and match.query == "rise")
    squeezed = [" ".join(line.split()) for line in repr(trace).splitlines()]
    assert f"1 2 Rise 2 is result {first.id[:12]} of rise: a = 0, b = 1" in squeezed
    made = [row for row in trace.to_dict()["events"] if "made_by" in row]
    assert [row["event"] for row in made] == [
        {"seq": 1, "ts": 2, "type": "Rise", "k": "p", "by": 2.0},
        {"seq": 3, "ts": 4, "type": "Rise", "k": "p", "by": 8.0},
    ]
    assert made[0]["made_by"]["query"] == "rise"
    assert made[0]["made_by"]["result"]["id"] == first.id
    below = results.why(made[1]["made_by"]["result"]["id"]).to_dict()
    assert [row["event"]["seq"] for row in below["events"]] == [2, 3]


LIKELY = """PATTERN SEQ(Begin a, Load+ b[], End c) WHERE [task] AND b[i].val >= b[i-1].val
WITHIN 10 minutes CONFIDENCE >= 0.3"""
LOADS: list[dict[str, Any]] = [
    {"type": "Begin", "ts": 10, "task": "r"},
    {"type": "Load", "ts": [5, 14], "task": "r", "val": 0.2},
    {"type": "Load", "ts": [12, 21], "task": "r", "val": 0.3},
    {"type": "End", "ts": 22, "task": "r"},
]


@pytest.mark.filterwarnings("ignore:query warning")
def test_confidences_are_told_with_the_intervals() -> None:
    results = saffron.replay(LIKELY, LOADS, disorder=60_000)
    trace = results.why("task=r")
    squeezed = [" ".join(line.split()) for line in repr(trace).splitlines()]
    assert "(imprecise time: a match has a confidence, and 0.3 is asked for)" in squeezed
    assert "0 5 .. 14 Load 0.2 nothing that it could follow is there" in squeezed
    assert "2 12 .. 21 Load 0.3 can be b in 2 ways: up to 1 (a = 1, b = 2)" in squeezed
    assert "3 matches, confidence up to 1 (a = 1, b = 2, c = 3)" in squeezed
    told = trace.to_dict()
    assert (told["confidence"], told["matches"]) == (0.3, 3)
    assert told["events"][0]["event"]["ts"] == [5, 14]
    assert told["events"][2]["event"] == {"seq": 2, "ts": [12, 21], "type": "Load", "task": "r", "val": 0.3}


@pytest.mark.filterwarnings("ignore:query warning")
def test_a_prefix_that_is_too_unlikely_is_named() -> None:
    results = saffron.replay(LIKELY.replace("0.3", "0.35"), LOADS, disorder=60_000)
    squeezed = [" ".join(line.split()) for line in repr(results.why("task=r")).splitlines()]
    assert "2 12 .. 21 Load 0.3 too unlikely as b in 2 ways: up to 0.34 (a = 1, b = 0 2)" in squeezed
    likeliest = max(results, key=lambda match: match.to_dict()["confidence"])
    way = results.why(likeliest.id).to_dict()
    assert [row["event"]["seq"] for row in way["events"]] == [1, 2, 3]
    assert [row["outcomes"][0]["confidence"] for row in way["events"]] == [1.0, 1.0, 1.0]


def test_a_query_without_a_key_is_asked_for_by_a_star() -> None:
    told = saffron.replay("PATTERN SEQ(Rise a, Fall b) WITHIN 2 s", EVENTS).why("*", events=3)
    assert (told.trace.left_out, len(told.trace.rows)) == (2, 3)


class TestCommand:
    @pytest.fixture
    def files(self, tmp_path: Path) -> list[str]:
        (tmp_path / "q.saf").write_text(MATCHES)
        (tmp_path / "events.ndjson").write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in EVENTS))
        return ["replay", "-q", str(tmp_path / "q.saf"), str(tmp_path / "events.ndjson")]

    def test_a_table_for_people(self, files: list[str]) -> None:
        done = CliRunner().invoke(app, [*files, "--why", "user=ann"])
        assert done.exit_code == 0, done.output
        assert "peaks, user=ann: 2 matches" in done.output
        assert "taken as b by 2 runs" in done.output

    def test_json_for_programs(self, files: list[str]) -> None:
        first = next(iter(saffron.replay(Path(files[2]), files[3])))
        done = CliRunner().invoke(app, [*files, "--why", first.id[:12], "--json"])
        assert done.exit_code == 0, done.output
        assert orjson.loads(done.output)["matches"] == 1

    def test_standard_input_cannot_be_read_twice(self, files: list[str]) -> None:
        done = CliRunner().invoke(app, [*files[:3], "-", "--why", "user=ann"])
        assert done.exit_code == 2

    @pytest.mark.parametrize("more", [["--json"], ["--why", "user=ann", "--count"]])
    def test_options_that_do_not_go_together_are_wrong_usage(self, files: list[str], more: list[str]) -> None:
        assert CliRunner().invoke(app, [*files, *more]).exit_code == 2


@pytest.mark.parametrize("target", ["", "  "])
def test_nothing_is_neither_a_key_nor_an_id(target: str) -> None:
    with pytest.raises(InputError, match="nothing is asked for"):
        saffron.replay(MATCHES, EVENTS).why(target)
