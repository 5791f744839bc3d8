"""`saffron doctor`: faults, their places, and fixes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

import typer

from saffron.cli import console, options
from saffron.cli.checks.machine import settings as given_settings
from saffron.cli.checks.of_cluster import cluster_findings
from saffron.cli.checks.of_machine import machine_findings
from saffron.cli.finding import ERROR, OK, WARNING, Finding, error, warning
from saffron.counted import counted
from saffron.errors import SaffronError, UnavailableError
from saffron.runtime.local.state import connect, read_state, running
from saffron.runtime.process.config import Loaded, Settings
from saffron.runtime.process.own_modules import import_modules


@options.of_system
def doctor(*, system: options.System, json: options.AsJson = False) -> None:
    """Check the machine, settings, Kafka, topics, services, clocks, schemas and more; name each cause, place and fix.

    A warning works, or will not for long; status 1 if there is an error. Nothing is changed.

    Examples:

        saffron doctor

        saffron doctor --brokers kafka:9092 --prefix prod. --json
    """
    findings = []
    for one in _findings(system):
        findings.append(one)
        console.progress(f"looked at {one.check}")
    console.done()
    if json:
        console.print_json([one.row() for one in findings])
    else:
        _print(findings)
    if any(one.state == ERROR for one in findings):
        raise typer.Exit(1)


def _findings(system: options.System) -> Iterator[Finding]:
    """All findings, of this machine and, if a broker is named or runs, of the system."""
    flags = {"data": system.data, "bootstrap": system.brokers, "prefix": system.prefix}
    loaded, found = given_settings.read(flags, os.environ)
    yield from found
    if loaded is None:
        return
    yield from machine_findings(loaded.settings, runs=_runs(loaded.settings))
    yield from _system(loaded)


def _runs(settings: Settings) -> bool:
    """True if a system runs under the data directory, or may do so."""
    try:
        state = read_state(settings.data)
    except SaffronError:  # told by the check of the system
        return True
    return state is not None and state.alive


def _system(loaded: Loaded) -> Iterator[Finding]:
    """The findings on the system of the settings. A system that does not run is a warning.

    A SaffronError of a check ends the checks, and becomes an error finding.
    """
    try:
        import_modules(loaded.settings.aggregates)
    except SaffronError as failure:
        yield error("settings", str(failure), "aggregates", "correct the module, or the setting; then again")
        return
    try:
        settings = connect(loaded)
    except UnavailableError as nothing:
        what, _, fix = str(nothing).partition(": ")
        yield warning("system", what, f"data {loaded.settings.data}", fix)
        return
    except SaffronError as unread:
        what, _, fix = str(unread).partition(": ")
        yield error("system", what, f"data {loaded.settings.data}", fix)
        return
    try:
        yield from cluster_findings(settings, running(settings), _now)
    except SaffronError as failure:
        yield error("broker", str(failure), settings.bootstrap, "saffron status shows whether it runs; then again")


def _now() -> int:
    return int(time.time() * 1000)


def _print(findings: Iterable[Finding]) -> None:
    """Prints a line for each finding, the fix of each problem, and the counts at the end."""
    marks = {OK: "ok     ", WARNING: "warning", ERROR: "ERROR  "}
    counts = {WARNING: 0, ERROR: 0}
    for one in findings:
        mark = marks[one.state] if one.state == OK else console.bold(marks[one.state])
        where = f" ({one.where})" if one.where else ""
        print(f"{mark}  {one.check}: {one.what}{where}")
        if one.fix:
            print(f"         fix: {one.fix}")
        if one.state in counts:
            counts[one.state] += 1
    print(f"{counted(counts[ERROR], 'error')}, {counted(counts[WARNING], 'warning')}")
