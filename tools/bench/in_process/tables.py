"""The cost of a stream's tables: memory, loading, and the time of a look-up. Each row is a process of its own."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path as FilePath
from typing import Any

import orjson
from bench.shared.table import arguments, clocked, report

from saffron.mapping.paths import Path
from saffron.mapping.table_definition import AddRule, TableDefinition
from saffron.mapping.tables.lookups import added
from saffron.mapping.tables.table import Table
from saffron.runtime.streams.event_keys import keys_of_parsed

_KEYS = 50_000
_COLUMN = (Path(("t",)), None)


def main() -> None:
    chosen = arguments(__doc__ or "", rows=1_000_000)
    rows = []
    for count in (1_000, 10_000, chosen.rows):
        for distinct in (False, True):
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                rows.append(alone.submit(measure, count, chosen.runs, distinct).result())
    report("rows of 60 bytes, of which a text of 20 is taken; the best of the runs", rows, chosen.json)


def measure(rows: int, runs: int, distinct: bool) -> dict[str, Any]:
    """The figures of a table of so many rows, whose texts are `distinct` or five."""
    before, began = _resident(), time.perf_counter()
    table = Table(TableDefinition("t", Path(("id",)), topic="t"), (_COLUMN,))
    for number in range(rows):
        text = f"{number if distinct else number % 5:020}"
        table.apply(b"%d" % number, b'{"id":"%d","t":"%s","more":"xxxxxxxx"}' % (number, text.encode()), "")
    loaded, grown = time.perf_counter() - began, _resident() - before
    draw = random.Random(1)
    keys = [b"%d" % draw.randrange(rows) for _ in range(_KEYS)]
    find = table.finder(_COLUMN)
    made = min(clocked(lambda: _fresh(keys)) for _ in range(runs))
    found = min(clocked(lambda: list(map(find, _fresh(keys)))) for _ in range(runs))
    rules = {"tier": AddRule("t", "id", _COLUMN[0])}
    events = [orjson.dumps({"type": "A", "ts": 1, "id": key.decode(), "x": 1.5}) for key in keys]
    whole = min(clocked(lambda: added(events, rules, {"t": table}, keys_of_parsed)) for _ in range(runs))
    return {
        "rows": f"{rows:,}",
        "texts": "distinct" if distinct else "five",
        "MB, by the table": round(table.size / 1e6, 1),
        "MB, of the process": round(grown / 1e6, 1),
        "loaded, s": round(loaded, 2),
        "look-up, ns": round((found - made) / _KEYS * 1e9),
        "event, ns": round(whole / _KEYS * 1e9),
    }


def _fresh(keys: Sequence[bytes]) -> list[bytes]:
    """Copies, whose hashes are not known yet, as those of events."""
    return [bytes(bytearray(key)) for key in keys]


def _resident() -> int:
    pages = int(FilePath("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
