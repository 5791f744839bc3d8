"""The Kafka path at full speed: producer, broker and all services on this machine, one partition, nothing lost."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path
from typing import Any

from bench._stock import EVENTS, QUERY, RESULTS, passes
from bench._system import parsed, system
from bench._table import arguments, median, report


def one_run(path: Path, count: int) -> dict[str, Any]:
    """Produce all events as fast as it goes; what came out, how long it took, and who used the processor."""
    with system() as running:
        running.command("query", "add", "-e", "QUERY rally " + QUERY)
        before = running.cpu()
        mine = resource.getrusage(resource.RUSAGE_CHILDREN)
        sent = parsed(running.command("produce", str(path), "--json"))
        producer = resource.getrusage(resource.RUSAGE_CHILDREN)
        results = running.read("complex-events", RESULTS * count, 30.0)
        after = running.cpu()
        first = running.read("events", 1, 10.0)[0].timestamp
    if len(results) != RESULTS * count:
        raise SystemExit(f"{len(results):,} results, but {RESULTS * count:,} are right")
    seconds = (results[-1].timestamp - first) / 1000
    used = {name: after[name] - before[name] for name in after}
    used["producer"] = producer.ru_utime + producer.ru_stime - mine.ru_utime - mine.ru_stime
    return {"seconds": seconds, "produced in": sent["seconds"], "cpu": used}


def main() -> None:
    chosen = arguments(__doc__ or "", passes=3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quotes.ndjson"
        passes(path, chosen.passes)
        runs = [one_run(path, chosen.passes) for _ in range(chosen.runs)]
    events = EVENTS * chosen.passes
    seconds = median([run["seconds"] for run in runs])
    rows = [
        {
            "process": name,
            "processor s": round(median([run["cpu"][name] for run in runs]), 2),
            "us an event": round(median([run["cpu"][name] for run in runs]) / events * 1e6, 2),
        }
        for name in sorted(runs[0]["cpu"], key=lambda name: -float(runs[0]["cpu"][name]))
    ]
    results = RESULTS * chosen.passes
    report(
        f"Kafka path: {events:,} events, {results:,} results, median of {chosen.runs} runs {seconds:.2f} s ="
        f" {events / seconds:,.0f} events/s (produced in {median([run['produced in'] for run in runs]):.2f} s)",
        rows,
        chosen.json,
    )


if __name__ == "__main__":
    main()
