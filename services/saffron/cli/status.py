"""`saffron status`: what runs."""

from __future__ import annotations

from typing import Any

import typer

from saffron.cli import console, options
from saffron.runtime.state import SystemState, read_state


def status(data: options.Data = None, json: options.AsJson = False) -> None:
    """Show broker and services of the system under the data directory; status 1 if not all of it is up.

    Examples:

        saffron status

        saffron status --json
    """
    settings = options.loaded(data).settings
    state = read_state(settings.data)
    if state is not None and not state.alive:
        state = None
    if json:
        console.print_json(document(state))
    elif state is None:
        console.say(f"nothing runs under {settings.data}; `saffron up` starts it")
    else:
        rows = [(one.name, _pid(one.process), one.state, one.restarts, one.waiting) for one in state.services]
        if state.embedded:
            rows.insert(0, ("broker", _pid(state.broker), "ready" if state.broker else "dead", 0, state.bootstrap))
        console.print_table(("name", "pid", "state", "restarts", "waits for"), rows)
    if state is None or state.phase != "running" or any(one.state != "ready" for one in state.services):
        raise typer.Exit(1)


def document(state: SystemState | None) -> dict[str, Any]:
    """What `--json` prints: broker {bootstrap, pid}, prefix, services [{name, pid, state, restarts}], and more."""
    if state is None:
        return {"phase": "stopped", "broker": None, "prefix": None, "services": []}
    broker = {"bootstrap": state.bootstrap, "pid": state.broker.pid if state.broker else None}
    return {
        "phase": state.phase,
        "message": state.message,
        "broker": broker,
        "prefix": state.prefix,
        "control": state.control or None,
        "supervisor": {"pid": state.supervisor.pid},
        "services": [
            {
                "name": one.name,
                "pid": one.process.pid if one.process else None,
                "state": one.state,
                "restarts": one.restarts,
                "waiting": one.waiting,
                "port": one.port,
                "log": one.log,
            }
            for one in state.services
        ],
    }


def _pid(process: object) -> str:
    return str(getattr(process, "pid", "-"))
