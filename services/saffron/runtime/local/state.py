"""The state of the system over a data directory: one JSON file, written by the supervisor and read by commands."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from saffron.errors import UnavailableError
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
    """The last state written; None if there is none, or it is of another version."""
    try:
        raw = json.loads(state_path(data).read_text("utf-8"))
        services = tuple(ServiceState(**{**one, "process": _process(one["process"])}) for one in raw.pop("services"))
        supervisor, broker = ProcessId(**raw.pop("supervisor")), _process(raw.pop("broker"))
        return SystemState(**raw, supervisor=supervisor, broker=broker, services=services)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def running(settings: Settings) -> SystemState | None:
    """The state of this machine's running system, if the settings name it; else None."""
    found = read_state(settings.data)
    if found is None or not found.alive:
        return None
    return found if (found.bootstrap, found.prefix) == (settings.bootstrap, settings.prefix) else None


def _process(raw: Mapping[str, Any] | None) -> ProcessId | None:
    return None if raw is None else ProcessId(**raw)


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
