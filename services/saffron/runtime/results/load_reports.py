"""The load reports of one member of `matcher` or `greta` to the shedder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import orjson

from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.log import TopicPartition
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.telemetry.advice import Advice
from saffron.runtime.telemetry.growth import increases
from saffron.runtime.telemetry.load import ReportedCounters, WorkDone, load_of

_IDLE_MS = 1_000
_MOST_BYTES = 500_000
"""Bytes of one report; the topic takes about twice as many. Traced matches of many queries may be more."""


class LoadReports:
    """The reporter of `service`, which writes to `topic`."""

    def __init__(self, service: str, advice: Advice, topic: str) -> None:
        self._service = service
        self._advice = advice
        self._topic = topic
        self._reported: dict[TopicPartition, ReportedCounters] = {}

    def report(self, shell: LastHop[ResultChain], stream_of: Callable[[str], str], now_ms: int) -> None:
        """Sends reports: at once after work was done, once a second when idle. `stream_of`: the stream of a topic."""
        self._reported = {where: self._reported[where] for where in shell.chains if where in self._reported}
        for where, chain in shell.chains.items():
            if chain.operator is None or chain.replaying:
                continue
            clock, busy = perf_counter_ns(), shell.busy_ns
            reported = self._reported.setdefault(where, ReportedCounters(chain.next_seq, clock_ns=clock, busy_ns=busy))
            has_news = (
                chain.tally.events != reported.events and not chain.has_pending_results
            )  # a block is done when its results are sent
            if not has_news and now_ms - reported.at < _IDLE_MS:
                continue
            numbers = chain.operator.statistics()
            if has_news:
                done, reported = _work_done(chain, reported, numbers["nanoseconds"], clock, busy)
            elif chain.has_pending_results:
                done = WorkDone(reported.position)
            else:
                done, reported = WorkDone(chain.next_seq), replace(reported, clock_ns=clock, busy_ns=busy)
            self._reported[where] = replace(reported, at=now_ms)
            stream = stream_of(where.topic)
            body = {
                "service": self._service,
                "stream": stream,
                "partition": where.partition,
                "offset": chain.position,
                "at": now_ms,
                **load_of(numbers, done),
            }
            self._advice.send(self._topic, load_message(body), f"{self._service}/{stream}/{where.partition}")


def load_message(body: Mapping[str, Any]) -> bytes:
    """The message of a report. One that is too large has fewer traced matches of each query: the newest ones."""
    message = orjson.dumps(body)
    while len(message) > _MOST_BYTES and any(one["matches"] for one in body.get("traced", {}).values()):
        fewer = {
            query: {**one, "matches": one["matches"][(len(one["matches"]) + 1) // 2 :]}
            for query, one in body["traced"].items()
        }
        body = {**body, "traced": fewer}
        message = orjson.dumps(body)
    return message


def _work_done(
    chain: ResultChain, reported: ReportedCounters, matching: Mapping[str, int], clock_ns: int, busy_ns: int
) -> tuple[WorkDone, ReportedCounters]:
    """The work since the last report, and the counters to report from next time.

    `matching`: matching time in ns by query so far, without the writing of results.
    """
    tally, writing = chain.tally, chain.tally.drain_writing()
    processing, elapsed = (
        tally.processing_ns - reported.processing_ns + sum(writing.values()),
        clock_ns - reported.clock_ns,
    )
    done = WorkDone(
        chain.next_seq,
        tally.events - reported.events,
        processing,
        {query: spent + writing.get(query, 0) for query, spent in increases(matching, reported.nanoseconds).items()},
        elapsed,
        busy_ns - reported.busy_ns - processing,
        tally.slowest_commit_ms,
    )
    tally.slowest_commit_ms = 0.0
    return done, ReportedCounters(
        chain.next_seq, tally.events, tally.processing_ns, matching, clock_ns=clock_ns, busy_ns=busy_ns
    )
