"""Plans of result chains for tests: tiny operators, no queries of PUBLISH, and nobody who is told of failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.rows import RowFormats
from saffron.runtime.results.chain_plan import ChainPlan
from saffron.runtime.results.published import PublishedTopics
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import FakeObserver, FakeOperator


def plan_of(
    log: MemoryLog,
    where: TopicPartition,
    directory: Path,
    *,
    group: str = "matcher",
    partitions: int = 2,
    **changes: Any,
) -> ChainPlan:
    """The plan of the chain of a partition, with `changes` of its fields. `partitions`: of topics of PUBLISH."""
    plan = ChainPlan(
        where=where,
        output=TopicPartition("results", where.partition),
        letters=TopicPartition("letters", where.partition),
        transactional_id=f"{group}.{where.partition}",
        group=group,
        directory=directory,
        operator=lambda note: FakeOperator(),
        observer=FakeObserver,
        report_failure=lambda failure: None,
        published=PublishedTopics(log, TopicSpec("", partitions, {}), RowFormats(Settings())),
    )
    return replace(plan, **changes)
