"""The time to the first answer: the queries of the text cases, from their text to their first result.

Each runs in processes of its own, which have the kernels that no query decides. It runs with no kernel of any query on
disk, as `saffron replay` begins (interpreted) and compiling first, then with the kernels on disk. Results are counted,
so that what compiles is known to have run.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.shared.table import arguments, median, picked, report

from saffron.engine.events.raw import batch_of_lines
from saffron.engine.kernels import jit
from saffron.runtime.kernels import library
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay

_ROOT = Path(__file__).parents[3]


def first_answer(case: Any, *, interpret: bool) -> tuple[float, float, int]:
    """Seconds to a case's first result, those of the processor, and the number of all of its results."""
    from tests.patterns.aggregates import known

    batch = batch_of_lines(case.events())
    texts = [*case.beside().items(), ("case", case.sections["query"])]
    seconds, found = (0.0, 0.0), 0
    with known(case.sections.get("aggregates", "").split()):
        begun, begun_cpu = time.perf_counter(), time.thread_time()
        for merged in Replay([Query(name, text) for name, text in texts], interpret=interpret).results([batch]):
            results = sum(map(len, merged.json()))
            if found == 0:
                seconds = time.perf_counter() - begun, time.thread_time() - begun_cpu
            found += results
    return *seconds, found


def apart(case: Any, *, interpret: bool = False) -> tuple[float, float, int]:
    """The figures of `first_answer`, measured in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as answer:
            pickle.dump(first_answer(case, interpret=interpret), answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    if not told:
        raise SystemExit(f"{case.path.stem}: its process ended without an answer (see above)")
    found: tuple[float, float, int] = pickle.loads(told)
    return found


def measured(case: Any, warmed: Path) -> dict[str, Any]:
    """The figures of a case. `warmed`: parts of kernels that `saffron warm` has left."""
    with tempfile.TemporaryDirectory() as kernels:
        os.environ["SAFFRON_CACHE"] = kernels
        shutil.copytree(warmed, Path(kernels) / "kernels" / "parts")
        interpreted, _, shown = apart(case, interpret=True)
        (first, cpu, found), (again, _, _) = apart(case), apart(case)
    if shown != found:
        raise SystemExit(f"{case.path.stem}: {shown} results interpreted, {found} compiled")
    return {
        "case": case.path.stem,
        "results": found,
        "interpreted ms": 1000 * interpreted,
        "first ms": 1000 * first,
        "cpu ms": 1000 * cpu,
        "again ms": 1000 * again,
    }


def main() -> None:
    chosen = arguments(__doc__ or "", only="*", shown=15)
    sys.path.append(str(_ROOT))
    with tempfile.TemporaryDirectory() as warm:
        library.compile_all(Path(warm), lambda done, total: None)
        jit.use_directory(Path(warm))
        list(library.compile_here())
        gc.freeze()
        _rows(chosen, Path(warm) / "parts")


def _rows(chosen: Any, warmed: Path) -> None:
    from tests.patterns.test_cases import RUNNABLE

    named = picked(chosen.only, dict.fromkeys(case.path.stem for case in RUNNABLE))
    cases = [case for case in RUNNABLE if case.path.stem in named]
    rows = sorted((measured(case, warmed) for case in cases), key=lambda row: -row["first ms"])
    times = [row["first ms"] for row in rows]
    slow = sum(one > 2000 for one in times)
    again = [row["again ms"] for row in rows]
    plain = [row["interpreted ms"] for row in rows]
    title = (
        f"{len(rows)} queries: interpreted: median {median(plain):,.0f} ms, worst {max(plain):,.0f} ms; "
        f"compiled first: median {median(times):,.0f} ms, worst {max(times):,.0f} ms, {slow} above 2 s; "
        f"again: median {median(again):,.0f} ms, worst {max(again):,.0f} ms; the slowest:"
    )
    report(title, rows[: chosen.shown], chosen.json)


if __name__ == "__main__":
    main()
