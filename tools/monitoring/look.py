"""A check for panels without data: `python -m tools.monitoring.look DATA` scrapes the system of a data directory.

A real Prometheus reads every service once a second and is asked each panel's queries until all have numbers, or the
time is over. Panels without numbers are listed. Status 1 if there is any.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from saffron.runtime.local.ports import free_ports
from saffron.runtime.local.state import SystemState, read_state
from tools.monitoring.dashboards import DASHBOARDS
from tools.monitoring.prometheus import program

_SECONDS = 90.0
_VALUES = {"$__rate_interval": "15s", "$namespace": ".*", "$query": ".*"}


def main(data: Path) -> int:
    state = read_state(data)
    if state is None or not state.alive:
        print(f"nothing runs over {data}: saffron up --data {data}", file=sys.stderr)
        return 2
    asked = [
        (one.uid, panel.title, query.expr) for one in DASHBOARDS for panel in one.panels for query in panel.queries
    ]
    empty = asked
    with running(state) as address:
        deadline = time.monotonic() + _SECONDS
        while empty and time.monotonic() < deadline:
            time.sleep(1)
            empty = [one for one in empty if not has_numbers(address, one[2])]
    for place in empty:
        print("no numbers:", *place, sep="\n  ")
    print(f"{len(asked) - len(empty)} of {len(asked)} queries have numbers")
    return 1 if empty else 0


@contextmanager
def running(state: SystemState) -> Iterator[str]:
    """A Prometheus that scrapes the system's services with the labels that they have on Kubernetes; its address."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "prometheus.yml"
        configuration.write_text(yaml.safe_dump(scraping(state)), "utf-8")
        address = f"127.0.0.1:{free_ports(1)[0]}"
        places = [f"--config.file={configuration}", f"--storage.tsdb.path={folder}/data"]
        command = [str(program("prometheus")), *places, f"--web.listen-address={address}", "--log.level=error"]
        process = subprocess.Popen(command)
        try:
            yield address
        finally:
            process.terminate()
            process.wait()


def scraping(state: SystemState) -> dict[str, Any]:
    """Prometheus' configuration."""
    jobs = [(one.name.replace("_", "-"), f"127.0.0.1:{one.port}") for one in state.services]
    return {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [
            {
                "job_name": job,
                "static_configs": [{"targets": [target], "labels": {"namespace": "here", "pod": f"{job}-0"}}],
            }
            for job, target in jobs
        ],
    }


def has_numbers(address: str, expr: str) -> bool:
    """True if a panel's query gives at least one series with a number in it."""
    for name, value in _VALUES.items():
        expr = expr.replace(name, value)
    url = f"http://{address}/api/v1/query?{urllib.parse.urlencode({'query': expr})}"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            found = json.load(answer)["data"]["result"]
    except (urllib.error.URLError, OSError):  # it is still starting
        return False
    return any(series["value"][1] != "NaN" for series in found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
