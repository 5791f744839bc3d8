"""The command line on a real system: a day in a user's life, in order, on one broker with all services."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import zstandard

from saffron import data
from saffron.runtime.local.state import read_state
from tests.contracts.log.talk import until
from tests.e2e.command.command import ROOT, Command, interrupt

FOLDER = Path(data.__file__).parent
CONTROL = ROOT / "docs" / "control.md"
OPERATING = ROOT / "docs" / "operating.md"
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
    saffron.run("stream", "set", "trades", "--silence", "30s")
    row = saffron.json("stream", "list")[1]
    assert (row["topic"], row["partitions"], row["disorder"], row["idle"]) == ("saffron.trades", 3, 2000, 60_000)
    assert row["silence"] == 30_000


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


def test_a_replacement_under_load_loses_and_doubles_nothing(saffron: Command, tmp_path: Path) -> None:
    """Every event makes a pair with the next one of its id: each pair is one version's, but those around the change."""
    events = tmp_path / "ticks.ndjson"
    rows = ({"type": "Tick", "ts": 1000 + 10 * n, "id": "abcdef"[n % 6], "n": n // 6} for n in range(100_000))
    events.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    text = "QUERY ticks FROM trades PATTERN SEQ(Tick a, Tick b) WHERE partition-contiguity { [id] } WITHIN 1 hour"
    saffron.run("query", "add", "-e", text)
    load = saffron.start("produce", str(events), "--stream", "trades", "--rate", "1000")
    saffron.run("tail", "complex-events", "--count", "100", "--timeout", "60")
    saffron.run("query", "replace", "ticks", "-e", text.replace("1 hour", "2 hours"))
    saffron.run("tail", "complex-events", "--count", "2000", "--timeout", "60")
    interrupt(load)
    lines = saffron.run("tail", "complex-events", "--from", "earliest", "--end").stdout.splitlines()
    pairs = [one for one in map(orjson.loads, lines) if one["query"] == "ticks"]
    new, _ = saffron.json("query", "show", "ticks", "--versions")
    taken_over = {one["partition"]: one["position"] for one in new["positions"]}
    assert taken_over.keys() == {0, 1, 2}
    for key in "abcdef":
        own = [(one["partition"], one["events"]) for one in pairs if one["key"]["id"] == key]
        firsts = [events["a"]["n"] for _, events in own]
        (gap,) = sorted(set(range(firsts[-1] + 1)) - set(firsts))
        assert firsts == [n for n in range(firsts[-1] + 1) if n != gap], "in order, each once"
        for partition, events in own:
            old, new_one = events["b"]["seq"] < taken_over[partition], events["a"]["seq"] >= taken_over[partition]
            assert (old, new_one) == (events["a"]["n"] < gap, events["a"]["n"] > gap)
    saffron.run("query", "remove", "ticks")


def test_the_page_on_control_runs_as_printed(saffron: Command, tmp_path: Path) -> None:
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", CONTROL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    address = saffron.json("status")["control"].rstrip("/")
    printed, letter = "", "events/1/42"
    for kind, block in blocks:
        if kind == "text":
            assert block in printed
            continue
        script = block.replace("http://127.0.0.1:8321", address).replace("events/1/42", letter)
        script = script.replace("> events.ndjson", f"> {tmp_path}/events.ndjson").replace(
            " events.ndjson", f" {tmp_path}/events.ndjson"
        )
        if "dlq show" in script and letter == "events/1/42":
            produce, rest = script.split("\n", 1)
            sh(saffron, produce)
            letter = newest_letter(saffron)
            script = rest.replace("events/1/42", letter)
        printed = sh(saffron, script)
    (one,) = [row for row in saffron.json("dlq", "list")["letters"] if row["id"] == letter]
    assert [attempt["done"] for attempt in one["sent"]] == [True]


def newest_letter(saffron: Command) -> str:
    """Waits for the one of this page, which is the only one of its reason with a price that is a text."""
    for _ in range(_LOOKS):
        rows = [one for one in saffron.json("dlq", "list")["letters"] if '"12.5"' in one["preview"]]
        if rows:
            return str(rows[0]["id"])
    raise AssertionError("no dead letter came")


def sh(saffron: Command, script: str) -> str:
    """Run lines of the page in a shell, with this Python's saffron and a curl of our own; what they print."""
    python = shlex.quote(sys.executable)
    known = f'curl() {{ {python} {ROOT / "tests/e2e/command/curl.py"} "$@"; }}\nset -eu\n'
    done = subprocess.run(
        ["sh", "-c", known + script.replace(".venv/bin/saffron", f"{python} -m saffron")],
        capture_output=True, text=True, env=saffron.environment(), cwd=ROOT, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_three_topics_of_a_company_are_one_stream(saffron: Command, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "topics" / "shop.md").read_text("utf-8")
    blocks = re.findall(r"^```[a-z]+ (\S+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    for name, text in blocks:
        own = re.sub(r"(topic: |stream: |FROM )(\w+)", r"\1web_\2", text).replace("idle: 10s", "idle: 500ms")
        (tmp_path / f"web_{name}").write_text(own, "utf-8")
    topics = [path.stem for path in sorted(tmp_path.glob("*.ndjson"))]
    for topic in topics:
        saffron.run("produce", str(tmp_path / f"{topic}.ndjson"), "--topic", topic)
    saffron.run("stream", "infer", *topics, "--name", "proposed", "--out", str(tmp_path / "proposed.yaml"))
    saffron.run("stream", "check", str(tmp_path / "proposed.yaml"))
    shop = tmp_path / "web_shop.yaml"
    assert saffron.json("stream", "apply", str(shop))["changed"]
    assert not saffron.json("stream", "apply", str(shop))["changed"]
    text = (tmp_path / "web_unpaid.saf").read_text("utf-8")
    assert "FROM web_shop" in text
    before = saffron.run("tail", "complex-events", "--from", "earliest", "--end").stdout.count("\n")
    saffron.run("query", "add", "--from", "earliest", str(tmp_path / "web_unpaid.saf"))
    later = {"order_id": "O-9", "created_at": "2026-06-01T00:00:00Z", "total": 1}
    (tmp_path / "later.ndjson").write_bytes(orjson.dumps(later) + b"\n{broken")
    saffron.run("produce", str(tmp_path / "later.ndjson"), "--topic", "web_orders")
    files = [f"{topic}={tmp_path / topic}.ndjson" for topic in topics]
    replayed = saffron.run("replay", "-q", str(tmp_path / "web_unpaid.saf"), "--stream", str(shop), *files).stdout
    (expected,) = [orjson.loads(line)["id"] for line in replayed.splitlines()]
    count = str(before + 1)
    found = saffron.run("tail", "complex-events", "--from", "earliest", "--count", count, "--timeout", "90").stdout
    rows = [orjson.loads(line) for line in found.splitlines()]
    assert [row["id"] for row in rows if row["query"] == "unpaid"] == [expected]
    letters = saffron.json("dlq", "list", "--stream", "web_shop")["letters"]
    assert [(one["topic"], one["reason"], one["stream"]) for one in letters] == [("web_orders", "not-json", "web_shop")]
    saffron.run("stream", "set", "web_shop", "--idle", "1s", "--silence", "30s")
    shown = saffron.run("stream", "show", "web_shop", "--definition").stdout
    assert "idle: 1s" in shown
    assert "silence: 30s" in shown
    assert saffron.json("stream", "remove", "web_shop")["ended"] == ["unpaid"]
    saffron.run("query", "remove", "unpaid")


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
    saffron.wait_ready()
    shown = {one["name"]: one for one in saffron.json("status")["services"]}
    assert all(shown[name]["restarts"] >= 1 for name in victims)


def test_doctor_finds_nothing_wrong(saffron: Command) -> None:
    findings = saffron.json("doctor")
    names = {"python", "java", "jars", "broker", "topics", "services", "heartbeat", "queries", "lag", "keys", "clocks"}
    assert {one["check"] for one in findings} >= names
    assert not [one for one in findings if one["state"] == "error"]


def test_the_page_on_operating_runs_as_printed(saffron: Command, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", OPERATING.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks[-1] == ".venv/bin/saffron down\n"  # as the fixture does at the end
    printed = "".join(
        sh(saffron, block.replace("saffron.bash", f"{tmp_path}/c").replace("./", "")) for block in blocks[:-1]
    )
    assert "rally" in printed
    assert "0 errors" in printed
    assert sh(saffron, ".venv/bin/saffron completion queries\n") == "rally\n"


def test_top_shows_a_query_and_the_services(saffron: Command) -> None:
    shown = saffron.json("top", "--once", "--interval", "1")
    (rally,) = shown["queries"]
    assert (rally["name"], rally["state"], rally["stream"]) == ("rally", "active", "events")
    assert {one["name"] for one in shown["services"]} == {"windowing", "shedder", "matcher", "greta", "control"}

    def has_read_all() -> bool:
        services = saffron.json("top", "--once", "--interval", "1")["services"]
        return all(one["lag"] == 0 and one["age_ms"] < 10_000 for one in services if one["name"] != "control")

    until(has_read_all)


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
