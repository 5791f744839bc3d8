"""The doctor on tables of streams: a topic that is missing, may not be read, or loses rows is named, with the fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from saffron.cli.checks.cluster.look import Look
from saffron.cli.checks.cluster.tables import check_tables
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log.inspect import TopicFacts
from tests.unit.cli.checks.sound import EVERYTHING, PARTITIONS, bad, sound, topics

TEXT = """
stream: shop
sources: [{topic: orders}]
tables: [{name: customers, topic: crm, key: id}, {name: blocked, file: blocked.csv, key: address}]
add: {tier: {table: customers, key: who, take: tier}, is_blocked: {table: blocked, key: ip}}
"""
WEEK = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}


def crm(config: Mapping[str, str], allowed: frozenset[str] | None = EVERYTHING) -> dict[str, TopicFacts]:
    partition = topics()["saffron.events"].partitions[:1]
    return {"crm": TopicFacts(partition * PARTITIONS, config, allowed)}


def shop(tables: Mapping[str, TopicFacts], text: str = TEXT, denied: tuple[str, ...] = ()) -> Look:
    """A sound system with a stream that looks events up in a topic and a file."""
    record = StreamRecord("shop", "saffron.shop", definition=AppliedDefinition(text, {"orders": 0}, 1))
    look = sound()
    return replace(look, streams={**look.streams, "shop": record}, foreign=tables, denied=frozenset(denied))


@pytest.mark.parametrize(
    "config",
    [
        {"cleanup.policy": "compact"},
        {**WEEK, "retention.ms": "-1"},
        {},  # without the right to see it
    ],
)
def test_a_topic_that_keeps_its_rows_gives_no_finding(config: Mapping[str, str]) -> None:
    (found,) = check_tables(shop(crm(config)))
    assert (found.state, found.what, found.where) == ("ok", "their topics keep their rows (1)", "stream shop")


@pytest.mark.parametrize(
    ("look", "state", "what", "fix"),
    [
        (shop({}), "error", "topic crm does not exist", "--config cleanup.policy=compact"),
        (shop({}, denied=("crm",)), "error", "ANONYMOUS may not see it", "--operation Describe --operation Read"),
        (shop(crm({}, frozenset({"DESCRIBE"}))), "error", "ANONYMOUS may not read it", "--operation Read --topic crm"),
        (shop(crm(WEEK)), "warning", "(cleanup.policy=delete, retention.ms=604800000)", "cleanup.policy=compact"),
        (
            shop(crm({**WEEK, "cleanup.policy": "compact,delete"})),
            "warning",
            "(cleanup.policy=compact,delete, retention.ms=604800000)",
            "kafka-configs --alter --entity-type topics --entity-name crm",
        ),
    ],
)
def test_each_fault_is_named(look: Look, state: str, what: str, fix: str) -> None:
    (found,) = bad(check_tables(look))
    assert (found.state, found.where) == (state, "stream shop, table crm")
    assert what in found.what
    assert fix in found.fix


def test_a_definition_that_cannot_be_read_is_another_check() -> None:
    assert list(check_tables(shop({}, "stream: shop\nsource: 7\n"))) == []
