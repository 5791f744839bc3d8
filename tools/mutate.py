"""Mutation check of the match engine: do the tests notice when its source is changed a little?

Each mutant is put into a copy of the project. The fast comparison tests (kernels as plain Python) run in a process of
their own. The mutant is killed if one fails or time is up. A mutant that all of them let pass has survived:
tests/mutants.md says why some may. Usage: make mutants, or

    python tools/mutate.py --sample 300 --seed 1 --json mutants.json
    python tools/mutate.py --only language/patterns/positions.py:120
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import os
import py_compile
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[1]
ENGINE = Path("services/saffron/engine/match")
CORE = ("automaton.py", "source/expressions.py", "classify.py", "windows.py", "chains.py", "kernel_layout.py")
MATCH_TESTS = "tests/unit/engine/match/"
DEFINITION = "test_results_are_those_of_the_definition_whatever_the_blocks"
SUITES = (
    (f"{MATCH_TESTS}test_general.py::{DEFINITION}[0]",),
    ("tests/patterns/test_cases.py", "-k", "(block_size and 1000) or explain"),
    tuple(f"{MATCH_TESTS}test_general.py::{DEFINITION}[{first}]" for first in range(50, 300, 50)),
    (f"{MATCH_TESTS}test_random.py", f"{MATCH_TESTS}test_examples.py", f"{MATCH_TESTS}test_operator.py"),
    (f"{MATCH_TESTS}test_general.py", "-k", "bytes or snapshot"),
)
"""Tests, those that notice most first; each mutant meets them in turn."""
SHARED = (
    "hypothesis",
    "saffron.language",
    "saffron.engine.events",
    "saffron.engine.windows.operator",
    "saffron.engine.trends.trend_operator",
    "saffron.runtime.local.broker",
    "tests.reference.match.answers",
    "tests.reference.match.generate",
)
"""Modules that no mutant changes: loaded once."""


def targets() -> list[Path]:
    own = sorted(path.relative_to(ROOT) for path in (ROOT / ENGINE / "general").rglob("*.py"))
    return [*own, *(ENGINE / "core" / name for name in CORE)]


def copied(folder: Path) -> None:
    """The project's sources and tests into a folder, all but the one that is mutated read from their byte code."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("services", "tests", "schemas"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    compileall.compile_dir(folder, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


class Laboratory:
    """A copy of the project in which one mutant after another lives, each in a process of its own."""

    def __init__(self, folder: Path, seconds: int) -> None:
        self.folder = folder
        self.seconds = seconds
        copied(folder)
        os.chdir(folder)
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(folder / "services"), str(folder)]

    def open(self) -> bool:
        """True if all tests pass with the source as it is; kernels that no mutant changes are then at hand."""
        if not self._passes(self.folder / "kernels", 20 * self.seconds):
            return False
        use_kernels(self.folder / "kernels")
        for name in SHARED:
            importlib.import_module(name)
        for path in targets():
            assert ".".join(path.with_suffix("").parts[1:]) not in sys.modules
        return True

    def survives(self, mutant: Mutant) -> bool:
        """True if all tests pass with the mutant."""
        path = self.folder / mutant.path
        source = path.read_text()
        own = self.folder / "mutant_kernels"
        shutil.copytree(self.folder / "kernels", own, copy_function=os.link)
        path.write_text(mutant.applied(source))
        try:
            return self._passes(own, self.seconds)
        finally:
            path.write_text(source)
            shutil.rmtree(own)

    def _passes(self, kernels: Path, seconds: int) -> bool:
        process = os.fork()
        if process == 0:
            status = 1
            try:
                status = self._test(kernels, seconds)
            except BaseException:
                traceback.print_exc()
            finally:  # without the parent's exit handlers
                sys.stderr.flush()
                os._exit(status)
        return os.waitpid(process, 0)[1] == 0

    def _test(self, kernels: Path, seconds: int) -> int:
        import pytest

        log = os.open(self.folder / "log.txt", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        use_kernels(kernels)
        for suite in SUITES:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process
            own = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "--hypothesis-seed=0", *suite]
            if status := pytest.main(own):
                return int(status)
        return 0


def use_kernels(folder: Path) -> None:
    """Keep machine code in `folder`."""
    import numba

    numba.config.CACHE_DIR = str(folder)


def chosen(asked: argparse.Namespace) -> list[Mutant]:
    os.chdir(ROOT)
    found = [mutant for path in targets() for mutant in mutants_of(path)]
    if asked.only:
        return [mutant for mutant in found if f"{mutant.path}:{mutant.line}:".endswith(f"{asked.only}:")]
    rng = random.Random(asked.seed)
    return found if asked.sample >= len(found) else rng.sample(found, asked.sample)


def report(results: Sequence[tuple[Mutant, bool]], path: Path | None) -> None:
    total, lost = Counter[str](), Counter[str]()
    for mutant, survived in results:
        name = str(mutant.path.relative_to(ENGINE))
        total[name] += 1
        lost[name] += survived
    width = max(map(len, total), default=0)
    for name in sorted(total):
        print(f"{name:{width}} {total[name]:5} mutants {total[name] - lost[name]:5} killed")
    killed = len(results) - sum(lost.values())
    print(f"{killed} of {len(results)} killed: {killed / max(len(results), 1):.1%}")
    if path is not None:
        rows = [
            {"file": str(m.path), "line": m.line, "old": m.old, "new": m.text, "survived": survived}
            for m, survived in results
        ]
        path.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants, by chance (default 300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=30, help="processor time for each of the suites")
    parser.add_argument("--only", help="FILE:LINE, the mutants there")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    os.nice(5)
    mutants = chosen(asked)
    results: list[tuple[Mutant, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(Path(folder), asked.seconds)
        if not laboratory.open():
            sys.exit("the tests fail as it is:\n" + (Path(folder) / "log.txt").read_text()[-3000:])
        for number, mutant in enumerate(mutants, 1):
            survived = laboratory.survives(mutant)
            results.append((mutant, survived))
            verdict = "SURVIVED" if survived else "killed"
            print(f"{number:5} {verdict:8} {mutant.path.relative_to(ENGINE)}:{mutant.line}  {mutant}", flush=True)
    report(results, asked.json)


if __name__ == "__main__":
    main()
