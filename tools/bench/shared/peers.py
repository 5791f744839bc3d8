"""Other engines on the same workload, by a folder with their adapters: `run.py PEER WORKLOAD` prints a line of JSON.

The line has "matches", "seconds" and "set_hash" (a sum over the matches, see `set_hash`), or says why it has none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def measure(folder: Path, peer: str, workload: str, runs: int, limit: float) -> dict[str, Any]:
    """The figures of a peer: the median of `runs` runs, each at most `limit` seconds a pass."""
    command = [sys.executable, str(folder / "run.py"), peer, workload, "--repeat", str(runs), "--limit", str(limit)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"peer": peer, "error": (run.stderr.strip().splitlines() or ["no output"])[-1]}
    found: dict[str, Any] = json.loads(lines[-1])
    return {"peer": peer, **found}


def reason(line: dict[str, Any]) -> str:
    """Why a peer has no figure."""
    if "timeout" in line:
        return f"more than {line['timeout']:.0f} s"
    return str(line.get("unsupported") or line.get("error"))
