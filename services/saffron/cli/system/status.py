"""`saffron status`: the state of broker and services."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import typer

from saffron.cli import console, options
from saffron.cli.system.routes import Routes, routes_of, waiting_sentences
from saffron.cli.system.scrape import inputs, scrape
from saffron.cli.system.silent_streams import silence_of
from saffron.runtime.hops.incident_reports import incident_reports_of
from saffron.runtime.local.state import SystemState, read_state
from saffron.runtime.telemetry.metric_names import CONSUMER_LAG


def status(data: options.Data = None, json: options.AsJson = False) -> None:
    """Show broker and services of the system under the data directory; status 1 if not all of it is up.

    Examples:

        saffron status

        saffron status --json
    """
    settings = options.System(data).loaded().settings
    state = read_state(settings.data)
    if state is not None and not state.alive:
        state = None
    if json:
        console.print_json(document(state))
    elif state is None:
        console.say(f"nothing runs under {settings.data}; `saffron up` starts it")
    else:
        lags = _lags(state)
        rows = [
            (one.name, _pid(one.process), one.state, one.restarts, lags.get(one.name, "-"), one.waiting)
            for one in state.services
        ]
        if state.embedded:
            rows.insert(0, ("broker", _pid(state.broker), "ready" if state.broker else "dead", 0, "-", state.bootstrap))
        console.print_table(("name", "pid", "state", "restarts", "lag", "waits for"), rows)
        page = scrape(state, "windowing")
        _print_routes(routes_of(page))
        for silent in silence_of(page):
            console.say(silent.sentence)
        for incident in incident_reports_of(_inputs(state)):
            console.say(f"{incident.where}: {incident.what}; {incident.fix}")
    if state is None or state.phase != "running" or any(one.state != "ready" for one in state.services):
        raise typer.Exit(1)


def document(state: SystemState | None) -> dict[str, Any]:
    """The object of `--json`: broker {bootstrap, pid}, prefix, services [{name, pid, state, restarts}], and more.

    `lag`: unread messages of a service's input; null if not known. `inputs`: the incidents of its topics, as in
    schemas/health.yaml. `routes`: sources of streams made from other topics. `waiting`: what these streams wait for.
    `silence`: streams whose event time goes on without events.
    """
    if state is None:
        return {"phase": "stopped", "broker": None, "prefix": None, "services": []}
    lags, page = _lags(state), scrape(state, "windowing")
    routes = routes_of(page)
    broker = {"bootstrap": state.bootstrap, "pid": state.broker.pid if state.broker else None}
    return {
        "phase": state.phase,
        "message": state.message,
        "broker": broker,
        "prefix": state.prefix,
        "control": state.control or None,
        "supervisor": {"pid": state.supervisor.pid},
        "inputs": _inputs(state),
        "routes": [asdict(one) for one in routes.lines],
        "waiting": waiting_sentences(routes),
        "tables": [asdict(one) for one in routes.tables],
        "silence": [asdict(one) for one in silence_of(page)],
        "services": [
            {
                "name": one.name,
                "pid": one.process.pid if one.process else None,
                "state": one.state,
                "restarts": one.restarts,
                "lag": lags.get(one.name),
                "waiting": one.waiting,
                "port": one.port,
                "log": one.log,
            }
            for one in state.services
        ],
    }


def _print_routes(routes: Routes) -> None:
    """Prints the sources of streams made from other topics, where there are any."""
    if routes.lines:
        rows = [(one.stream, one.source or "-", one.events, one.lag, one.mistyped) for one in routes.lines]
        console.print_table(("stream", "source", "events", "lag", "null values"), rows)
    for sentence in (*waiting_sentences(routes), *map(str, routes.tables)):
        console.say(sentence)


def _lags(state: SystemState) -> dict[str, int]:
    """The lag of each ready service, by name. They are queried at once, so that a slow one delays no other."""
    names = [one.name for one in state.services if one.state == "ready"]
    with ThreadPoolExecutor() as pool:
        pages = dict(zip(names, pool.map(lambda name: scrape(state, name), names), strict=True))
    return {name: int(page.total(CONSUMER_LAG.name)) for name, page in pages.items() if page.has(CONSUMER_LAG.name)}


def _inputs(state: SystemState) -> list[dict[str, Any]]:
    """The services' reports on the topics that they read."""
    running = [one for one in state.services if one.process is not None]
    with ThreadPoolExecutor() as pool:
        return [row for rows in pool.map(lambda one: inputs(one.host, one.port), running) for row in rows]


def _pid(process: object) -> str:
    """The pid of a process, or "-"."""
    return str(getattr(process, "pid", "-"))
