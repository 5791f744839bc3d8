"""`saffron replay` of the stock quotes from NDJSON, decoding included, and the time to the first result."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.shared.stock import EVENTS, QUERY, RESULTS, ndjson
from bench.shared.table import arguments, median, report

COMMAND = [sys.executable, "-m", "saffron", "replay", "-e", QUERY]


def stats(path: Path, *flags: str) -> dict[str, Any]:
    """The figures that --stats prints for one run; results are not written."""
    run = subprocess.run([*COMMAND, str(path), "--stats", *flags], capture_output=True, check=True)
    figures: dict[str, Any] = json.loads(run.stderr.splitlines()[-1])
    if sum(figures["results"].values()) != RESULTS:
        raise SystemExit(f"{figures['results']}, but {RESULTS:,} are right")
    return figures


def first_result(path: Path) -> float:
    """Seconds from starting the command to its first line."""
    begun = time.perf_counter()
    with subprocess.Popen([*COMMAND, str(path)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        seconds = time.perf_counter() - begun
        run.kill()
    return seconds


def main() -> None:
    chosen = arguments(__doc__ or "")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quotes.ndjson"
        path.write_bytes(ndjson())
        stats(path, "--count")  # fills the kernel cache
        for name, flags in (("results counted", ["--count"]), ("results written as JSON", [])):
            runs = [stats(path, *flags) for _ in range(chosen.runs)]
            decode = median([one["decode_seconds"] for one in runs])
            processing = median([one["seconds"] for one in runs])
            rows.append(
                {
                    "replay": name,
                    "decode s": decode,
                    "processing s": processing,
                    "events/s, decoding included": round(
                        EVENTS / median([one["decode_seconds"] + one["seconds"] for one in runs])
                    ),
                }
            )
        first = median([first_result(path) for _ in range(chosen.runs)])
    title = f"replay, {EVENTS:,} events, medians of {chosen.runs} runs; first result after {first:.2f} s"
    report(title, rows, chosen.json)


if __name__ == "__main__":
    main()
