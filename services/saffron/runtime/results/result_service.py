"""The services `matcher` and `greta`: shell, load reports, compilation ahead of time, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from saffron.engine.kernels import jit
from saffron.engine.operators.containment import Failure, Note
from saffron.engine.operators.operator import ResultOperator
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.input_report import InputReport
from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.kernels.warm import Warmer, Warming
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.topics import Topics, topic_files
from saffron.runtime.process.background import Background, at_once, on_own_thread, one_at_a_time
from saffron.runtime.process.config import PASS, Settings, user_cache_directory
from saffron.runtime.result_formats.rows import RowFormats
from saffron.runtime.result_formats.writing import ResultOutput
from saffron.runtime.results.chain_plan import ChainPlan, Limits, Observer
from saffron.runtime.results.load_reports import LoadReports
from saffron.runtime.results.published import PublishedTopics, cycle, refusal, unlike
from saffron.runtime.results.readiness import QueryRegistration, Readiness
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.results.result_metrics import ResultMetrics
from saffron.runtime.streams.control_topics import reporter
from saffron.runtime.streams.statuses import Statuses
from saffron.runtime.streams.streams import Streams
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.digest import INTERVAL_MS, Every, send
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.runtime.telemetry.metric_names import QUERY_FAILED
from saffron.runtime.telemetry.metrics import Metrics

_CONTROL_MS = 20
_LOAD_MS = 100
_LEAST_LOAD_MS = 5
_FLUSH_SECONDS = 10.0
_ACK_SECONDS = 2.0
_THREADS = 8
"""Threads for commits and snapshot writes, which mostly wait."""

Observe = Callable[[Topics, str, int], Observer]
"""A function from (topics, stream, partition) to the observer of a chain."""


@dataclass(frozen=True)
class ServiceKind:
    """The differences between the two services.

    `output`: base name of the result topic's file in schemas/. `operator`: its class as "module:Class". `make`: builds
    an operator for a partition and stream. `trends`: the service runs aggregate queries.
    """

    service: str
    output: str
    operator: str
    make: Callable[[int, StreamRecord, Note], ResultOperator]
    trends: bool
    results: Counter
    observe: Observe


class ResultService:
    """The service on one group member: all its chains. A `Service` of `runtime.service`."""

    def __init__(
        self,
        kind: ServiceKind,
        log: Log,
        settings: Settings,
        metrics: Metrics,
        health: Health,
        *,
        warm: Callable[[Path], Warmer] | None = None,
        background: Background | None = None,
    ) -> None:
        kernels = user_cache_directory() / "kernels"
        jit.use_directory(kernels)
        jit.prepare()
        self._kind = kind
        self._log = log
        self._settings = settings
        self._health = health
        self._metrics = metrics
        self._topics = Topics(settings.prefix)
        report = reporter(metrics, *self._topics.control)
        self._streams = Streams(log, self._topics, self._topics.admitted_of, report)
        self._producer = log.producer(client_id=f"{kind.service}-side")
        self._advice = Advice(log, kind.service)
        self._inputs = InputReport(kind.service, metrics, health, self._advice, self._topics)
        self._readiness = Readiness(
            log,
            self._topics,
            kind.service,
            kind.operator,
            Warming(kernels, kind.operator, settings.aggregates) if warm is None else warm(kernels),
            Statuses(self._producer, self._topics),
            trends=kind.trends,
            has_schema=self._streams.has_schema,
            prepare=self._prepare,
            report=report,
        )
        self._output = self._topics.named(kind.output)
        self._outputs = log.partitions(self._output) or 1
        self._published = PublishedTopics(log, topic_files()[kind.output].spec("", self._outputs), RowFormats(settings))
        self._letters = log.partitions(self._topics.dead_letters) or 1
        self._poll_control, self._load, self._digest = Every(_CONTROL_MS), Every(_load_ms(settings)), Every(INTERVAL_MS)
        self._load_reports = LoadReports(kind.service, self._advice, self._topics.load)
        self._threads = ExitStack()
        self._background = background or self._threads.enter_context(ThreadPoolExecutor(_THREADS, "beside")).submit
        self._searches = one_at_a_time(self._threads, background)
        self._starts = on_own_thread if background is None else at_once
        self._result_output = ResultOutput(settings, kind.output, self._output, health, self._background)
        limits = Limits(
            commit_ms=settings.commit_ms,
            snapshot_ms=settings.snapshot_ms,
            retry_ms=settings.session_ms // 2,
            result_bytes=settings.result_bytes,
            turn_ms=settings.transaction_ms // 4,
        )
        self.shell: LastHop[ResultChain] = LastHop(
            log,
            settings.group(kind.service),
            topics=self._subscription,
            chain=lambda consumer, where, clock: ResultChain(log, consumer, self._plan(where), limits, clock),
        )
        self._result_metrics = ResultMetrics(kind.service, metrics, self.shell, settings, self._streams.name_of)
        health.waiting("streams", "reading streams and queries from the beginning")

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """One round: the control topics if they are due, then the chains, then load reports and metrics.

        The chains wait up to `wait` seconds for input, unless there was news of queries.
        """
        moved = False
        if not self._readiness.caught_up or self._poll_control.due(now_ms):
            self._result_output.step(now_ms)
            self._streams.step(now_ms)
            moved = self._readiness.step(
                {(self._streams.name_of(w.topic), w.partition): c for w, c in self.shell.chains.items()}
            )
        moved |= self.shell.step(now_ms, 0.0 if moved else wait)
        if self._load.due(now_ms):
            self._load_reports.report(self.shell, self._streams.name_of, now_ms)
        if interval := self._digest.due(now_ms):
            self._report_metrics(now_ms, interval)
        return moved

    def close(self, now_ms: int) -> None:
        self.shell.close(now_ms)
        self._threads.close()
        self._readiness.close()
        self._streams.close()
        self._producer.flush(_FLUSH_SECONDS)
        self._producer.close()
        self._advice.close()

    # ------------------------------------------------------------ wiring

    def _subscription(self) -> Sequence[str]:
        if not (self._streams.ready and self._readiness.caught_up):
            return []
        self._health.done("streams")
        if self._result_output.written is None:
            return []
        self._health.done("start")
        return self._streams.topics

    def _prepare(self, query: QueryRegistration, topic: str, beside: Mapping[str, str]) -> str:
        """Makes a query's topic of PUBLISH ready to be written; the reason why it cannot be, "" if it is ready.

        A record that was written straight to `queries` has passed no check. `beside`: texts of queries that write, too.
        """
        if why := unlike(query.plan, beside):
            return why
        streams = {record.name: record for record in self._streams.records}
        if way := cycle(query.stream, streams, {query.name: query.text}):
            return f"its results would be events of its own stream again: {way}"
        return refusal(topic, self._topics.prefix) or self._published.prepare(topic, query.plan.delivery.row)

    def _plan(self, where: TopicPartition) -> ChainPlan:
        """The plan of the chain of one input partition. The output format must be known.

        No chain is made earlier: `_subscription` names no topic until then.
        """
        kind, record = self._kind, self._streams.record_of(where.topic)
        stream = record.name
        source = f"/saffron/{kind.service}/{record.stem}/{where.partition}"
        written = self._result_output.written
        assert written is not None
        return ChainPlan(
            where=where,
            output=TopicPartition(self._output, where.partition % self._outputs),
            letters=TopicPartition(self._topics.dead_letters, where.partition % self._letters),
            transactional_id=f"{self._settings.prefix}{kind.service}.{stream}.{where.partition}",
            group=self._settings.group(kind.service),
            commit_executor=self._background,
            snapshot_executor=self._background,
            search_executor=self._searches,
            start_executor=self._starts,
            directory=self._settings.snapshots / kind.service / where.topic / str(where.partition),
            operator=lambda note: kind.make(where.partition, record, note),
            report_failure=lambda failure: self._report_failure(stream, where.partition, failure),
            published=self._published,
            source=source.encode(),
            headers=(
                ("ce_specversion", b"1.0"),
                ("ce_type", f"saffron.{kind.output}".encode()),
                *written.headers,
            ),
            encode=written.encode,
            observer=lambda: kind.observe(self._topics, stream, where.partition),
            report=self._metrics.add,
            labels=(stream, str(where.partition)),
            results=kind.results,
            has_queries=lambda: self._readiness.has_queries(stream),
        )

    def _report_failure(self, stream: str, partition: int, failure: Failure) -> None:
        """Writes a failure to `query-status`, and waits for the acknowledgement.

        The place from which on the query has no results is committed only afterwards.
        """
        self._readiness.fail(stream, partition, failure)
        self._producer.flush(_ACK_SECONDS)

    # ------------------------------------------------------------ numbers

    def _report_metrics(self, now_ms: int, interval: int) -> None:
        self._producer.check("sending to control topics")  # what is lost is written by a service that begins anew
        for digest in self._result_metrics.report(now_ms, interval):
            send(self._advice, self._topics, digest)
        chains = self.shell.chains.items()
        failed = {(name, self._streams.name_of(where.topic)) for where, chain in chains for name in chain.failed}
        self._metrics.replace(QUERY_FAILED, dict.fromkeys(failed | self._readiness.failed, 1.0))
        self._inputs.report(self.shell.inputs, self.shell.troubles, now_ms, interval)
        self._health.detail("partitions", sorted(f"{w.topic}/{w.partition}" for w in self.shell.chains))


def _load_ms(settings: Settings) -> int:
    """Interval of load reports in ms.

    With a latency bound it is shorter, so that the shedder knows the load in flight.
    """
    return (
        _LOAD_MS if settings.overload == PASS else max(_LEAST_LOAD_MS, min(_LOAD_MS, settings.latency_bound_ms // 40))
    )
