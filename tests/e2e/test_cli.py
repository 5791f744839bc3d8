"""The command line on a real system: a day in a user's life, in order, on one broker with all services."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import zstandard

from saffron import data
from saffron.runtime.state import read_state
from tests.e2e.command import Command

FOLDER = Path(data.__file__).parent
EVENTS = 20_000
_LOOKS = 40
pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def quotes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first stock quotes, as a file."""
    packed = (FOLDER / "stock_quotes.ndjson.zst").read_bytes()
    lines = zstandard.ZstdDecompressor().stream_reader(packed).read(EVENTS * 150).splitlines(keepends=True)
    path = tmp_path_factory.mktemp("quotes") / "quotes.ndjson"
    path.write_bytes(b"".join(lines[:EVENTS]))
    return path


@pytest.fixture(scope="module")
def saffron(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """A running system with two partitions, which soon misses who was killed; when it ends, nothing of it is left."""
    command = Command(tmp_path_factory.mktemp("system") / "data", SAFFRON_SESSION_MS="2000")
    command.run("up", "--partitions", "2", "--without", "model-builder")
    yield command
    command.run("down")
    assert command.survivors() == []


def test_status_names_broker_and_services(saffron: Command) -> None:
    shown = saffron.json("status")
    assert {one["name"] for one in shown["services"]} == {"windowing", "shedder", "matcher", "greta", "control"}
    assert all(one["state"] == "ready" and one["pid"] and one["restarts"] == 0 for one in shown["services"])
    assert shown["broker"]["bootstrap"].startswith("127.0.0.1:")
    assert shown["prefix"] == "saffron."


def test_a_second_up_finds_the_first(saffron: Command) -> None:
    done = saffron.run("up")
    assert "a system runs already" in done.stderr


def test_the_stream_gets_its_key_and_schema(saffron: Command) -> None:
    saffron.run("stream", "add", "events", "--key", "symbol", "--schema", str(FOLDER / "quotes.schema.json"))
    (row,) = saffron.json("stream", "list")
    assert (row["name"], row["key"], row["partitions"], row["disorder"]) == ("events", "symbol", 2, 0)
    saffron.run("stream", "add", "trades", "--key", "id", status=1)
    saffron.run("stream", "add", "trades", "--key", "id", "--partitions", "3", "--disorder", "2s", "--idle", "1m")
    row = saffron.json("stream", "list")[1]
    assert (row["topic"], row["partitions"], row["disorder"], row["idle"]) == ("saffron.trades", 3, 2000, 60_000)


def test_wrong_queries_never_reach_the_topic(saffron: Command) -> None:
    done = saffron.run(
        "query", "add", "-e", "QUERY x PATTERN SEQ(Quote a, Quote b) WHERE a.pric > 1 WITHIN 1 s", status=2
    )
    assert "unknown attribute 'pric'" in done.stderr
    assert "^^^" in done.stderr
    text = "QUERY x PATTERN SEQ(Quote a, Quote b) WITHIN 1 s"
    done = saffron.run("query", "add", "-e", text, status=1)
    assert "has 2 partitions and is keyed by symbol" in done.stderr
    assert saffron.json("query", "list") == []


def test_a_query_is_added_once(saffron: Command) -> None:
    saffron.run("query", "add", str(FOLDER / "rally.saf"))
    done = saffron.run("query", "add", str(FOLDER / "rally.saf"), status=1)
    assert "there is a query 'rally' already" in done.stderr
    (row,) = saffron.json("query", "list")
    assert (row["name"], row["state"], row["version"]) == ("rally", "active", 1)
    assert "active" in saffron.run("query", "show", "rally").stdout


def test_results_are_those_of_replay(saffron: Command, quotes: Path) -> None:
    report = saffron.json("produce", str(quotes), "--close")
    assert report["events"] == EVENTS
    replayed = saffron.run(
        "replay", "-q", str(FOLDER / "rally.saf"), str(quotes), "--partitions", "2", "--key", "symbol",
        "--schema", str(FOLDER / "quotes.schema.json"),
    ).stdout.splitlines()  # fmt: skip
    assert len(replayed) > 1000
    found = saffron.run(
        "tail", "complex-events", "--from", "earliest", "--count", str(len(replayed)), "--timeout", "60"
    ).stdout.splitlines()
    assert sorted(map(without_date, found)) == sorted(map(without_date, replayed))


def test_status_says_how_far_behind_each_service_is(saffron: Command) -> None:
    for _ in range(_LOOKS):  # a service tells once a second, and knows only when it has a partition
        lags = {one["name"]: one["lag"] for one in saffron.json("status")["services"]}
        assert lags.pop("control") is None
        if all(lag is not None for lag in lags.values()):
            break
    assert all(isinstance(lag, int) and 0 <= lag <= EVENTS for lag in lags.values()), lags


def test_pause_resume_replace_remove(saffron: Command) -> None:
    saffron.run("query", "pause", "rally")
    assert saffron.json("query", "show", "rally")["state"] == "paused"
    saffron.run("query", "resume", "rally")
    text = "PATTERN SEQ(Quote a, Quote b) WHERE [symbol] AND b.price > 2 * a.price WITHIN 1 hour"
    saffron.run("query", "replace", "rally", "-e", text)
    view = saffron.json("query", "show", "rally")
    assert (view["state"], view["version"], view["text"]) == ("active", 4, text)
    saffron.run("query", "remove", "rally")
    assert saffron.json("query", "list") == []
    assert "there is no query 'rally'" in saffron.run("query", "remove", "rally", status=1).stderr


def test_bad_events_become_dead_letters(saffron: Command) -> None:
    saffron.run("produce", "-", stdin='not json\n{"type":"Quote"}\n')
    found = saffron.run("tail", "dead-letters", "--from", "earliest", "--count", "2", "--timeout", "60").stdout
    letters = [orjson.loads(line) for line in found.splitlines()]
    assert sorted(letter["value"] for letter in letters) == ["not json", '{"type":"Quote"}']


def test_what_dies_is_started_again(saffron: Command) -> None:
    state = read_state(saffron.data)
    assert state is not None
    victims = {one.name: one.process for one in state.services if one.name in ("matcher", "windowing")}
    for process in victims.values():
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
    assert state.broker is not None
    os.kill(state.broker.pid, signal.SIGKILL)
    saffron.run("query", "add", str(FOLDER / "rally.saf"), "--timeout", "120")
    shown = {one["name"]: one for one in saffron.json("status")["services"]}
    assert all(shown[name]["restarts"] >= 1 and shown[name]["state"] == "ready" for name in victims)


def test_doctor_finds_nothing_wrong(saffron: Command) -> None:
    findings = saffron.json("doctor")
    assert {one["check"] for one in findings} >= {"java", "jars", "broker", "topics", "service", "query", "lag", "keys"}
    assert not [one for one in findings if one["state"] == "wrong"]


def test_after_a_killed_supervisor_up_begins_anew_on_the_same_data(saffron: Command) -> None:
    before = saffron.json("status")
    os.kill(before["supervisor"]["pid"], signal.SIGKILL)
    assert saffron.json("status", status=1)["phase"] == "stopped"
    done = saffron.run("up", "--without", "model-builder")
    assert "ended what an earlier supervisor had left running" in done.stderr
    after = saffron.json("status")
    assert after["broker"]["bootstrap"] == before["broker"]["bootstrap"]
    assert [one["name"] for one in saffron.json("query", "list")] == ["rally"]


def without_date(line: str) -> str:
    """A result without its last member, the time of detection."""
    body, _, date = line.rpartition(',"detected_at":')
    assert date.endswith("}")
    return body + "}"
