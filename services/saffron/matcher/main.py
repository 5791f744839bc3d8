"""`saffron run matcher`: match queries over `admitted`, results to `complex-events`."""

from __future__ import annotations

from time import perf_counter_ns

from saffron.engine.match.match_operator import MatchOperator
from saffron.matcher.observer import MatcherObserver
from saffron.runtime.process.config import Settings
from saffron.runtime.results.result_service import ResultService, ServiceKind
from saffron.runtime.service import run
from saffron.runtime.streams.generations import compiler_of
from saffron.runtime.telemetry.metric_names import COMPLEX_EVENTS

MATCHER = ServiceKind(
    service="matcher",
    output="complex-events",
    operator="saffron.engine.match.match_operator:MatchOperator",
    make=lambda partition, stream, note: MatchOperator(
        partition=partition,
        stream=stream.name,
        compiler=compiler_of(stream),
        note=note,
        stopwatch=perf_counter_ns,
    ),
    trends=False,
    results=COMPLEX_EVENTS,
    observe=MatcherObserver,
)


def main(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    return run("matcher", settings, lambda *parts: ResultService(MATCHER, *parts))
