"""Compilation of all kernels that do not depend on a query, ahead of time and on all cores.

    python -m saffron.runtime.kernels.library KERNELS NUMBER OF

is one of the processes that share the work. It writes a line for each piece done.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from saffron import engine
from saffron.engine.events.raw import batch_of_lines
from saffron.engine.kernels import jit
from saffron.engine.trends.ordered import code as ordered_code
from saffron.errors import SaffronError
from saffron.mapping.flat.flattening import prepare_flattener
from saffron.runtime.kernels.warmed import note_warm
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay

_EVENTS = b'{"type":"A","ts":1,"x":1.5,"k":"a"}\n{"type":"B","ts":2,"x":2,"k":"a"}\n'
_FALLING, _PRODUCT = "WHERE A.x > NEXT(A).x", "WHERE A.x * NEXT(A).x > 1"
_ALL = "COUNT(*), COUNT(A), SUM(A.x), MIN(A.x), MAX(A.x)"
_ONE, _MANY = "WITHIN 10 ms", "WITHIN 10 ms SLIDE 3 ms"
_NOT = "PATTERN SEQ(A+, NOT B, A, NOT B)"
_QUERIES = (
    f"PATTERN SEQ(A a, B b) {_ONE}",
    f"RETURN COUNT(*) PATTERN SEQ(A, B+) {_ONE} TIME STRICT",
    f"RETURN MIN(A.x) PATTERN SEQ(A+, B) {_ONE}",
    f"RETURN SUM(A.x) PATTERN SEQ(A+, B) {_ONE}",
    f"RETURN {_ALL} PATTERN (SEQ(A+, B))+ {_ONE} TIME STRICT",
    f"RETURN COUNT(*) PATTERN A+ WHERE [k] AND A.x > NEXT(A).x {_ONE}",
    f"RETURN SUM(A.x) PATTERN A+ {_FALLING} {_ONE}",
    f"RETURN COUNT(*) PATTERN A+ {_FALLING} {_MANY}",
    f"RETURN COUNT(*) PATTERN A+ {_PRODUCT} {_ONE}",
    f"RETURN {_ALL} PATTERN A+ {_PRODUCT} {_MANY}",
    f"RETURN COUNT(*) PATTERN SEQ(A, B) {_MANY}",
    f"RETURN {_ALL} PATTERN SEQ(A+, B) {_MANY}",
    f"RETURN COUNT(*) {_NOT} {_ONE} TIME STRICT",
    f"RETURN COUNT(*) {_NOT} {_MANY} TIME STRICT",
    f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE strict-contiguity {_ONE}",
    "RETURN COUNT(*) PATTERN A+ WITHIN 10 EVENTS",
    f"RETURN COUNT(*) PATTERN A+ AND SEQ(A x, B y) {_ONE}",
)
"""Queries whose common parts are compiled and kept for others (`part_cache`)."""


def pieces() -> Mapping[str, Callable[[], object]]:
    """The functions that compile the pieces of the work, by name; the same in every process."""
    for found in pkgutil.walk_packages(engine.__path__, f"{engine.__name__}."):
        importlib.import_module(found.name)
    queries = {f"parts of {text}": partial(_first_answer, text) for text in _QUERIES}
    return {
        **jit.unprepared(),
        "ordered index": ordered_code.functions,
        "messages of merged streams": prepare_flattener,
        **queries,
    }


def _first_answer(text: str) -> None:
    """Compiles a query, some of whose kernels others need."""
    kernels, replay = jit.directory(), Replay([Query("first", text)], interpret=False)
    jit.use_directory(kernels)  # a replay uses the user's own
    for merged in replay.results([batch_of_lines(_EVENTS)]):
        list(merged.json())


def compile_here(number: int = 0, of: int = 1) -> Iterator[str]:
    """Compiles every `of`-th piece from `number` on in this process; yields names of finished pieces."""
    for place, (name, compiled) in enumerate(pieces().items()):
        if place % of == number:
            compiled()
            yield name


def compile_all(kernels: Path, progress: Callable[[int, int], None], processes: int = os.cpu_count() or 1) -> None:
    """Compiles all kernels that do not depend on a query, or finds them in the cache.

    `kernels`: directory of generated kernels. `progress`: called with pieces done and their total. SaffronError: a
    process failed.
    """
    jit.use_directory(kernels)
    total = len(pieces())
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "saffron.runtime.kernels.library", str(kernels)]
    running = [subprocess.Popen([*command, str(number), str(processes)], stdout=writer) for number in range(processes)]
    os.close(writer)
    progress(0, total)
    with os.fdopen(reader) as lines:
        for done, _ in enumerate(lines, start=1):
            progress(done, total)
    statuses = [one.wait() for one in running]
    if any(statuses):
        raise SaffronError("compiling kernels ahead failed (see above); queries compile them when they are added")
    note_warm(kernels)


def main() -> None:
    """The main function of one of the processes."""
    jit.use_directory(Path(sys.argv[1]))
    for name in compile_here(int(sys.argv[2]), int(sys.argv[3])):
        print(name, flush=True)


if __name__ == "__main__":
    main()
