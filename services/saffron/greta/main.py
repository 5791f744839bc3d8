"""`saffron run greta`: aggregate queries over `admitted`, results to `trends`."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

from saffron.engine.events.block import Block
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.runtime.process.config import Settings
from saffron.runtime.results.chain_plan import Message
from saffron.runtime.results.result_service import ResultService, ServiceKind
from saffron.runtime.service import run
from saffron.runtime.streams.generations import compiler_of
from saffron.runtime.telemetry.metric_names import TRENDS


class NoObserver:
    """Aggregate queries build no partial matches that a model could rate."""

    def applied(self, block: Block, operator: ResultOperator, nanoseconds: int) -> None:
        """Do nothing: there are no observations."""

    def messages(self, operator: ResultOperator) -> Sequence[Message]:
        return ()


GRETA = ServiceKind(
    service="greta",
    output="trends",
    operator="saffron.engine.trends.trend_operator:TrendOperator",
    make=lambda partition, stream, note: TrendOperator(
        partition=partition,
        stream=stream.name,
        compiler=compiler_of(stream),
        note=note,
        stopwatch=perf_counter_ns,
    ),
    trends=True,
    results=TRENDS,
    observe=lambda topics, stream, partition: NoObserver(),
)


def main(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    return run("greta", settings, lambda *parts: ResultService(GRETA, *parts))
