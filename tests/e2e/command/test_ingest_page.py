"""Every `saffron` command of docs/ingest.md, in its order; and the answers over partitions are those without them.

Results are written in Protobuf meanwhile, by a registry's ids.
"""

from __future__ import annotations

import io
import re
import shlex
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from saffron.runtime.log.murmur2 import partition_of
from tests.e2e.command.command import Command
from tests.unit.windowing.fake_registry import running

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "ingest.md").read_text("utf-8")
COMMANDS = [shlex.split(line) for line in re.findall(r"^\.venv/bin/saffron (.+)$", PAGE, re.MULTILINE)]
DATA = ROOT / "services" / "saffron" / "data"
LIMIT = 20_000

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_the_commands_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    saffron = Command(tmp_path / "data")
    query, rally = str(DATA / "downtrends.saf"), str(DATA / "rally.saf")
    expected = answers(saffron.run("replay", "-q", query, str(first_quotes(tmp_path))).stdout)
    matches = bodies(saffron.run("replay", "-q", rally, str(tmp_path / "quotes.ndjson")).stdout)
    try:
        with running() as registry:
            framed = [f"--registry={registry.url}", "--results-format=protobuf"]
            fewer = ["--without=model-builder", "--without=control", *framed]
            for words in COMMANDS[:-1]:
                checks = words[:2] == ["query", "check"]
                said = saffron.run(*words, *(fewer if words[0] == "up" else []), status=int(checks)).stderr
                if checks:
                    assert "`saffron stream add events_by_sector --from events --key sector`" in said
                    assert saffron.run("query", "add", query, status=1).stderr == said
                    saffron.run("query", "add", rally)
        found = saffron.run("tail", "trends", "--from", "earliest", "--count", str(len(expected))).stdout
        rallies = saffron.run("tail", "complex-events", "--from", "earliest", "--count", str(len(matches))).stdout
    finally:
        saffron.run(*COMMANDS[-1])
    assert COMMANDS[-1] == ["down"]
    assert saffron.survivors() == []
    kinds = {subject: registry.schemas[number]["schemaType"] for subject, (number,) in registry.subjects.items()}
    assert kinds == {"saffron.complex-events-value": "PROTOBUF", "saffron.trends-value": "PROTOBUF"}
    assert answers(found) == expected
    assert bodies(rallies) == matches
    for line in found.splitlines():
        one = orjson.loads(line)
        assert one["partition"] == partition_of(one["group"]["sector"].encode(), 3)


def first_quotes(directory: Path) -> Path:
    """As many quotes as the page produces, as a file of their own."""
    path = directory / "quotes.ndjson"
    with zstandard.open(DATA / "stock_quotes.ndjson.zst", "rb") as packed:
        path.write_bytes(b"".join(islice(io.BufferedReader(packed), LIMIT)))
    assert ("--limit", str(LIMIT)) in [pair for words in COMMANDS for pair in pairwise(words)]
    return path


def bodies(lines: str) -> list[bytes]:
    """Matches without what depends on partitions."""
    rows = [orjson.loads(line) for line in lines.splitlines()]
    own = [{name: row[name] for name in ("key", "start", "end", "window", "return")} for row in rows]
    return sorted(orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in own)


def answers(lines: str) -> list[Any]:
    """Windows, groups and counts, without what depends on partitions."""
    rows = map(orjson.loads, lines.splitlines())
    return sorted((one["window"], one["group"]["sector"], one["return"]["COUNT(*)"]) for one in rows)
