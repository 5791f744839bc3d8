"""`saffron run matcher`: match queries over `admitted`, results to `complex-events`."""

from __future__ import annotations

from time import perf_counter_ns

from saffron.engine.match.operator import MatchOperator
from saffron.matcher.observer import MatcherObserver
from saffron.runtime.config import Settings
from saffron.runtime.generations import compiler_of
from saffron.runtime.metric_names import COMPLEX_EVENTS
from saffron.runtime.result_service import Kind, ResultService
from saffron.runtime.service import run

MATCHER = Kind(
    service="matcher",
    output="complex-events",
    operator="saffron.engine.match.operator:MatchOperator",
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
