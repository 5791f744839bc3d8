"""The state of the system over a data directory: one JSON file, written by the supervisor and read by commands."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from saffron.errors import SaffronError, UnavailableError
from saffron.runtime.local.processes import ProcessId
from saffron.runtime.process.config import Loaded, Settings

SERVICES = ("windowing", "shedder", "matcher", "greta", "control", "model_builder")
"""All services, in the order of an event's path."""


@dataclass(frozen=True)
class ServiceState:
    """The state of one service.

    `state`: starting, ready, not ready, dead (waiting for its restart), or stopped. `host`: address for requests to
    `port`.
    """

    name: str
    state: str
    port: int
    log: str
    process: ProcessId | None = None
    restarts: int = 0
    waiting: str = ""
    host: str = "127.0.0.1"


@dataclass(frozen=True)
class SystemState:
    """The state of the whole system.

    `phase`: starting, running, stopping, stopped, or failed (with the reason in `message`).
    """

    phase: str
    message: str
    supervisor: ProcessId
    prefix: str
    bootstrap: str
    embedded: bool
    partitions: int
    broker: ProcessId | None = None
    control: str = ""
    services: tuple[ServiceState, ...] = ()

    @property
    def alive(self) -> bool:
        """True if the system's supervisor runs."""
        return self.supervisor.alive()


def state_path(data: Path) -> Path:
    """The path of the state file of the system under `data`."""
    return data / "state.json"


def write_state(data: Path, state: SystemState) -> None:
    """Replaces the file atomically, so that readers never see a part of it."""
    path = state_path(data)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(asdict(state), indent=1), "utf-8")
    fresh.replace(path)


def read_state(data: Path) -> SystemState | None:
    """The last state written; None if there is none, or it cannot be read and nothing runs by it.

    Another version of Saffron may have written it: fields that are unknown here are left out. SaffronError: the file is
    there, but cannot be read, though a system runs or may run.
    """
    path = state_path(data)
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a file half written before a crash is no JSON
        return None
    except OSError as error:
        raise SaffronError(
            f"{path} cannot be read: {error.strerror}; --data DIR or SAFFRON_DATA names another directory"
        ) from error
    try:
        return _system(raw)
    except (KeyError, TypeError, AttributeError):
        if (supervisor := _supervisor(raw)) is not None and supervisor.alive():
            raise SaffronError(
                f"another version of Saffron runs under {data}, and its {path.name} cannot be read here: `saffron`"
                f" down` of that version ends it; so does the end of process {supervisor.pid} (kill {supervisor.pid})"
            ) from None
        return None


def running(settings: Settings) -> SystemState | None:
    """The state of this machine's running system, if it can be read and the settings name it; else None."""
    try:
        found = read_state(settings.data)
    except SaffronError:  # `connect` has told it, unless the settings name another broker
        return None
    if found is None or not found.alive:
        return None
    return found if (found.bootstrap, found.prefix) == (settings.bootstrap, settings.prefix) else None


def _system(raw: Mapping[str, Any]) -> SystemState:
    services = tuple(
        ServiceState(**{**_known(ServiceState, one), "process": _process_if_any(one.get("process"))})
        for one in raw["services"]
    )
    processes = {"supervisor": _process(raw["supervisor"]), "broker": _process_if_any(raw.get("broker"))}
    return SystemState(**{**_known(SystemState, raw), **processes, "services": services})


def _known(record: type[ServiceState | SystemState | ProcessId], raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `raw` that this version has too."""
    return {one.name: raw[one.name] for one in fields(record) if one.name in raw}


def _process(raw: Mapping[str, Any]) -> ProcessId:
    found = ProcessId(**_known(ProcessId, raw))
    if type(found.pid) is not int:
        raise TypeError(f"{found.pid!r} is no pid")
    return found


def _process_if_any(raw: Mapping[str, Any] | None) -> ProcessId | None:
    return None if raw is None else _process(raw)


def _supervisor(raw: Any) -> ProcessId | None:
    """The supervisor of a state that cannot be read as a whole."""
    try:
        return _process(raw["supervisor"])
    except (KeyError, TypeError):
        return None


def connect(loaded: Loaded) -> Settings:
    """Settings with the broker and prefix of the running system, unless they were given."""
    settings = loaded.settings
    if settings.bootstrap:
        return settings
    state = read_state(settings.data)
    if state is None or not state.alive or state.phase not in ("starting", "running"):
        raise UnavailableError(
            f"nothing runs under {settings.data}: `saffron up` starts it there; --data DIR or SAFFRON_DATA names"
            " another directory, --brokers HOST:PORT another broker"
        )
    prefix = state.prefix if loaded.origins["prefix"] == "default" else settings.prefix
    return replace(settings, bootstrap=state.bootstrap, prefix=prefix)
