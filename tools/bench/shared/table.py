"""Parts that all benchmarks share: arguments, medians, the table and the JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import saffron
from saffron.runtime.process.allocator import keep_freed_memory


def arguments(description: str, **extra: Any) -> argparse.Namespace:
    """`--runs`, `--json`, and for each of `extra` an option of that name with that default.

    The benchmark's memory is kept as that of `saffron replay` is.
    """
    keep_freed_memory()
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    for name, default in extra.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    return parser.parse_args()


def picked(only: str, names: Iterable[str]) -> list[str]:
    """The names that `--only` gives, in order: each name or pattern (`*`, `?`) of the comma-separated list has one."""
    patterns, known = only.split(","), list(names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise SystemExit(f"--only: nothing is called {pattern!r}; there are: {', '.join(known)}")
    return [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]


def clocked(work: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def report(title: str, rows: Sequence[Mapping[str, Any]], path: Path | None, width: int = 100) -> None:
    """Print the rows as a table, `width` columns wide or more, and `write` them."""
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    Console(width=max(width, Console().width)).print(table)
    if path is not None:
        write(title, rows, path)


def write(title: str, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the rows as JSON, with what was measured, when, and on what machine."""
    measured = {"version": saffron.__version__, "date": datetime.now(UTC).date().isoformat()}
    machine = {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()}
    written = {"benchmark": title, **measured, "machine": machine, "rows": rows}
    path.write_text(json.dumps(written, indent=2) + "\n", "utf-8")
    print(f"figures written to {path}", file=sys.stderr)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
