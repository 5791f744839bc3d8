"""A page of the documents that a test follows: its named blocks are files, its commands run, their output is compared.

- ```` ```KIND NAME ```` begins a file. Those that end with `.ndjson` are also topics of a broker in memory.
- ```` ```sh ```` begins commands, one a line. ```` ```text ```` below is their output; `...` stands for any text.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from saffron.cli import main
from saffron.cli.options import System
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.messages import record_in
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

BLOCK = re.compile(r"^```(?P<kind>\w*)(?: (?P<name>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NOW = 1_777_800_000_000
"""The broker's clock; ms."""


@dataclass(frozen=True)
class Block:
    """One block of a page. `name`: of the file that it is; "" where it is none."""

    kind: str
    name: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text("utf-8")
    return [Block(found["kind"], found["name"] or "", found["text"]) for found in BLOCK.finditer(text)]


class Reader:
    """A person who follows a page in an empty directory, with a broker in memory that has the page's topics."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], directory: Path) -> None:
        self._monkeypatch, self._capsys, self._directory = monkeypatch, capsys, directory
        self._broker = MemoryBroker(lambda: NOW)
        settings = Settings(prefix="saffron.", bootstrap="memory")
        MemoryLog(self._broker).create_topics(topic_specs("saffron.", 1))
        monkeypatch.chdir(directory)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(directory))
        monkeypatch.setattr(kafka_log, "connect", lambda _: MemoryLog(self._broker))
        monkeypatch.setattr(System, "connected", lambda _: settings)

    def follow(self, page: Path) -> Iterator[tuple[str, str, str]]:
        """What each shell block prints: (its commands, what the page shows or "", what is printed)."""
        blocks = blocks_of(page)
        for number, block in enumerate(blocks):
            if block.name:
                self._write(block)
            elif block.kind == "sh":
                after = blocks[number + 1] if number + 1 < len(blocks) else Block("", "", "")
                shown = after.text if after.kind == "text" and not after.name else ""
                yield block.text, shown, self._run(block.text)

    # ------------------------------------------------------------ inside

    def _write(self, block: Block) -> None:
        path = self._directory / block.name
        path.write_text(block.text, "utf-8")
        if path.suffix == ".ndjson":
            self._produce(path)

    def _produce(self, path: Path) -> None:
        """The lines of a file as the messages of a topic."""
        log, where = MemoryLog(self._broker), TopicPartition(path.stem, 0)
        log.create_topics([TopicSpec(where.topic, 1, {})])
        producer = log.producer(client_id="page")
        for number, line in enumerate(path.read_bytes().splitlines()):
            one = record_in(line, where, number)
            time = NOW if one.timestamp < 0 else one.timestamp
            producer.send(where.topic, 0, one.value, key=one.key, headers=list(one.headers), timestamp=time)
        producer.flush(1.0)

    def _run(self, commands: str) -> str:
        """The output of commands, standard error behind standard output for each."""
        printed = ""
        for line in commands.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if not words:
                continue
            assert words[0] == "saffron", f"only `saffron` is run: {line}"
            self._monkeypatch.setattr(sys, "argv", words)
            self._capsys.readouterr()
            with pytest.raises(SystemExit):
                main.run()
            output = self._capsys.readouterr()
            printed += output.out + output.err
        return printed


def fits(shown: str, printed: str) -> bool:
    """Whether a page's output is that of a command. `...` is any text; white space is one space."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in shown.split("...")]
    return (
        re.fullmatch(r"\s*" + r".*?".join(rf"\s*{part}\s*" for part in parts) + r"\s*", printed, re.DOTALL) is not None
    )
