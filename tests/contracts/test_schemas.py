"""Every topic has a file, an example of each sort, and a counterpart in the code; and the reverse."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from jsonschema import Draft202012Validator

import saffron
from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import encode_block
from saffron.engine.events.columns import Column, Columns
from saffron.runtime.log.topics import Topics, schema_folder, topic_files
from saffron.runtime.result_formats.shapes import SHAPES
from saffron.schema.schema import Kind

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"
EXAMPLES = SCHEMAS / "examples"
PACKAGE = Path(saffron.__file__).parent
OUTSIDERS = frozenset({"cli", "user"})
WITH_HEADERS = {"windows", "admitted", "complex-events", "trends", "dead-letters", "events"}
FIELDS = frozenset(
    {"topic", "description", "producers", "consumers", "key", "format", "partitions", "per_stream", "config", "schema"}
)
CONFIGS = frozenset(
    {
        "cleanup.policy",
        "compression.type",
        "delete.retention.ms",
        "max.message.bytes",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "retention.ms",
        "segment.ms",
    }
)


@cache
def raw_files() -> dict[str, dict[str, Any]]:
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted(SCHEMAS.glob("*.yaml"))}


def validator(topic: str) -> Draft202012Validator:
    return Draft202012Validator(raw_files()[topic]["schema"])


def examples(sort: str) -> list[Any]:
    paths = sorted(EXAMPLES.glob(f"*/{sort}/*.json"))
    return [pytest.param(path, id=f"{path.parts[-3]}/{path.stem}") for path in paths]


TOPICS = sorted(raw_files())


def test_code_and_files_name_the_same_topics() -> None:
    topics = vars(Topics("p."))
    named = {value.removeprefix("p.") for name, value in topics.items() if name != "prefix"}
    assert named == set(raw_files()) == set(topic_files())
    for attribute, value in topics.items():
        if attribute != "prefix":
            assert attribute.replace("_", "-") == value.removeprefix("p.").replace(".", "-")


def test_the_files_read_are_those_of_the_repository() -> None:
    assert schema_folder() == SCHEMAS


def test_every_topic_is_used_by_code_outside_of_its_definition() -> None:
    sources = [path for path in PACKAGE.rglob("*.py") if path.name != "topics.py"]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    attributes = {name for name in vars(Topics("")) if name != "prefix"}
    ways = {"windows": r"windows_of\(", "admitted": r"admitted_of\("}
    assert not {name for name in attributes if not re.search(ways.get(name, rf"\.{name}\b"), text)}


@pytest.mark.parametrize("topic", TOPICS)
def test_file_is_complete(topic: str) -> None:
    raw = raw_files()[topic]
    compacted = raw["config"]["cleanup.policy"] == "compact"
    optional = {"tombstone": compacted, "headers": topic in WITH_HEADERS}
    assert set(raw) == FIELDS | {name for name, present in optional.items() if present}
    assert raw["topic"] == topic
    assert len(raw["description"].split()) > 10
    assert raw["format"] in ("json", "arrow")
    assert raw["partitions"] == "stream" or raw["partitions"] == 1
    assert set(raw["config"]) <= CONFIGS
    assert raw["config"]["message.timestamp.type"] == ("CreateTime" if topic == "events" else "LogAppendTime")
    assert ("retention.ms" in raw["config"]) != compacted
    assert (raw["format"] == "arrow") == raw["per_stream"]


@pytest.mark.parametrize("topic", TOPICS)
def test_key_is_documented(topic: str) -> None:
    key = raw_files()[topic]["key"]
    assert set(key) == {"description", "pattern"}
    assert key["description"]
    if key["pattern"] is not None:
        re.compile(key["pattern"])
    if raw_files()[topic]["config"]["cleanup.policy"] == "compact":
        assert key["pattern"] is not None, "a compacted topic needs a key"


@pytest.mark.parametrize("topic", TOPICS)
def test_producers_and_consumers_are_real(topic: str) -> None:
    raw = raw_files()[topic]
    assert raw["producers"]
    assert raw["consumers"]
    for service in {*raw["producers"], *raw["consumers"]} - OUTSIDERS:
        assert (PACKAGE / service / "main.py").is_file(), f"{topic}: there is no service {service}"


@pytest.mark.parametrize("topic", TOPICS)
def test_schema_is_one(topic: str) -> None:
    Draft202012Validator.check_schema(raw_files()[topic]["schema"])


@pytest.mark.parametrize("path", examples("valid"))
def test_valid_example_is_valid(path: Path) -> None:
    validator(path.parts[-3]).validate(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", examples("invalid"))
def test_invalid_example_is_refused(path: Path) -> None:
    assert not validator(path.parts[-3]).is_valid(json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("topic", ["windows", "admitted"])
def test_blocks_are_written_as_the_schema_says(topic: str) -> None:
    for path in sorted((EXAMPLES / topic / "valid").glob("*.json")):
        header = json.loads(path.read_text("utf-8"))
        if header["kind"] == "block":
            assert written_header(header) == header


def written_header(header: dict[str, Any]) -> dict[str, Any]:
    """The header that the codec writes for a block without events that has these parts."""
    nothing = np.zeros(0, np.int64)
    columns = Columns(nothing, nothing, nothing, Column(Kind.STRING, np.zeros(0, np.int32)), {})
    parts = {name: value for name, value in header.items() if name not in ("kind", "controls")}
    block = Block(columns, **parts, controls=tuple(Control(**one) for one in header["controls"]))
    with pa.ipc.open_stream(encode_block(block)) as reader:
        found: dict[str, Any] = json.loads(reader.schema.metadata[b"saffron"])
    return found


def test_every_topic_has_examples_of_both_sorts_and_no_example_lacks_a_topic() -> None:
    found = {sort: {path.parts[-3] for path in EXAMPLES.glob(f"*/{sort}/*.json")} for sort in ("valid", "invalid")}
    assert found == {"valid": set(raw_files()), "invalid": set(raw_files())}
    strays = [path for path in EXAMPLES.rglob("*") if path.is_file() and path.parent.name not in ("valid", "invalid")]
    assert strays == []
    results = [f"{topic}{suffix}" for topic in SHAPES for suffix in (".avsc", ".proto")]
    others = sorted(path.name for path in SCHEMAS.iterdir() if path.suffix != ".yaml")
    assert others == sorted(["README.md", "examples", "stream.schema.json", *results])
