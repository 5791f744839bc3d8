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
from saffron.errors import InputError
from tests.unit.api.samples import EVENTS, MATCHES, TRENDS

QUERIES = [
    "PATTERN SEQ(A+ a[], B b) WHERE [k] AND a[i].x > avg(a[..i-1].x) AND b.x < a[last].x WITHIN 9 ms",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip-till-any-match { [k] AND b[i].x >= a.x } WITHIN 6 ms SLIDE 2 ms",
    "PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] AND b.x > a.x } WITHIN 5 EVENTS",
    "PATTERN SEQ(A+ a[], B b, A c) WHERE partition-contiguity { [k] AND count(a[]) < 3 } WITHIN 20 ms",
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
        assert sum(results.why(f"k={key}", events=1000).story.matches for key in "pq") == found
        total += found
    assert total > 0


@pytest.mark.filterwarnings("ignore:query warning")
@pytest.mark.parametrize("query", QUERIES)
def test_every_match_has_a_story_that_takes_its_events(query: str) -> None:
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
    with pytest.raises(InputError, match="none of the 2 results has an id that begins with 'ffffff'"):
        results.why("ffffff")
    with pytest.raises(InputError, match="counted counts trends"):
        saffron.replay(TRENDS, EVENTS).why("user=ann")
    with pytest.raises(InputError, match="reads the events again"):
        saffron.replay(MATCHES, iter(EVENTS)).why("user=ann")


def test_results_of_other_queries_are_not_told_of() -> None:
    first = "QUERY hits PATTERN Rise a WITHIN 1 s RETURN a.x AS x INTO Hit"
    second = "QUERY pairs PATTERN SEQ(Hit h, Fall f) WITHIN 9 s"
    results = saffron.replay([first, second], EVENTS)
    with pytest.raises(InputError, match=r"pairs matches results of hits \(INTO\)"):
        results.why("*", query="pairs")


def test_a_query_without_a_key_is_asked_for_by_a_star() -> None:
    told = saffron.replay("PATTERN SEQ(Rise a, Fall b) WITHIN 2 s", EVENTS).why("*", events=3)
    assert (told.story.left_out, len(told.story.rows)) == (2, 3)


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
