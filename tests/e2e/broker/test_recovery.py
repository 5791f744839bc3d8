"""Exactly once on the real broker: 200,000 real events while it is killed, and while two own one partition."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pytest
import zstandard

from saffron import data
from saffron.runtime.local.broker import Broker
from saffron.runtime.local.broker_settings import FENCED
from tests.e2e.broker.processes import SERVICES, System, split
from tests.e2e.command.command import Command
from tests.e2e.simulated.system import undated_bodies

EVENTS = 200_000
PARTITIONS = 2
CHUNK = 10_000
FOLDER = Path(data.__file__).parent
SCHEMA = orjson.loads((FOLDER / "quotes.schema.json").read_bytes())
QUERIES = {
    "rally": (FOLDER / "rally.saf").read_text(),
    "falls": """PATTERN Quote+ Q WHERE [symbol] AND Q.price > NEXT(Q).price
GROUP BY symbol WITHIN 10 minutes SLIDE 5 minutes RETURN symbol, COUNT(*)""",
}
TOPIC_OF = {"rally": "complex-events", "falls": "trends"}
PATIENCE_S = 180
"""On a crowded machine a broker takes half a minute to load what was committed before it answers anybody."""

Results = dict[str, list[list[bytes]]]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """The first of the stock quotes that the project ships."""
    packed = (FOLDER / "stock_quotes.ndjson.zst").read_bytes()
    return zstandard.ZstdDecompressor().stream_reader(packed).read(EVENTS * 150).split(b"\n")[:EVENTS]


@pytest.fixture(scope="module")
def undisturbed(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What `saffron replay` says of the same events, which nothing ever disturbs: by result topic, by partition."""
    folder = tmp_path_factory.mktemp("replay")
    (folder / "quotes.ndjson").write_bytes(b"\n".join(lines))
    (folder / "quotes.schema.json").write_bytes(orjson.dumps(SCHEMA))
    options = ["--schema", str(folder / "quotes.schema.json"), "--partitions", str(PARTITIONS), "--key", "symbol"]
    for name, text in QUERIES.items():
        (folder / f"{name}.saf").write_text(text)
        options += ["-q", str(folder / f"{name}.saf")]
    printed = Command(folder).run("replay", *options, str(folder / "quotes.ndjson")).stdout.encode().splitlines()
    found: Results = {topic: [[] for _ in range(PARTITIONS)] for topic in TOPIC_OF.values()}
    for line in printed:
        result = orjson.loads(line)
        found[TOPIC_OF[result["query"]]][result["partition"]].append(line)
    assert all(part for parts in found.values() for part in parts), "every partition has results of both kinds"
    return {topic: [undated_bodies(part) for part in parts] for topic, parts in found.items()}


@pytest.fixture
def system(broker_node: Broker, prefix: str, tmp_path: Path) -> Iterator[System]:
    """All services running, both queries taken up on both partitions."""
    made = System(broker_node.bootstrap, prefix, tmp_path, partitions=PARTITIONS)
    try:
        made.stream(SCHEMA)
        for service in SERVICES:
            made.start(service)
        for name, text in QUERIES.items():
            made.query(name, text)
        made.active(len(QUERIES) * PARTITIONS)
        yield made
    finally:
        made.close()


def go_on(system: System, chunk: Sequence[bytes]) -> None:
    """Produce a chunk and see results of both kinds come of it: whoever was hurt has recovered."""
    system.results()
    before = {name: reader.count for name, reader in system.readers.items()}
    for part in split(chunk, PARTITIONS):
        system.produce(part)

    def both_came() -> bool:
        system.results()
        return all(reader.count > before[name] for name, reader in system.readers.items())

    system.wait(both_came, PATIENCE_S, "no results came")


def finish(system: System, undisturbed: Results) -> None:
    """End the stream; then exactly the results of an undisturbed `replay` stand there, in their order."""
    system.end()
    total = sum(len(part) for parts in undisturbed.values() for part in parts)
    system.wait(lambda: system.results() >= total, PATIENCE_S, f"not all of {total} results came")
    assert system.results(1.0) == total, "nothing more comes"
    for topic, parts in undisturbed.items():
        found = system.readers[system.topics.named(topic)].found
        for partition in range(PARTITIONS):
            assert undated_bodies(found[partition]) == parts[partition], f"{topic}/{partition}"


def assert_fenced_before_it_started(broker: Broker) -> None:
    """Or it would have led its partitions for seconds, and then dropped the ends of transactions."""
    assert FENCED in (broker.directory / "controller.log").read_text()
    assert "DUPLICATE_BROKER_REGISTRATION" not in broker.log_path.read_text()


@pytest.mark.kafka
@pytest.mark.slow
def test_nothing_is_lost_or_doubled_when_the_broker_is_killed(
    system: System, broker_node: Broker, lines: list[bytes], undisturbed: Results
) -> None:
    """Services that are killed, paused and restarted, one or all at once: test_faults.py."""
    go_on(system, lines[:CHUNK])
    broker_node.kill()
    broker_node.start()
    assert_fenced_before_it_started(broker_node)
    go_on(system, lines[CHUNK:])
    finish(system, undisturbed)


@pytest.mark.kafka
@pytest.mark.slow
def test_a_service_that_slept_beyond_its_session_does_no_harm_when_it_wakes(
    system: System, lines: list[bytes], undisturbed: Results
) -> None:
    for number, start in enumerate(range(0, EVENTS, CHUNK)):
        go_on(system, lines[start : start + CHUNK])
        name = SERVICES[number // 5]
        match number % 5:
            case 1:  # asleep with work in its hands; a replacement takes over
                system.send(name, signal.SIGSTOP)
                system.start(name, f"{name}-2")
            case 3:  # awake again, with an idea of the world that is over
                system.send(name, signal.SIGCONT)
    finish(system, undisturbed)
