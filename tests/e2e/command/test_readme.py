"""Every `saffron` command that the README shows, in its order; and what it shows of their results."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import orjson
import pytest

from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.messages import record_in
from tests.e2e.command.command import Command
from tests.unit.cli.page import blocks_of

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text("utf-8")
OWN_TOPICS = "## Start with your own topics"
MESSAGES = ROOT / "docs" / "topics" / "shop.md"

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_the_commands_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one data directory, as whoever reads from the beginning to the end has it."""
    saffron = Command(tmp_path / "data")
    monkeypatch.chdir(ROOT)
    _run_on_quotes(saffron)
    monkeypatch.chdir(tmp_path)
    _run_on_own_topics(saffron)


def _run_on_quotes(saffron: Command) -> None:
    printed: dict[str, str] = {}
    try:
        for words in commands_of(README.replace(section(OWN_TOPICS), "")):
            printed[words[0]] = saffron.run(*words).stdout
    finally:
        saffron.run("down")
    assert saffron.survivors() == []
    assert printed["replay"].startswith('{"id":"fe3ce99d824b1142d2a173ef5c912569","query":"rally"')
    by_file, by_kafka = (re.sub(r',"detected_at":\d+', "", printed[name]) for name in ("replay", "tail"))
    assert by_file.splitlines()[:3] == by_kafka.splitlines(), "replay and the Kafka path differ"


def _run_on_own_topics(saffron: Command) -> None:
    printed = ""
    try:
        for words in commands_of(section(OWN_TOPICS)):
            fewer = ["--without", "model-builder"] if words[0] == "up" else []
            printed = saffron.run(*words, *fewer).stdout if words[0] != "down" else printed
            if words[0] == "up":
                produce_messages(saffron.json("status")["broker"]["bootstrap"])
    finally:
        saffron.run("down")
    assert saffron.survivors() == []
    assert orjson.loads(printed)["return"] == {"order_id": "O-2", "total": 1200}


def section(head: str) -> str:
    """A section of the README."""
    return head + README.partition(head)[2].partition("\n## ")[0]


def commands_of(text: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"^\.venv/bin/saffron (.+)$", text, re.MULTILINE)]


def produce_messages(brokers: str) -> None:
    """The messages of orders and payments, as the page of such topics shows them, on topics of these names."""
    log = kafka_log.connect(Settings(bootstrap=brokers))
    producer = log.producer(client_id="shop")
    for block in blocks_of(MESSAGES):
        if block.name in ("orders.ndjson", "payments.ndjson"):
            topic = block.name.partition(".")[0]
            log.create_topics([TopicSpec(topic, 1, {})])
            for number, line in enumerate(block.text.encode().splitlines()):
                one = record_in(line, TopicPartition(topic, 0), number)
                producer.send(topic, 0, one.value, key=one.key, timestamp=one.timestamp)
    producer.flush(30.0)
    producer.close()
    log.close()


def test_the_query_shown_is_the_one_that_is_shipped() -> None:
    shipped = (ROOT / "services/saffron/data/rally.saf").read_text("utf-8")
    query = "\n".join(line for line in shipped.splitlines() if not line.startswith("--"))
    assert query.strip() in README
