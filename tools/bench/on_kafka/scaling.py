"""Matchers come and go on a live stream: is anything lost or doubled, and how long do results stall? And a large start.

One matcher holds `--mib` of partial matches in four partitions. While pairs of events come at `--rate`, three more
matchers join one after the other, and later leave so. What came must be what `saffron replay` says of the same events.
The latency of a result is the time of its message minus that of its last event's. At the end the matcher is stopped and
timed as it starts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from bench.shared.system import System, command, system
from bench.shared.table import arguments, report
from prometheus_client.parser import text_string_to_metric_families

from saffron.runtime.local.ports import free_ports

PARTITIONS, MORE = 4, 3
QUERY = """QUERY pairs PATTERN SEQ(Open a, Close b)
WHERE skip-till-next-match { [account] AND a.id = b.id } WITHIN 10 hours"""
RUN_BYTES = 245
"""About what one partial match of this query takes."""
_ACCOUNTS = 20_000
_START = 1_700_000_000_000
_BEHIND_MS = 100
_ALONE, _MANY, _AGAIN = 6, 24, 12
"""Seconds of the live stream before the others are told to come, to go, and after that."""
_PATIENCE = 300.0
_RUNS, _STATE = "saffron_partial_matches", "saffron_state_bytes"
_NOT_NEEDED = ("matcher", "greta", "control", "model-builder")
_CALM = {"flush_ms": 50, "commit_ms": 100}
"""Larger blocks and transactions, so that two cores have room for seven processes and what starts."""


def opens(count: int) -> Iterator[bytes]:
    """Events that wait for their second half, but for the first, from which a replay learns how such look."""
    for number in range(count):
        yield _event("Open", _START + number // 1000, number)
        if number == 0:
            yield _event("Close", _START, number)


def pairs(first: int, count: int, rate: int) -> Iterator[bytes]:
    """`count` events, `rate` a second by their ts: each pair is closed a tenth of a second after it was opened."""
    begin, behind = _START + 100_000, rate * _BEHIND_MS // 2000
    for number in range(count // 2 + behind):
        at = begin + 2000 * number // rate
        if number < count // 2:
            yield _event("Open", at, first + number)
        if number >= behind:
            yield _event("Close", at, first + number - behind)


def _event(kind: str, ts: int, number: int) -> bytes:
    account = number * 7919 % _ACCOUNTS
    return b'{"type":"%s","ts":%d,"account":"%d","id":%d}\n' % (kind.encode(), ts, account, number)


@dataclass(frozen=True)
class Matcher:
    """A matcher as a user starts it."""

    process: subprocess.Popen[bytes]
    port: int

    @classmethod
    def start(cls, data: Path) -> Matcher:
        (port,) = free_ports(1)
        calm = {f"SAFFRON_{name.upper()}": str(value) for name, value in _CALM.items()}
        environment = {**os.environ, **calm, "SAFFRON_METRICS_PORT": str(port)}
        with (data / f"matcher-{port}.log").open("wb") as log:
            words = [sys.executable, "-m", "saffron", "run", "matcher", "--data", str(data)]
            return cls(subprocess.Popen(words, env=environment, stdout=log, stderr=log), port)

    def ask(self, path: str) -> str | None:
        """A page of it; None while it does not answer well."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            return None

    def ready(self) -> bool:
        return self.ask("readyz") is not None

    def total(self, name: str) -> float:
        """The sum of a metric's values."""
        families = text_string_to_metric_families(self.ask("metrics") or "")
        return float(sum(one.value for family in families for one in family.samples if one.name == name))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def until(condition: Callable[[], bool], what: str) -> float:
    """Wait for it; the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > _PATIENCE:
            raise SystemExit(f"{what}: not within {_PATIENCE:g} s")
        time.sleep(0.05)
    return time.monotonic() - begun


@dataclass(frozen=True)
class Latencies:
    """Latencies of results. `at`: their times. `ms`: from the last event. `lines`: results by partition, undated."""

    at: np.ndarray[Any, np.dtype[np.int64]]
    ms: np.ndarray[Any, np.dtype[np.int64]]
    lines: Sequence[Sequence[bytes]]

    def row(self, name: str, begin: float, end: float) -> dict[str, Any]:
        """A row of figures on the results of events that came in a stretch of time (seconds)."""
        came = self.at - self.ms
        chosen = self.ms[(came >= 1000 * begin) & (came < 1000 * end)]
        p50, p99, most = np.percentile(chosen, [50, 99, 100]) if len(chosen) else (0.0, 0.0, 0.0)
        return {"stretch": name, "results": len(chosen), "p50 ms": p50, "p99 ms": p99, "longest ms": most}


def latencies(running: System, expected: int) -> Latencies:
    """The latencies of all results."""
    at, ms, lines = [], [], []
    left = expected
    for partition in range(PARTITIONS):
        results = running.read("complex-events", left, 5.0, partition)
        sources = running.read("events", 10**9, 2.0, partition)
        arrived = np.array([record.timestamp for record in sources])
        bodies = [orjson.loads(record.value or b"{}") for record in results]
        stamps = np.array([record.timestamp for record in results], np.int64)
        last = np.array([body["events"]["b"]["seq"] for body in bodies], np.int64)
        at.append(stamps)
        ms.append(stamps - arrived[last])
        lines.append([_undated(body) for body in bodies])
        left = max(0, left - len(results))
    return Latencies(np.concatenate(at), np.concatenate(ms), lines)


def _undated(body: dict[str, Any]) -> bytes:
    return orjson.dumps({name: value for name, value in body.items() if name != "detected_at"})


def right(folder: Path) -> list[list[bytes]]:
    """The results of an undisturbed replay, by partition."""
    words = ["-e", QUERY, "--partitions", str(PARTITIONS), "--key", "account"]
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    for line in command("replay", *words, str(folder / "opens.ndjson"), str(folder / "pairs.ndjson")).splitlines():
        body = orjson.loads(line)
        found[body["partition"]].append(_undated(body))
    return found


def live(running: System, folder: Path, rate: int) -> list[float]:
    """Let the others come and go while the pairs come; when each stretch began, and the end (seconds since 1970)."""
    words = [sys.executable, "-m", "saffron", "produce", str(folder / "pairs.ndjson"), "--rate", str(rate)]
    producing = subprocess.Popen([*words, "--data", str(running.data)], stderr=subprocess.DEVNULL)
    times = [time.time()]
    time.sleep(_ALONE)
    times.append(time.time())
    more = []
    for _ in range(MORE):
        more.append(Matcher.start(running.data))
        until(more[-1].ready, "one more matcher is ready")
    time.sleep(max(0.0, times[1] + _MANY - time.time()))
    shared = [one.total("saffron_events_applied_total") for one in more]
    if not all(shared):
        raise SystemExit(f"not every matcher had a share of the stream: {shared} events")
    times.append(time.time())
    for one in reversed(more):
        one.stop()
    producing.wait()
    return [*times, time.time()]


def main() -> None:
    chosen = arguments(__doc__ or "", mib=100, rate=4_000)
    count, many = chosen.mib * (1 << 20) // RUN_BYTES, chosen.rate * (_ALONE + _MANY + _AGAIN) // 2 * 2
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "opens.ndjson").open("wb") as file:
            file.writelines(opens(count))
        with (folder / "pairs.ndjson").open("wb") as file:
            file.writelines(pairs(count, many, chosen.rate))
        with system(without=_NOT_NEEDED, partitions=PARTITIONS, **_CALM) as running:
            running.command("stream", "add", "events", "--key", "account")
            first = Matcher.start(running.data)
            running.command("query", "add", "-e", QUERY, "--timeout", "120")
            running.command("produce", str(folder / "opens.ndjson"))
            until(lambda: first.total("saffron_events_applied_total") > count, "the state is there")
            time.sleep(2)
            size = first.total(_STATE)
            times = live(running, folder, chosen.rate)
            found = latencies(running, many // 2 + 1)
            first.stop()
            again = Matcher.start(running.data)
            ready = until(again.ready, "the matcher is ready again")
            whole = ready + until(lambda: again.total(_RUNS) >= count - 1, "the matcher has its state again")
            again.stop()
        same = found.lines == right(folder)
    for name, begin, end in zip(("1 matcher", "3 more come", "they go"), times[:-1], times[1:], strict=True):
        rows.append(found.row(name, begin, end))
    title = (
        f"{count + many:,} events at {chosen.rate:,} a second, {size / (1 << 20):,.0f} MiB of state, {many // 2:,}"
        f" results, {'as replay says' if same else 'NOT AS REPLAY SAYS'}; one matcher is ready in"
        f" {ready:.1f} s, and has told in {whole:.1f} s that all of the state is there"
    )
    report(
        title,
        rows,
        chosen.json,
    )
    if not same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
