"""What `matcher` and `greta` tell of their chains once a second."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from saffron.runtime.log import TopicPartition
from saffron.runtime.process.config import Settings
from saffron.runtime.results.result_metrics import ResultMetrics
from saffron.runtime.results.tally import Tally
from saffron.runtime.telemetry.metrics import Metrics

WHERE = TopicPartition("admitted", 0)


def test_the_counts_of_a_query_begin_at_0_before_its_first_result() -> None:
    metrics = Metrics()
    operator = SimpleNamespace(failed=frozenset(), statistics=lambda: {"partial_matches": {"rare": 0}})
    chain = SimpleNamespace(
        operator=operator, tally=Tally(), catching_up=False, watermark=None, snapshot_age=lambda now_ms: 0
    )
    shell: Any = SimpleNamespace(chains={WHERE: chain}, rebalances=1, waited_ms=0.0, lag=lambda where: 0)
    ResultMetrics("matcher", metrics, cast("Any", shell), Settings(), lambda topic: "events").report(1000, 1000)
    text = metrics.text().decode()
    assert 'saffron_detection_latency_seconds_count{query="rare"} 0.0' in text
    assert 'saffron_overdue_results_total{query="rare"} 0.0' in text
