"""Latency from send to seen: a producer, a `read_committed` reader, all services and the broker on this machine.

An event's `ts` is the time of its sending. A result counts from the sending of its last event until the reader has it.
The producer sends each message within a millisecond (`linger.ms=1`), or batches as its client does by default (5 ms).
Cores are those of broker and services, without the producer and the reader. `--settings 5:20,10:20`: pairs of
SAFFRON_FLUSH_MS and SAFFRON_COMMIT_MS to try; `--chart FILE.svg` draws them. With `--flink 1` also Flink CEP on the
same broker, exactly once (a JDK and Maven are needed).
"""

from __future__ import annotations

import json
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.shared.chart import chart
from bench.shared.flink_job import RESULTS, SETTINGS, Setting, job
from bench.shared.keyed import QUERY, send_paced
from bench.shared.system import System, system
from bench.shared.table import arguments, median, report

from saffron.runtime.log import TopicPartition
from saffron.runtime.log.kafka.kafka_log import connect

WARM_SECONDS = 3
PRODUCERS: Mapping[str, Mapping[str, Any]] = {"linger.ms=1": {"linger.ms": 1}, "default": {}}


def delays(
    running: System,
    rate: int,
    seconds: int,
    settings: Mapping[str, Any],
    topic_of_results: str = "complex-events",
    cpu: Callable[[], Mapping[str, float]] | None = None,
) -> tuple[list[float], Mapping[str, float]]:
    """The delay (ms) of each result, without the first seconds; and the cores that each process used.

    `cpu`: processor seconds by process so far; the system's own by default.
    """
    cpu = cpu or running.cpu
    bootstrap, topic = running.settings.bootstrap, running.settings.topic("events")
    log = connect(running.settings)
    reader = log.consumer("bench", committed_only=True, client_id="bench")
    where = TopicPartition(running.settings.topic(topic_of_results), 0)
    reader.assign({where: reader.watermarks(where)[1]})
    given = bootstrap, topic, rate, WARM_SECONDS + seconds, settings
    feeding = multiprocessing.get_context("spawn").Process(target=send_paced, args=given)
    feeding.start()
    found: list[float] = []
    before, begun, last = cpu(), 0.0, time.monotonic()
    while feeding.is_alive() or time.monotonic() - last < 1.0:
        records = reader.poll(2000, 0.1)
        now, moment = time.time_ns() / 1e6, time.monotonic()
        if not records:
            continue
        last, begun = moment, begun or moment
        if moment - begun < WARM_SECONDS:
            before = cpu()
            continue
        found += [now - json.loads(record.value or b"{}")["events"]["c"]["ts"] for record in records]
    used, took = cpu(), last - begun - WARM_SECONDS
    reader.close()
    log.close()
    return found, {name: (used[name] - before[name]) / took for name in used}


def _flink(setting: Setting, rate: int, seconds: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of Flink's job in place of our services."""
    with system() as running:
        running.signal("windowing", signal.SIGSTOP)
        with job(running, setting) as flink:
            found = delays(
                running, rate, seconds, settings, RESULTS,
                lambda: {"broker": running.cpu()["broker"], "flink": flink.cpu()},
            )  # fmt: skip
    return _figures([found], seconds)


def _figures(runs: Sequence[tuple[list[float], Mapping[str, float]]], seconds: int) -> dict[str, Any]:
    if not all(found for found, _ in runs):
        raise SystemExit(f"no result came after the first {WARM_SECONDS} s: raise --rate or --seconds")
    cores = {name: median([used[name] for _, used in runs]) for name in runs[0][1]}
    percentiles = {f"p{share} ms": median([float(np.percentile(one, share)) for one, _ in runs]) for share in (50, 99)}
    return {
        **percentiles,
        "broker, cores": cores.pop("broker"),
        "services, cores": sum(cores.values()),
        "results/s": round(median([len(found) for found, _ in runs]) / seconds),
    }


def main() -> None:
    chosen = arguments(__doc__ or "", rate=10_000, seconds=10, settings="20:10", chart="", flink=0)
    rows: list[dict[str, Any]] = []
    for pair in chosen.settings.split(","):
        flush_ms, commit_ms = map(int, pair.split(":"))
        with system(flush_ms=flush_ms, commit_ms=commit_ms) as running:
            running.command("query", "add", "-e", "QUERY abc " + QUERY)
            running.calm()
            for name, producer in PRODUCERS.items():
                runs = [delays(running, chosen.rate, chosen.seconds, producer) for _ in range(chosen.runs)]
                rows.append({"flush, commit ms": pair, "producer": name, **_figures(runs, chosen.seconds)})
                print(rows[-1], file=sys.stderr, flush=True)
    for setting in SETTINGS if chosen.flink else ():
        for name, producer in PRODUCERS.items():
            about = {"flush, commit ms": f"Flink, {setting.name}", "producer": name}
            rows.append(about | _flink(setting, chosen.rate, chosen.seconds, producer))
            print(rows[-1], file=sys.stderr, flush=True)
    title = f"send to seen, {chosen.rate:,} events/s, medians of {chosen.runs} runs of {chosen.seconds} s"
    report(title, rows, chosen.json)
    if chosen.chart:
        _draw(Path(chosen.chart), title, rows)


def _draw(path: Path, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Delays over the cores that they take, a point for each pair of settings."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        cores = row["broker, cores"] + row["services, cores"]
        for share in ("p50 ms", "p99 ms"):
            series.setdefault(f"{share}, {row['producer']}", []).append((cores, row[share]))
    chart(path, title, "cores, broker and services", "ms from send to seen", series, linear=True)


if __name__ == "__main__":
    main()
