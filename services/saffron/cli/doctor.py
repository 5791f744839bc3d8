"""`saffron doctor`: what is wrong, and the fix."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from saffron.cli import console, options
from saffron.cli.doctor_cluster import cluster_findings
from saffron.cli.doctor_machine import machine_findings
from saffron.cli.findings import Finding, note, wrong
from saffron.errors import SaffronError, UnavailableError
from saffron.runtime.config import Loaded
from saffron.runtime.state import connect, read_state


@options.of_system
def doctor(*, system: options.System, json: options.AsJson = False) -> None:
    """Check the machine, the broker, topics and their settings, services, queries, lag and clocks; say how to mend.

    Status 1 if something is wrong.

    Examples:

        saffron doctor

        saffron doctor --brokers kafka:9092 --prefix prod. --json
    """
    findings = list(_findings(system.loaded()))
    if json:
        console.print_json([one.row() for one in findings])
    else:
        for one in findings:
            mark = {"ok": "ok   ", "note": "note ", "wrong": "WRONG"}[one.state]
            print(f"{console.bold(mark) if one.state == 'wrong' else mark}  {one.check}: {one.found}")
            if one.fix:
                print(f"       fix: {one.fix}")
    if any(one.state == "wrong" for one in findings):
        raise typer.Exit(1)


def _findings(loaded: Loaded) -> Iterator[Finding]:
    settings = loaded.settings
    yield from machine_findings(settings)
    try:
        settings = connect(loaded)
    except UnavailableError as error:
        yield note("system", str(error).partition(":")[0], "saffron up")
        return
    try:
        yield from cluster_findings(settings, read_state(settings.data))
    except SaffronError as error:
        yield wrong("broker", str(error), "saffron status shows whether it runs; --brokers names another")
