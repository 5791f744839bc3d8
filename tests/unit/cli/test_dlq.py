"""`saffron dlq` on a log in memory; what the desk does is tested in tests/unit/runtime/dead_letters."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from saffron.cli import console, options
from saffron.cli.client import Client
from saffron.cli.streams import dlq
from saffron.errors import InputError, UnavailableError
from saffron.runtime.dead_letters import reading
from saffron.runtime.dead_letters.letters import Letter
from saffron.runtime.dead_letters.reading import DeadLetters, LetterFilter
from saffron.runtime.dead_letters.sending import ORIGIN
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryConsumer, MemoryLog
from tests.unit.runtime.written import write_letter, write_result_letter

TOPICS = Topics("t.")
BROKEN = b'{"type": "Stock", "ts": 9, "price": 1'
Run = Callable[..., Result]


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(MemoryBroker(lambda: 1_000))
    log.create_topics(topic_specs("t.", 2))
    for partition in (0, 1):
        write_letter(log, TOPICS, partition, BROKEN, "not-json", "not JSON: unexpected end of data")
    write_letter(log, TOPICS, 1, b"[]", "not-an-object", "an event is a JSON object, and this is []")
    return log


@pytest.fixture
def run(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command on that log; errors raised on purpose come through."""

    @contextmanager
    def connection(settings: Settings) -> Iterator[Client]:
        yield Client(settings, log)

    monkeypatch.setattr(options.System, "connected", lambda system: Settings(prefix="t."))
    monkeypatch.setattr(dlq, "connection", connection)

    def run(*arguments: str, stdin: str = "") -> Result:
        return CliRunner().invoke(dlq.app, arguments, input=stdin, catch_exceptions=False)

    return run


def sent(log: MemoryLog) -> list[bytes | None]:
    entries = [one for p in (0, 1) for one in log.broker.partition(TopicPartition(TOPICS.events, p)).entries]
    return [one.record.value for one in entries if one.record and ORIGIN in dict(one.record.headers)]


def test_list_shows_the_newest_and_counts_reasons(run: Run) -> None:
    shown = run("list", "--count", "2")
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["id", "t.events/1/1", "t.events/0/0"]
    assert "1 not-an-object, 2 not-json" in shown.stderr
    found = orjson.loads(run("list", "--reason", "not-json", "--stream", "events", "--json").stdout)
    assert [one["stream"] for one in found["letters"]] == ["events", "events"]
    with pytest.raises(InputError, match="there is no stream 'trades'"):
        run("list", "--stream", "trades")


def test_show_has_the_place_or_the_bytes(run: Run) -> None:
    shown = run("show", "events/0/0").stdout
    assert "key 'IBM', headers {'trace': '7'}" in shown
    assert shown.splitlines()[-2:] == [f"LINE 1: {BROKEN.decode()}", " " * (8 + len(BROKEN) - 1) + "^"]
    assert "00000000  7b 22 74" in run("show", "events/0/0", "--hex").stdout
    assert orjson.loads(run("show", "events/0/0", "--json").stdout)["value"] == BROKEN.decode()


def test_a_result_that_was_too_large_says_what_to_do_and_is_not_sent(run: Run, log: MemoryLog) -> None:
    write_result_letter(log, TOPICS, 1, "rises")
    (row,) = orjson.loads(run("list", "--reason", "result-too-large", "--stream", "events", "--json").stdout)["letters"]
    assert (row["id"], row["stream"]) == ("t.admitted/1/4.1", "events")
    shown = run("show", "admitted/1/4.1").stdout
    assert "a result: its bytes are not kept" in shown
    assert "shorten WITHIN" in shown
    bulk = run("send-again", "--reason", "result-too-large")
    assert bulk.exit_code == 1
    assert "not sent: t.admitted/1/4.1 is a result, and no message of a stream: it cannot be sent again" in bulk.stderr
    with pytest.raises(InputError, match="is a result"):
        run("send-again", "admitted/1/4.1", "--edit")


def test_all_of_a_reason_are_sent_that_can_be_and_only_once(run: Run, log: MemoryLog, tmp_path: Path) -> None:
    whole = tmp_path / "whole.json"
    whole.write_bytes(BROKEN + b"}\n")
    tried = run("send-again", "events/0/0", "--file", str(whole), "--set", "symbol=KO", "--dry-run")
    assert "would be sent: t.events/0/0 to t.events/0, key 'IBM'" in tried.stderr
    assert sent(log) == []
    assert run("send-again", "events/0/0", "--file", "-", stdin=BROKEN.decode() + "}").exit_code == 0
    assert sent(log) == [BROKEN + b"}"]
    bulk = run("send-again", "--reason", "not-json", "--json")
    (outcome,) = orjson.loads(bulk.stdout)
    assert (bulk.exit_code, outcome["id"], outcome["sent"]) == (1, "t.events/1/0", False)
    assert "would be a dead letter again" in outcome["refused"]
    assert "sent again at" in run("send-again", "events/0/0", "--file", str(whole)).stderr
    assert "there is nothing to send" in run("send-again", "--reason", "late").stderr
    assert len(sent(log)) == 1


WRONG = b'{"type":"Stock","ts":9,"price":1,"symbol":"IBM","pirce":1}'
RIGHT = b'{"type":"Stock","ts":9,"price":1,"symbol":"IBM"}'


def test_a_letter_that_the_correction_does_not_fit_keeps_no_other_from_being_sent(run: Run, log: MemoryLog) -> None:
    names = [write_letter(log, TOPICS, 0, value, "schema", "-") for value in (WRONG, RIGHT, b"[]", WRONG)]
    for more, count in (("--dry-run", 0), ("--json", 2)):
        done = run("send-again", "--reason", "schema", "--unset", "pirce", "--json", more)
        outcomes = orjson.loads(done.stdout)
        assert (done.exit_code, [one["id"] for one in outcomes]) == (1, names)
        assert [one["refused"] is None for one in outcomes] == [True, False, False, True]
        assert outcomes[1]["refused"].startswith(f"{names[1]}: attribute 'pirce' cannot be left out")
        assert outcomes[2]["refused"].startswith(f"{names[2]}: attributes can only be changed in a JSON object")
        assert sent(log) == [RIGHT] * count
    assert f"not sent: {names[1]}: attribute" in run("send-again", "--reason", "schema", "--unset", "pirce").stderr


def test_all_of_a_reason_are_sent_however_many_letters_came_later(
    run: Run, log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two records that each letter leaves, when it is sent, are later ones, too."""
    monkeypatch.setattr(reading, "LOOKED_AT", 10)
    monkeypatch.setattr(dlq, "LOOKED_AT", 10)
    names = [write_letter(log, TOPICS, 0, RIGHT, "schema", "-") for _ in range(25)]
    assert len(orjson.loads(run("list", "--reason", "schema", "--json").stdout)["letters"]) < 25
    found = orjson.loads(run("list", "--count", "40", "--json").stdout)
    assert (len(found["letters"]), found["whole"]) == (28, True)
    done = run("send-again", "--reason", "schema", "--json")
    assert (done.exit_code, [one["id"] for one in orjson.loads(done.stdout)]) == (0, names)
    assert "there is nothing to send" in run("send-again", "--reason", "schema").stderr
    assert sent(log) == [RIGHT] * 25


def test_letters_that_come_while_they_are_read_are_not_waited_for(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One comes with each poll, as long as the reader polls."""
    names = [write_letter(log, TOPICS, 0, RIGHT, "schema", "-") for _ in range(5)]
    polled, polls = MemoryConsumer.poll, itertools.count()

    def poll(self: MemoryConsumer, most: int, timeout: float) -> list[Record]:
        assert next(polls) < 50
        write_letter(log, TOPICS, 0, RIGHT, "schema", "-")
        return polled(self, 1, timeout)

    monkeypatch.setattr(MemoryConsumer, "poll", poll)
    desk = DeadLetters(log, TOPICS, "g")
    assert [one.id for one in desk.all_of(LetterFilter("schema"))] == names
    assert desk.find(names[0]).id == names[0]


def test_what_was_sent_before_the_broker_fails_is_told(
    run: Run, log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (write_letter(log, TOPICS, 0, RIGHT, "schema", "-") for _ in range(2))
    original = DeadLetters.original

    def fails_at_second(desk: DeadLetters, letter: Letter) -> Record | None:
        if letter.id == second:
            raise UnavailableError("no broker answers")
        return original(desk, letter)

    monkeypatch.setattr(DeadLetters, "original", fails_at_second)
    told: list[str] = []
    monkeypatch.setattr(console, "say", told.append)
    with pytest.raises(UnavailableError):
        run("send-again", "--reason", "schema")
    assert [line.partition(" to ")[0] for line in told] == [f"sent: {first}"]


def test_the_editor_mends_a_message(run: Run, log: MemoryLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor.py"
    script.write_text("import sys, pathlib; p = pathlib.Path(sys.argv[1]); p.write_text(p.read_text() + '}\\n')")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    assert run("send-again", "events/0/0", "--edit").exit_code == 0
    assert sent(log) == [BROKEN + b"}"]
    for editor, said in (
        ("true", "nothing was changed"),
        ("false", "status 1"),
        ("no-such-editor", "cannot be started"),
    ):
        monkeypatch.setenv("EDITOR", editor)
        with pytest.raises(InputError, match=said):
            run("send-again", "events/1/0", "--edit")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["events/0/0", "--reason", "late"],
        ["--reason", "late", "--edit"],
        ["events/0/0", "--edit", "--file", "x"],
        ["events/0/0", "--set", "price"],
    ],
)
def test_wrong_usage(run: Run, log: MemoryLog, arguments: list[str]) -> None:
    assert run("send-again", *arguments).exit_code == 2
    assert sent(log) == []
