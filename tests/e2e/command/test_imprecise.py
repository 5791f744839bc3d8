"""Imprecise time end to end: the example of the language's page, run as a reader would run it."""

from __future__ import annotations

import re
from pathlib import Path

import orjson

from tests.e2e.command.command import ROOT, Command


def test_the_pages_example(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "language.md").read_text().split("\n## Imprecise time\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```\w*\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    events, query = tmp_path / "events.ndjson", tmp_path / "imbalance.saf"
    events.write_text(blocks[0])
    query.write_text(blocks[1])
    command = Command(tmp_path / "data")
    done = command.run("replay", str(events), "-q", str(query), "--disorder", "5ms")
    results = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert sorted((result["confidence"], len(result["events"]["b"])) for result in results) == [
        (0.34, 2),
        (0.4, 1),
        (1.0, 1),
    ]
    assert {result["query"] for result in results} == {"imbalance"}
    strict = blocks[1].replace("0.3", "0.99")
    counted = command.run("replay", str(events), "-e", strict, "--disorder", "5ms", "--count")
    assert orjson.loads(counted.stdout)["results"] == 1
