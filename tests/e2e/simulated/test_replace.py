"""Replaced, paused, and resumed under faults: every event is one version's, and no match is lost or told twice.

What must be found is worked out from the events of the log and the positions of the changes alone, by trying all pairs.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from saffron.engine.events.block import Block
from tests.e2e.simulated.system import TOPICS, Source, at_rest, close, make_system
from tests.unit.runtime.world import World

PARTITIONS = 2
SEEDS = range(24)
RISES = "PATTERN SEQ(Stock a, Stock b) WHERE skip-till-any-match {{ [symbol] AND b.price > a.price }} WITHIN {} seconds"
FALLS = "PATTERN SEQ(Stock a, Stock b) WHERE skip-till-any-match {{ [symbol] AND b.price < a.price }} WITHIN {} seconds"
CHANGES = (
    (0, "add", RISES.format(4)),
    (60, "add", FALLS.format(6)),
    (110, "pause", FALLS.format(6)),
    (150, "resume", FALLS.format(6)),
    (190, "add", RISES.format(5)),
    (310, "add", RISES.format(2)),
)
"""Turn, change and text of each version."""


@dataclass(frozen=True)
class Span:
    """Positions first..last-1, at which one version was in force."""

    text: str
    first: int
    last: float


def test_a_replacement_loses_and_doubles_nothing(tmp_path: Path) -> None:
    versions: set[str] = set()
    changes = matches = 0
    for seed in SEEDS:
        world = lived(seed, tmp_path / str(seed))
        for partition in range(PARTITIONS):
            standing = world.blocks(TOPICS.admitted, partition)
            in_force, events = spans(standing), events_of(standing)
            found = told(world, partition)
            assert sorted(found) == sorted(pair for span in in_force for pair in pairs(span, events)), f"seed {seed}"
            versions |= {span.text for span in in_force}
            changes += len(in_force) - 1
            matches += len(found)
    assert len(versions) == 4, "every text was in force somewhere"
    assert changes > 20
    assert matches > 500


def lived(seed: int, directory: Path) -> World:
    world = make_system(seed, directory, partitions=PARTITIONS)
    source = Source(world, PARTITIONS, random.Random(seed + 1))
    changes = {turn * 2: (op, text) for turn, op, text in CHANGES}
    turns = itertools.count()

    def each() -> None:
        turn = next(turns)
        if turn in changes:
            op, text = changes[turn]
            source.query("q", text, op=op)
        if turn % 8 == 0:
            source.events(4)

    try:
        world.run(680, each)
        world.settle(lambda: True)
        source.events(40)  # of the last version
        close(world, PARTITIONS)
        world.settle(lambda: at_rest(world, PARTITIONS))
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}\n" + "\n".join(world.history[-40:])) from error
    return world


def spans(standing: list[Block]) -> list[Span]:
    """From the controls in the log: where a version ends its successor begins."""
    found: list[Span] = []
    text, first = "", None
    for control in (one for block in standing for one in block.controls if one.kind == "query"):
        op, position = control.body["op"], control.position
        if first is not None and op in ("remove", "pause"):
            found.append(Span(text, first, position))
            first = None
        if op == "add":
            text = control.body["text"]
        if op in ("add", "resume"):
            assert first is None, "two versions in force at once"
            first = position
    return found if first is None else [*found, Span(text, first, float("inf"))]


def events_of(standing: list[Block]) -> list[dict[str, Any]]:
    """Every admitted event, as a dict."""
    found = []
    for columns in (block.columns for block in standing if len(block.columns)):
        prices, symbols = columns.attributes["price"], columns.attributes["symbol"]
        for row in range(len(columns)):
            symbol = symbols.values[int(symbols.data[row])]
            found.append(
                {
                    "seq": int(columns.seq[row]),
                    "ts": int(columns.ts[row]),
                    "symbol": symbol,
                    "price": float(prices.data[row]),
                }
            )
    return found


def pairs(span: Span, events: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """What a version must find of the events of its span: all pairs are tried."""
    rises = "b.price > a.price" in span.text
    size = int(span.text.split()[-2]) * 1000
    seen = [event for event in events if span.first <= event["seq"] < span.last]
    return [
        (a["seq"], b["seq"])
        for a, b in itertools.combinations(seen, 2)
        if a["symbol"] == b["symbol"]
        and b["ts"] - a["ts"] <= size
        and (b["price"] > a["price"] if rises else b["price"] < a["price"])
    ]


def told(world: World, partition: int) -> list[tuple[int, int]]:
    """The matches that a reader sees."""
    records = world.read(TOPICS.complex_events, partition, committed_only=True)
    matches = [orjson.loads(record.value or b"")["events"] for record in records]
    return [(match["a"]["seq"], match["b"]["seq"]) for match in matches]
