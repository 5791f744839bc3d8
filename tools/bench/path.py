"""The Kafka path at full speed: producer, broker and all services on this machine, one partition, nothing lost."""

from __future__ import annotations

import resource
from typing import Any

from _stock import EVENTS, QUERY, QUOTES, RESULTS
from _system import parsed, system
from _table import arguments, median, report


def one_run() -> dict[str, Any]:
    """Produce all quotes as fast as it goes; what came out, how long it took, and who used the processor."""
    with system() as running:
        running.command("query", "add", "-e", "QUERY rally " + QUERY)
        before = running.cpu()
        mine = resource.getrusage(resource.RUSAGE_CHILDREN)
        sent = parsed(running.command("produce", str(QUOTES), "--json"))
        producer = resource.getrusage(resource.RUSAGE_CHILDREN)
        results = running.read("complex-events", RESULTS, 30.0)
        after = running.cpu()
        first = running.read("events", 1, 10.0)[0].timestamp
    if len(results) != RESULTS:
        raise SystemExit(f"{len(results):,} results, but {RESULTS:,} are right")
    seconds = (results[-1].timestamp - first) / 1000
    used = {name: after[name] - before[name] for name in after}
    used["producer"] = producer.ru_utime + producer.ru_stime - mine.ru_utime - mine.ru_stime
    return {"seconds": seconds, "produced in": sent["seconds"], "cpu": used}


def main() -> None:
    chosen = arguments(__doc__ or "")
    runs = [one_run() for _ in range(chosen.runs)]
    seconds = median([run["seconds"] for run in runs])
    rows = [
        {
            "process": name,
            "processor s": round(median([run["cpu"][name] for run in runs]), 2),
            "us an event": round(median([run["cpu"][name] for run in runs]) / EVENTS * 1e6, 2),
        }
        for name in sorted(runs[0]["cpu"], key=lambda name: -float(runs[0]["cpu"][name]))
    ]
    report(
        f"Kafka path: {EVENTS:,} events, {RESULTS:,} results, median of {chosen.runs} runs {seconds:.2f} s ="
        f" {EVENTS / seconds:,.0f} events/s (produced in {median([run['produced in'] for run in runs]):.2f} s)",
        rows,
        chosen.json,
    )


if __name__ == "__main__":
    main()
