"""The streams of the experiments, as files of JSON lines: real data, and gSPICE's eight synthetic sets (table III)."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import orjson
import zstandard

_HERE = Path(__file__).parent
QUOTES = _HERE.parents[1] / "services/saffron/data/stock_quotes.ndjson.zst"

SYNTHETIC = {
    "D1": (2.5, 15, 40),
    "D2": (2.8, 15, 15),
    "D3": (4, 6, 12),
    "D4": (6, 6, 6),
    "D5": (2.5, 15, 40) * 2,
    "D6": (2.8, 15, 15) * 2,
    "D7": (4, 6, 12) * 2,
    "D8": (6, 6, 6) * 2,
}
"""Mean seconds between two events of each type, A to F."""

MOVED = 0.001
"""The quotes that moved by this share against the last one kept: gSPICE has four times that, of 500 companies."""


def real(name: str) -> Path:
    """A data set: stock, soccer, bus or flights."""
    files = {"soccer": "soccer_tracking", "bus": "bus_nyc", "flights": "flights"}
    return QUOTES if name == "stock" else _HERE / "data" / f"{files[name]}.ndjson.zst"


def synthetic(name: str, events: int, seed: int, folder: Path) -> Path:
    """The file of `events` events of a synthetic set, seeded, written below `folder`; `x` is uniform on 1 to 10."""
    gaps = SYNTHETIC[name]
    random = np.random.default_rng([seed, list(SYNTHETIC).index(name)])
    share = sum(1 / gap for gap in gaps)
    each = [int(1.2 * events / gap / share) + 50 for gap in gaps]
    times = np.concatenate(
        [np.cumsum(random.exponential(1000 * gap, count)) for gap, count in zip(gaps, each, strict=True)]
    )
    types = np.repeat(np.arange(len(gaps)), each)
    order = np.argsort(times, kind="stable")[:events]
    values = random.integers(1, 11, len(order))
    path = folder / f"{name}-{events}-{seed}.ndjson"
    with path.open("wb") as file:
        for ts, kind, x in zip(times[order].astype(np.int64), types[order], values, strict=True):
            file.write(orjson.dumps({"type": "ABCDEF"[kind], "ts": int(ts), "x": int(x)}) + b"\n")
    return path


def moved(share: float, folder: Path) -> Path:
    """The quotes that differ from the last one kept of their company by at least `share` of it."""
    kept: dict[str, float] = {}
    path = folder / f"stock-moved-{share}.ndjson"
    with path.open("wb") as file, zstandard.open(QUOTES, "rb") as lines:
        for line in lines.read().splitlines():
            event = orjson.loads(line)
            last = kept.get(event["symbol"])
            if last is None or abs(event["price"] - last) >= share * last:
                kept[event["symbol"]] = event["price"]
                file.write(line + b"\n")
    return path


def leading(events: Path, count: int, folder: Path) -> Path:
    """The file of a stream's first `count` events."""
    path = folder / f"{count}-{events.name.removesuffix('.zst')}"
    if not path.exists():
        with zstandard.open(events, "rt") if events.suffix == ".zst" else events.open() as lines:
            path.write_text("".join(islice(lines, count)), "utf-8")
    return path
