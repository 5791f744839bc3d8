"""Every message that the services write, under faults and without, keeps to the schema of its topic."""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import orjson
import pyarrow as pa
import pytest
import yaml
from jsonschema import Draft202012Validator

from saffron.runtime.log import Record
from saffron.runtime.log.topics import schema_folder
from tests.e2e.simulated.system import FALLS, RALLY, WRONG, Source, at_rest, close, make_system
from tests.unit.runtime.world import World

PARTITIONS = 2
FILES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(schema_folder().glob("*.yaml"))}
WRITTEN = (
    "windows",
    "admitted",
    "complex-events",
    "trends",
    "dead-letters",
    "query-status",
    "load",
    "health",
    "observations.transitions",
    "observations.latency",
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Record]]:
    """Everything on every topic after two lives."""
    found: dict[str, list[Record]] = {name: [] for name in WRITTEN}
    for seed in (2, 3):
        world = make_system(seed, tmp_path_factory.mktemp("life"), partitions=PARTITIONS)
        source = Source(world, PARTITIONS, random.Random(seed))
        for name, text in (("rally", RALLY), ("falls", FALLS), ("wrong", WRONG)):
            source.query(name, text)
        live(world, source)
        for name in WRITTEN:
            for partition in range(len(world.broker.topics["t." + name])):
                found[name] += world.read("t." + name, partition, committed_only=True)
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_every_message_keeps_to_its_schema(name: str, written: dict[str, list[Record]]) -> None:
    file = FILES[name]
    validator = Draft202012Validator(file["schema"])
    pattern = file["key"]["pattern"]
    assert written[name], "something was written"
    for record in written[name]:
        body = header(record) if file["format"] == "arrow" else orjson.loads(record.value or b"")
        errors = [error.message for error in validator.iter_errors(body)]
        assert not errors, (body, errors)
        if pattern is None:
            assert record.key is None
        else:
            assert re.search(pattern, (record.key or b"").decode()), record.key


def live(world: World, source: Source) -> None:
    turns = itertools.count()
    world.run(400, lambda: source.events(4) if next(turns) % 12 == 0 else None)
    close(world, PARTITIONS)
    world.settle(lambda: at_rest(world, PARTITIONS))


def header(record: Record) -> Any:
    """What the metadata of an Arrow message say."""
    with pa.ipc.open_stream(record.value or b"") as reader:
        return orjson.loads(reader.schema.metadata[b"saffron"])
