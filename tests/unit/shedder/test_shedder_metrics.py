"""What a shedder says of what its chains have lost: each, and all together."""

from __future__ import annotations

from typing import cast

import orjson
import pytest
import yaml
from jsonschema import Draft202012Validator

from saffron.engine.shed.operator import ShedderOperator
from saffron.runtime.hops.inner_hop import InnerHop
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.topics import schema_folder
from saffron.runtime.telemetry.metric_names import ESTIMATED_FALSE, ESTIMATED_LOSS, ESTIMATED_MATCHES
from saffron.runtime.telemetry.metrics import Metrics
from saffron.shedder.hop import ShedderHop
from saffron.shedder.shedder_metrics import ShedderMetrics
from tests.unit.engine.shed.blocks import block, query


class NoShell:
    """It has no partitions of its own to tell of."""

    rebalances = 0
    chains = ()
    waited_ms = 0.0


def hop(partition: int, found: int, lost: float) -> ShedderHop:
    """A chain whose matcher has found so many matches, and dropped partial matches worth `lost` others."""
    operator = ShedderOperator(partition, "events")
    operator.apply(block(0, 100, 0, query(0, "add", "q")), now_ms=0)
    told = {"found": {"q": found}, "loss": {"q": lost}, "partial_matches": {}}
    operator.observe({"service": "matcher", "position": 100, **told})
    return ShedderHop(operator, "windows", credit_events=10, patience_ms=100)


def test_of_two_partitions_the_share_is_that_of_their_matches_together() -> None:
    metrics = Metrics()
    hops = {TopicPartition("w", p): hop(p, *one) for p, one in enumerate(((900, 100.0), (9, 91.0)))}
    digests = ShedderMetrics(metrics, cast("InnerHop", NoShell()), "g", str).report(hops, 1000, 1000)
    due, lost = (metrics.value(ESTIMATED_MATCHES, "q", part) for part in ("due", "lost"))
    assert due == pytest.approx(1100, rel=0.02), "a match more counts as found in each"
    assert lost == pytest.approx(191, rel=0.1)
    assert metrics.value(ESTIMATED_LOSS, "q") == pytest.approx(lost / due)
    assert metrics.value(ESTIMATED_FALSE, "q") == 0.0
    told = [digest.shed["estimated"]["q"] for digest in digests if digest.shed is not None]
    assert [one["lost"] / one["due"] for one in told] == pytest.approx([0.1, 0.91])
    assert sum(one["due"] for one in told) == pytest.approx(due)
    contract = yaml.safe_load((schema_folder() / "health.yaml").read_text("utf-8"))["schema"]
    for digest in digests:
        Draft202012Validator(contract).validate(orjson.loads(digest.body()))
