"""Every `saffron` command that the README shows, in its order; and what it shows of their results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.command.command import Command

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^\.venv/bin/saffron (.+)$", README, re.MULTILINE)

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_the_commands_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    saffron = Command(tmp_path / "data")
    printed: dict[str, str] = {}
    try:
        for command in COMMANDS:
            words = command.split()
            printed[words[0]] = saffron.run(*words).stdout
    finally:
        saffron.run("down")
    assert saffron.survivors() == []
    assert printed["replay"].startswith('{"id":"fe3ce99d824b1142d2a173ef5c912569","query":"rally"')
    by_file, by_kafka = (re.sub(r',"detected_at":\d+', "", printed[name]) for name in ("replay", "tail"))
    assert by_file.splitlines()[:3] == by_kafka.splitlines(), "replay and the Kafka path differ"


def test_the_query_shown_is_the_one_that_is_shipped() -> None:
    shipped = (ROOT / "services/saffron/data/rally.saf").read_text("utf-8")
    query = "\n".join(line for line in shipped.splitlines() if not line.startswith("--"))
    assert query.strip() in README
