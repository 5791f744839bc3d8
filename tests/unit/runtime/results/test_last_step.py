"""The step in which a process died, from a file that outlives it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from saffron.engine.operators.containment import ADVANCING, RESTORING, together
from saffron.runtime.results.last_step import LastStep

DIES = """
import os, sys
from pathlib import Path
from saffron.runtime.results.last_step import LastStep
step = LastStep(Path(sys.argv[1]))
step.set_offset(int(sys.argv[2]))
step.enter(sys.argv[3], 4, sys.argv[4])
os.kill(os.getpid(), 9)
"""


def died(directory: Path, offset: int, query: str, step: str = ADVANCING) -> LastStep:
    """A process has died; what the next one sees."""
    subprocess.run([sys.executable, "-c", DIES, str(directory), str(offset), query, step], check=False)
    return LastStep(directory)


def test_a_second_death_in_the_same_query_and_block_proves_it(tmp_path: Path) -> None:
    (first,) = died(tmp_path, 7, "rally").take_deaths(0)
    assert (first.query, first.version, first.step, first.offset, first.proven) == ("rally", 4, ADVANCING, 7, False)
    (second,) = died(tmp_path, 7, "rally", RESTORING).take_deaths(9)
    assert second.proven
    assert "died in it 2 times, with the block at offset 7" in second.reason()


def test_another_query_or_block_proves_nothing(tmp_path: Path) -> None:
    died(tmp_path, 7, "rally").take_deaths(0)
    died(tmp_path, 8, "rally").take_deaths(0)
    found = died(tmp_path, 7, "other").take_deaths(0)
    assert [(one.query, one.offset, one.proven) for one in found] == [
        ("rally", 7, False),
        ("rally", 8, False),
        ("other", 7, False),
    ]
    assert [one.query for one in LastStep(tmp_path).take_deaths(8)] == ["rally"], (
        "behind what is committed, and no new one"
    )


def test_a_step_of_several_queries_is_nobodys_fault(tmp_path: Path) -> None:
    died(tmp_path, 7, "falls", together(ADVANCING)).take_deaths(0)
    (found,) = died(tmp_path, 7, "falls", together(ADVANCING)).take_deaths(0)
    assert found.shared
    assert not found.proven


def test_what_is_over_is_no_death(tmp_path: Path) -> None:
    step = LastStep(tmp_path)
    step.set_offset(3)
    step.enter("é" * 700, 1, ADVANCING)
    step.leave()
    assert LastStep(tmp_path).take_deaths(0) == []


def test_a_file_that_cannot_be_made_is_told_and_does_without(tmp_path: Path, caplog: object) -> None:
    (tmp_path / "file").write_text("")
    step = LastStep(tmp_path / "file" / "below")
    step.enter("rally", 1, ADVANCING)
    assert [one.query for one in step.take_deaths(0)] == ["rally"]
