"""The supervisor's parts that need no broker: state file, claims on directories, restarts with growing pauses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from subprocess import PIPE

import pytest

from saffron.cli.system.launch import prepare
from saffron.errors import SaffronError, SettingsError, UnavailableError
from saffron.runtime.local import processes, service_process
from saffron.runtime.local.ports import free_ports
from saffron.runtime.local.processes import ProcessId
from saffron.runtime.local.service_process import ServiceProcess
from saffron.runtime.local.state import ServiceState, SystemState, connect, read_state, write_state
from saffron.runtime.local.supervisor import StartOptions, Supervisor, claim, end_leftovers, erase
from saffron.runtime.process.config import Settings, load

GONE = ProcessId(os.getpid(), "earlier")


def me() -> ProcessId:
    found = processes.identify(os.getpid())
    assert found is not None
    return found


def state(supervisor: ProcessId, *services: ServiceState) -> SystemState:
    return SystemState("running", "", supervisor, "p.", "127.0.0.1:1", True, 1, None, "", services)


def test_the_state_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    written = state(me(), ServiceState("matcher", "ready", 1234, "x.log", me(), 2, "nothing"))
    write_state(tmp_path, written)
    assert read_state(tmp_path) == written
    (tmp_path / "state.json").write_text('{"phase": "run')
    assert read_state(tmp_path) is None


def test_the_state_of_another_version_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    services = ServiceState("matcher", "ready", 1234, "x.log"), ServiceState("greta", "ready", 1235, "y.log", me())
    written = replace(state(me(), *services), broker=me())
    write_state(tmp_path, written)
    raw = json.loads((tmp_path / "state.json").read_text())
    one, other = raw["services"]
    for part in (raw, raw["supervisor"], raw["broker"], one, other["process"]):
        part["of_a_later_one"] = 1
    del raw["control"], one["host"], one["process"]
    (tmp_path / "state.json").write_text(json.dumps(raw))
    assert read_state(tmp_path) == written


@pytest.mark.parametrize(
    "supervisor", [{"pid": "x", "began": "y"}, {"pid": "x", "began": "y", "z": 1}, {"pid": 1}, None, "x"]
)
def test_the_state_of_a_supervisor_that_cannot_be_named_is_none(tmp_path: Path, supervisor: object) -> None:
    write_state(tmp_path, state(me()))
    raw = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({**raw, "supervisor": supervisor}))
    assert read_state(tmp_path) is None


def test_the_state_of_a_running_system_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"phase": "running", "supervisor": asdict(GONE)}))
    assert read_state(tmp_path) is None
    path.write_text(json.dumps({"phase": "running", "supervisor": asdict(me())}))
    with pytest.raises(SaffronError, match=rf"another version .* {tmp_path}.* the end of process {os.getpid()}"):
        read_state(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(SaffronError, match=r"state.json cannot be read: Is a directory"):
        read_state(tmp_path)


def test_commands_find_the_running_system_under_the_data_directory(tmp_path: Path) -> None:
    nowhere = {"XDG_CONFIG_HOME": "/nowhere"}
    with pytest.raises(UnavailableError, match=rf"^nothing runs under {tmp_path}: `saffron up` starts it there"):
        connect(load({"data": tmp_path}, nowhere))
    write_state(tmp_path, state(GONE))
    with pytest.raises(UnavailableError):
        connect(load({"data": tmp_path}, nowhere))
    write_state(tmp_path, state(me()))
    found = connect(load({"data": tmp_path}, nowhere))
    assert (found.bootstrap, found.prefix) == ("127.0.0.1:1", "p.")
    named = connect(load({"data": tmp_path, "prefix": "q.", "bootstrap": "other:9"}, nowhere))
    assert (named.bootstrap, named.prefix) == ("other:9", "q.")
    assert connect(load({"data": tmp_path, "prefix": "q."}, nowhere)).prefix == "q."


def test_only_a_directory_that_is_ours_is_emptied(tmp_path: Path) -> None:
    ours, home = tmp_path / "ours", tmp_path / "home"
    claim(ours)
    (ours / "broker").mkdir()
    (ours / "state.json").touch()
    erase(ours)
    assert [path.name for path in ours.iterdir()] == [".saffron"]
    home.mkdir()
    (home / "letters").touch()
    claim(home)
    with pytest.raises(SaffronError, match=r"--fresh would delete all of .*home, which was not empty .*\(letters\)"):
        erase(home)
    assert (home / "letters").exists()


@pytest.mark.parametrize(("path", "why"), [("file", "File exists"), ("file/x", "Not a directory")])
def test_a_data_directory_that_cannot_be_made_is_told_before_the_start(path: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = f"^data directory {tmp_path / path} cannot be made or written: {why}; --data DIR"
    with pytest.raises(SettingsError, match=told):
        prepare(Settings(data=tmp_path / path, bootstrap="127.0.0.1:1"), ["windowing"])


def test_what_a_killed_supervisor_left_running_is_ended() -> None:
    sleeper = [sys.executable, "-c", "import signal; signal.pause()"]
    with subprocess.Popen(sleeper, start_new_session=True) as child:
        process = processes.identify(child.pid)
        matcher = ServiceState("matcher", "ready", 1, "", process)
        left = state(GONE, matcher, ServiceState("greta", "ready", 2, "", GONE))
        assert end_leftovers(left) == ["matcher"]
        assert child.wait() == -signal.SIGTERM
        assert end_leftovers(left) == []


def test_the_session_of_another_process_that_has_a_leftovers_pid_is_left_alone() -> None:
    program = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print('begun', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, start_new_session=True, stdin=PIPE, stdout=PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        earlier = replace(GONE, pid=child.pid)
        assert end_leftovers(state(GONE, ServiceState("matcher", "ready", 1, "", earlier))) == []
        (sleeper,) = processes.of_session(child.pid)
        assert sleeper.alive()
        child.kill()
        child.wait()
        assert end_leftovers(state(GONE, ServiceState("matcher", "ready", 1, "", earlier))) == []
        assert not sleeper.alive(), "a session without its leader can be no other's"


def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> ServiceProcess:
    monkeypatch.setattr(service_process, "_command", lambda name: [sys.executable, "-c", program])
    return ServiceProcess("matcher", 1, tmp_path / "matcher.log", {})


def wait_for_end(one: ServiceProcess) -> None:
    if one._child is not None:
        one._child.wait()


def test_a_service_that_dies_is_started_again_after_pauses_that_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = service(tmp_path, monkeypatch, "raise SystemExit(7)")
    now, pauses = 0.0, []
    one.start(now)
    for _ in range(7):
        wait_for_end(one)
        said = one.look(now)
        assert said is not None
        assert said.startswith("matcher: it ended (status 7); started again in ")
        pause = float(said.split("again in ")[1].split(" s;")[0])
        pauses.append(pause)
        assert one.look(now + pause - 0.01) is None
        now += pause
        assert one.look(now) == "matcher: started again"
    assert one.failures == 7
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]
    assert replace(one.state(), process=None) == ServiceState(
        "matcher", "not ready", 1, str(tmp_path / "matcher.log"), None, 7, "starting"
    )
    one.finish(10)


def test_a_service_whose_port_another_process_has_gets_another_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_process, "_command", lambda name: [sys.executable, "-c", "raise SystemExit(2)"])
    (port,) = free_ports(1)
    one = ServiceProcess("matcher", port, tmp_path / "matcher.log", {})
    ports = []
    with socket.socket() as other:
        one.start(0.0)
        for now, taken in ((1.0, False), (100.0, True), (200.0, False)):
            if taken:
                other.bind(("127.0.0.1", port))
            wait_for_end(one)
            one.look(now)
            assert one.look(now + 50.0) == "matcher: started again"
            ports.append(one.state().port)
    one.finish(10)
    assert ports[0] == port
    assert ports[1] == ports[2] != port


def test_a_system_does_not_start_with_a_service_that_never_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = service(tmp_path, monkeypatch, "raise SystemExit('no such file: jar')")
    supervisor = Supervisor(StartOptions(load({"data": tmp_path}).settings), lambda line: None)
    monkeypatch.setattr(supervisor, "_services", [one])
    turns: list[int] = []

    def turn(wake: int) -> None:
        wait_for_end(one)
        one.look(float(1000 * len(turns)))
        turns.append(wake)

    monkeypatch.setattr(supervisor, "_turn", turn)
    one.start(0.0)
    with pytest.raises(SaffronError, match=r"matcher does not start: it ended 5 times(.|\n)*no such file: jar"):
        supervisor._wait_until_ready(0)
    one.finish(10)


def test_a_service_that_had_recovered_starts_again_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = service(tmp_path, monkeypatch, "raise SystemExit(7)")
    one.start(0.0)
    wait_for_end(one)
    one.look(0.0)
    one.look(0.5)
    wait_for_end(one)
    assert "started again in 0.5 s" in (one.look(31.0) or "")


def test_a_service_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); signal.pause()"
    )
    one = service(tmp_path, monkeypatch, program)
    one.start(0.0)
    log = tmp_path / "matcher.log"
    while not log.read_text():
        os.sched_yield()
    one.terminate()
    assert not one.finish(0.1)
    assert one.state().state == "stopped"
    assert one.finish(0.1)
