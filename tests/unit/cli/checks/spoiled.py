"""Faults of a system, one at a time: each makes a look at it another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from saffron.cli.checks.cluster.look import Look
from saffron.runtime.local.processes import ProcessId
from saffron.runtime.local.state import ServiceState, SystemState
from saffron.runtime.log.inspect import PartitionFacts
from tests.unit.cli.checks.sound import (
    digests,
)

Spoil = Callable[[Look], Look]


def topic(name: str, **config: str) -> Spoil:
    """A setting of one topic is another."""

    def spoil(look: Look) -> Look:
        facts = look.topics[f"saffron.{name}"]
        changed = replace(facts, config={**facts.config, **{one.replace("_", "."): config[one] for one in config}})
        return replace(look, topics={**look.topics, f"saffron.{name}": changed})

    return spoil


def partitions(name: str, *facts: PartitionFacts) -> Spoil:
    def spoil(look: Look) -> Look:
        changed = replace(look.topics[f"saffron.{name}"], partitions=facts)
        return replace(look, topics={**look.topics, f"saffron.{name}": changed})

    return spoil


def told(service: str, **fields: Any) -> Spoil:
    """A partition of a service said something else all the while."""

    def spoil(look: Look) -> Look:
        others = tuple(one for one in look.digests if (one.service, one.partition) != (service, 1))
        return replace(look, digests=others + tuple(digests(service, 1, **fields)))

    return spoil


def after_a_clock_ahead(spoil: Spoil) -> Spoil:
    """All partitions had been those of processes whose clocks were an hour ahead."""

    def spoiled(look: Look) -> Look:
        earlier = (replace(one, at=one.at + 3_600_000, stamped=one.stamped - 60_000) for one in look.digests)
        after = spoil(look)
        return replace(after, digests=(*earlier, *after.digests))

    return spoiled


def process(state: str) -> Spoil:
    one = ServiceState("greta", state, 1, "/logs/greta.log", None, 4, "fetching")
    return lambda look: replace(
        look, state=SystemState("running", "", ProcessId(1, "x"), "saffron.", "kafka:9092", False, 3, services=(one,))
    )
