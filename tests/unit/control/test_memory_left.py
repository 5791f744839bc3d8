"""The limit of a process beside others in a container. The limit itself is set in a process that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 2**20
PROGRAM = "import sys; from pathlib import Path; from saffron.control.memory_left import limit_data; "
PROGRAM += "print(limit_data(int(sys.argv[1]), Path(sys.argv[2]))); "


def run(most: int, cgroup: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM + more, str(most), str(cgroup)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def container(folder: Path, limit: str, used: int, cached: int) -> Path:
    (folder / "memory.max").write_text(limit)
    (folder / "memory.current").write_text(str(used))
    (folder / "memory.stat").write_text(f"anon 5\nfile {cached}\nkernel 7\n")
    return folder


def test_without_a_container_it_is_the_most(tmp_path: Path) -> None:
    assert int(run(900 * MIB, tmp_path).stdout) == 900 * MIB
    assert int(run(900 * MIB, container(tmp_path, "max\n", 5, 5)).stdout) == 900 * MIB


@pytest.mark.parametrize("cached", [0, 50])
def test_in_a_container_it_is_what_is_left_and_cached_files_give_way(tmp_path: Path, cached: int) -> None:
    limit = int(run(900 * MIB, container(tmp_path, str(300 * MIB), 200 * MIB, cached * MIB)).stdout)
    assert (100 + cached) * MIB < limit < (200 + cached) * MIB, "with what the process itself has"


def test_beyond_the_limit_there_is_no_memory(tmp_path: Path) -> None:
    full = container(tmp_path, str(300 * MIB), 290 * MIB, 0)
    assert "MemoryError" in run(900 * MIB, full, "bytes(200 * 2**20)").stderr
