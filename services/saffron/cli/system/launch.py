"""The start and end of the whole system for `up`, `down` and `demo`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import typer

from saffron.cli import console
from saffron.cli.parsed import unknown_name
from saffron.distribution import install, lacking
from saffron.errors import SaffronError, SettingsError
from saffron.given_files import require_writable
from saffron.runtime.local import jars, jvm
from saffron.runtime.local.service_process import log_tail
from saffron.runtime.local.state import SERVICES, SystemState, read_state
from saffron.runtime.local.supervisor import claim, end_leftovers, require_broker
from saffron.runtime.process.config import JSON, Settings, environment_of
from saffron.runtime.process.listening import require_safe

_EXTRAS = {"control": "control", "model_builder": "model-builder"}
"""Service -> the extra that it needs."""
_PURPOSES = {
    "control": "the API and the live page (control)",
    "model-builder": "learning on Spark (model-builder)",
    "local": "the embedded broker",
}
_LOOK = 0.05
_DOWN_SECONDS = 90.0


def chosen_services(without: Sequence[str]) -> tuple[str, ...]:
    """All services but those named. BadParameter: an unknown name."""
    left_out = {name.replace("-", "_") for name in without}
    if unknown := sorted(left_out - set(SERVICES)):
        raise typer.BadParameter(unknown_name("service", unknown[0], SERVICES), param_hint="--without")
    return tuple(name for name in SERVICES if name not in left_out)


def require_extras(services: Collection[str], *, embedded: bool) -> None:
    """SettingsError: packages of these services, or of the embedded broker, are missing; all are named."""
    wanted = [extra for service, extra in _EXTRAS.items() if service in services]
    if embedded and jars.missing(jars.KAFKA):
        wanted.append("local")
    if not (extras := lacking(wanted)):
        return
    without = [f"--without {extra}" for extra in extras if extra != "local"]
    if "local" in extras:
        without.append("--brokers HOST:PORT (your own broker)")
    raise SettingsError(
        f"packages are missing for {', '.join(_PURPOSES[extra] for extra in extras)}: {install(*extras)}."
        f" Or go without: saffron up {' '.join(without)}"
    )


def prepare(settings: Settings, services: Sequence[str]) -> None:
    """Does before the start all that takes long or may fail.

    That is packages, addresses, output format, the data directory, leftovers, the named broker, Java and jars: what may
    fail at once first.
    """
    require_extras(services, embedded=not settings.bootstrap)
    if "control" in services:
        require_safe(settings.host, settings.token)
    if settings.results_format != JSON:
        from saffron.runtime.result_formats import writing

        writing.require_writable(settings)
    claim(settings.data)
    if (before := read_state(settings.data)) is not None and (leftovers := end_leftovers(before)):
        console.say(f"ended what an earlier supervisor had left running: {', '.join(leftovers)}")
    if settings.bootstrap:
        require_broker(settings)
    elif settings.security != "plaintext":
        raise SettingsError(
            f"security is {settings.security!r}, but the embedded broker speaks plaintext: name your own broker with"
            " --brokers, or unset SAFFRON_SECURITY"
        )
    if "model_builder" in services:
        from saffron.model_builder.prepare import prepare as prepare_spark

        prepare_spark(console.step)
    if not settings.bootstrap:
        jvm.find_java()
        jars.ensure(jars.KAFKA, console.step)


def start_detached(
    settings: Settings, services: Sequence[str], *, fresh: bool = False, enough: Collection[str] = ()
) -> SystemState:
    """Starts a supervisor that outlives this command, and waits until all is ready. SaffronError: the reason why not.

    `enough`: return once these services are ready; the others start meanwhile.
    """
    log_path = settings.data / "supervisor.log"
    require_writable(log_path)
    left_out = [f"--without={name}" for name in SERVICES if name not in services]
    with log_path.open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "saffron", "up", "--foreground", *left_out, *(["--fresh"] if fresh else [])],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment_of(settings)},
            start_new_session=True,
        )
    try:
        return _follow(settings.data, child, log_path, frozenset(enough))
    except KeyboardInterrupt:
        console.say("interrupted: ending what was started")
        child.send_signal(signal.SIGTERM)
        child.wait()
        raise


def _follow(data: Path, child: subprocess.Popen[bytes], log: Path, enough: frozenset[str]) -> SystemState:
    """Shows the progress of the supervisor until the system runs."""
    shown = ""
    while True:
        state = read_state(data)
        mine = state if state is not None and state.supervisor.pid == child.pid else None
        if mine is not None and (mine.phase == "running" or (enough and enough <= _ready(mine))):
            console.done()
            return mine
        if child.poll() is not None:
            console.done()
            if mine is not None and mine.phase == "failed":
                raise SaffronError(mine.message)
            raise SaffronError(f"the supervisor ended while starting; its log: {log}\n{log_tail(log)}")
        if mine is not None and mine.message and mine.message != shown:
            shown = mine.message
            console.step(shown)
        time.sleep(_LOOK)


def _ready(state: SystemState) -> set[str]:
    return {one.name for one in state.services if one.state == "ready"}


def stop(data: Path) -> bool:
    """Ends the system under `data` with its leftovers; False if nothing ran."""
    state = read_state(data)
    if state is None:
        return False
    ran = state.alive
    if ran:
        console.step(f"ending the services and the broker under {data}")
        state.supervisor.send(signal.SIGTERM)
        deadline = time.monotonic() + _DOWN_SECONDS
        while state.supervisor.alive() and time.monotonic() < deadline:
            time.sleep(_LOOK)
        if state.supervisor.alive():
            console.say("the supervisor does not end: it is killed, and what it started is ended one by one")
            state.supervisor.send(signal.SIGKILL)
        console.done()
    leftovers = end_leftovers(read_state(data) or state)
    if leftovers:
        console.say(f"ended what an earlier supervisor had left running: {', '.join(leftovers)}")
    return ran or bool(leftovers)
