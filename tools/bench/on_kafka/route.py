"""The cost of the hop of a merged stream: the same messages read as a plain stream, and through a definition.

Throughput: all messages are there when the query is added. Latency: messages come at a steady rate.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.shared.stock import EVENTS, QUERY, RESULTS, ndjson
from bench.shared.system import System, system
from bench.shared.table import arguments, median, report

from saffron.runtime.log import TopicSpec
from saffron.runtime.log.kafka.kafka_log import connect

TOPIC = "quotes"
DEFINITION = """stream: merged
key: symbol
sources:
- topic: {}
  type: {{field: type}}
  ts: {{field: ts, format: epoch_ms}}
"""
KINDS = ("plain", "merged")


def ready(running: System, kind: str) -> None:
    """The topic, and the stream of this kind that reads it."""
    topic = running.settings.topic(TOPIC)
    log = connect(running.settings)
    log.create_topics([TopicSpec(topic, 1, {})])
    log.close()
    if kind == "plain":
        running.command("stream", "add", "plain", "--topic", topic, "--key", "symbol")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "merged.yaml"
        path.write_text(DEFINITION.format(topic), "utf-8")
        running.command("stream", "apply", str(path))


def send(running: System, lines: Sequence[bytes], rate: float | None) -> None:
    """Sends messages, `rate` of them a second."""
    log = connect(running.settings)
    producer, topic = log.producer(), running.settings.topic(TOPIC)
    began = time.monotonic()
    for number, line in enumerate(lines):
        if rate is not None and number % 100 == 0:
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
        producer.send(topic, 0, line)
    producer.flush(60)
    producer.close()
    log.close()


def throughput(kind: str, lines: Sequence[bytes]) -> dict[str, float]:
    """Events a second from the moment the query is active, and what `windowing` used, in us an event."""
    with system() as running:
        ready(running, kind)
        running.command("query", "add", "-e", f"QUERY rally FROM {kind} {QUERY}")
        before = running.cpu()
        send(running, lines, None)
        results = running.read("complex-events", RESULTS, 30.0)
        after = running.cpu()
        first = running.read(TOPIC, 1, 10.0)[0].timestamp
    if len(results) != RESULTS:
        raise SystemExit(f"{kind}: {len(results):,} results, but {RESULTS:,} are right")
    seconds = (results[-1].timestamp - first) / 1000
    return {"seconds": seconds, "us": (after["windowing"] - before["windowing"]) / EVENTS * 1e6}


def latencies(kind: str, lines: Sequence[bytes], rate: int, warm: int) -> Iterator[float]:
    """The latency (ms) of each result: its append time less that of the message of its last event."""
    with system() as running:
        ready(running, kind)
        running.command("query", "add", "-e", f"QUERY rally FROM {kind} {QUERY}")
        send(running, lines, rate)
        results = running.read("complex-events", 10**9, 3.0)
        sources = running.read(TOPIC, len(lines), 3.0)
    for record in results:
        last = json.loads(record.value or b"{}")["events"]["b"]
        offset = last.get("$offset", last["seq"])
        if offset >= warm:
            yield record.timestamp - sources[offset].timestamp


def main() -> None:
    chosen = arguments(__doc__ or "", rate=10_000, seconds=10)
    lines = ndjson().splitlines()
    fast: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for _ in range(chosen.runs):
        for kind in KINDS:
            fast[kind].append(throughput(kind, lines))
    rows: list[dict[str, Any]] = []
    warm = 2 * chosen.rate
    for kind in KINDS:
        found = np.array(list(latencies(kind, lines[: warm + chosen.rate * chosen.seconds], chosen.rate, warm)))
        p50, p99 = np.percentile(found, [50, 99])
        seconds = median([run["seconds"] for run in fast[kind]])
        rows.append(
            {
                "stream": kind,
                "events/s": round(EVENTS / seconds),
                "windowing, us an event": round(median([run["us"] for run in fast[kind]]), 2),
                "p50 ms": float(p50),
                "p99 ms": float(p99),
            }
        )
    report(
        f"a topic of {EVENTS:,} events, medians of {chosen.runs} runs; latency at {chosen.rate:,}/s", rows, chosen.json
    )


if __name__ == "__main__":
    main()
