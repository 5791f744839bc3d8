"""Processes are known by pid and start time, and ended with all of their session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from saffron.runtime.local import processes
from saffron.runtime.local.processes import ProcessId

SLEEPER = [sys.executable, "-c", "import signal; signal.pause()"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); signal.pause()",
]


def test_a_pid_that_was_given_to_another_process_is_not_ours() -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    assert me.alive()
    assert not ProcessId(me.pid, "earlier").alive()


def test_a_dead_child_that_nobody_waited_for_does_not_live() -> None:
    with subprocess.Popen(SLEEPER) as child:
        process = processes.identify(child.pid)
        assert process is not None
        assert processes.end([process], 10) == []
        assert not process.alive()
        assert child.wait() == -signal.SIGTERM


def test_one_that_ignores_sigterm_is_killed_and_named() -> None:
    with subprocess.Popen(STUBBORN, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = processes.identify(child.pid)
        assert process is not None
        assert processes.end([process], 0.1) == [process]
        assert child.wait() == -signal.SIGKILL


def test_what_a_session_leaves_behind_is_found() -> None:
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])"
    with subprocess.Popen([sys.executable, "-c", program], start_new_session=True) as leader:
        leader.wait()
        left = processes.of_session(leader.pid)
        assert len(left) == 1
        assert processes.end(left, 10) == []
        assert processes.of_session(leader.pid) == []


def test_a_pid_file_names_a_process_only_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "x.pid"
    assert processes.read(path) is None
    me = processes.identify(os.getpid())
    assert me is not None
    processes.write(path, me)
    assert processes.read(path) == me
    processes.write(path, ProcessId(me.pid, "earlier"))
    assert processes.read(path) is None
    for text in ("nonsense", "-1 5", f"{2**70} 5"):
        path.write_text(text)
        assert processes.read(path) is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_start_time_is_what_earlier_versions_wrote() -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    assert me.began == Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a start time is a time of day")
def test_a_clock_that_is_set_makes_no_other_process(monkeypatch: pytest.MonkeyPatch) -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    boot = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: boot + 3600.0)
    assert me.alive()
