"""What tables of a stream cost: memory of a million rows, and the time of a look-up.

    python tools/bench/tables.py [ROWS]

Memory is the growth of the process, beside what the table says itself.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path as FilePath

import orjson

from saffron.mapping.paths import Path
from saffron.mapping.tables.lookups import added
from saffron.mapping.tables.table import Table
from saffron.mapping.tables.table_definition import AddRule, TableDefinition
from saffron.runtime.streams.event_keys import keys_of_parsed

_ROUNDS, _KEYS = 20, 50_000
_COLUMN = (Path(("t",)), None)


def main() -> None:
    """Prints a line for each size of table."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    for rows in (1_000, 10_000, most):
        for distinct in (False, True):
            _measure(rows, distinct=distinct)


def _measure(rows: int, *, distinct: bool) -> None:
    before, began = _resident(), time.perf_counter()
    table = Table(TableDefinition("t", Path(("id",)), topic="t"), (_COLUMN,))
    for number in range(rows):
        text = f"{number:020}" if distinct else f"{number % 5:020}"
        table.apply(b"%d" % number, b'{"id":"%d","t":"%s","more":"xxxxxxxx"}' % (number, text.encode()), "")
    loaded, grown = time.perf_counter() - began, _resident() - before
    draw = random.Random(1)
    keys = [b"%d" % draw.randrange(rows) for _ in range(_KEYS)]
    find = table.finder(_COLUMN)
    found = min(_timed(lambda: list(map(find, [bytes(bytearray(one)) for one in keys]))) for _ in range(_ROUNDS))
    made = min(_timed(lambda: [bytes(bytearray(one)) for one in keys]) for _ in range(_ROUNDS))
    rules = {"tier": AddRule("t", "id", _COLUMN[0])}
    events = [orjson.dumps({"type": "A", "ts": 1, "id": key.decode(), "x": 1.5}) for key in keys]
    whole = min(_timed(lambda: added(events, rules, {"t": table}, keys_of_parsed)) for _ in range(3))
    print(
        f"{rows:9,} rows, {'distinct' if distinct else 'few'} values: {table.size / 1e6:6.1f} MB "
        f"(process {grown / 1e6:6.1f} MB), loaded in {loaded:5.1f} s, look-up "
        f"{(found - made) / _KEYS * 1e9:5.0f} ns, per event {whole / _KEYS * 1e9:5.0f} ns"
    )


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _resident() -> int:
    pages = int(FilePath("/proc/self/statm").read_text("utf-8").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
