"""`saffron up`: broker, topics and all services on this machine."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from saffron.cli import console, options
from saffron.cli.parsed import duration_option, registry_url
from saffron.cli.system.launch import chosen_services, prepare, start_detached
from saffron.cli.system.status import document
from saffron.runtime.local.state import SystemState, read_state
from saffron.runtime.process.config import SHED, load

_OPTIONS = {
    "bootstrap": "--brokers",
    "prefix": "--prefix",
    "partitions": "--partitions",
    "latency_bound_ms": "--latency-bound",
    "results_format": "--results-format",
    "results_registry": "--registry",
}
"""Setting -> the option that sets it when a system starts."""


def up(
    data: options.Data = None,
    brokers: options.Brokers = None,
    prefix: options.Prefix = None,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Partitions of the events topic when it is created [default: 1]."),
    ] = None,
    latency_bound: Annotated[
        int | None, duration_option("Hold this detection latency: shed load when it cannot be held else.", least=1)
    ] = None,
    overload: Annotated[
        Literal["shed", "catch-up"] | None,
        typer.Option(help="With --latency-bound: shed, or catch-up (after an outage lose nothing)."),
    ] = None,
    results_format: Annotated[
        Literal["json", "avro", "protobuf"] | None,
        typer.Option(help="What results are written as [default: json]."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            parser=registry_url,
            metavar="URL",
            help="The schema registry of results in avro or protobuf, and of PUBLISH AS AVRO.",
        ),
    ] = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay; Ctrl-C ends everything.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete the data directory first.")] = False,
    without: Annotated[
        list[str] | None, typer.Option(metavar="SERVICE", help="Do not run this service (may be repeated).")
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Start a Kafka broker (unless `--brokers` names one), the topics, and all services; return when all are ready.

    A supervisor stays behind that starts again what dies. Everything is kept under the data directory, where the other
    commands find the running system; `saffron down` ends it.

    Examples:

        saffron up

        saffron up --data ./run --partitions 4

        saffron up --latency-bound 1s

        saffron up --brokers kafka-1:9092,kafka-2:9092 --prefix test.

        saffron up --results-format avro --registry http://registry:8081
    """
    if overload is not None and latency_bound is None:
        raise typer.BadParameter("--overload says how a bound is held: give it with --latency-bound")
    flags: dict[str, Any] = {"data": data, "bootstrap": brokers, "prefix": prefix, "partitions": partitions}
    flags |= {"results_format": results_format, "results_registry": registry}
    if latency_bound is not None:
        flags |= {"latency_bound_ms": latency_bound, "overload": overload or SHED}
    settings = load(flags).settings
    services = chosen_services(without or [])
    running = read_state(settings.data)
    if running is not None and running.alive:
        if fresh:
            raise typer.BadParameter(f"a system runs under {settings.data}: `saffron down` first, then --fresh")
        console.say(f"a system runs already under {settings.data} ({running.phase})")
        ignored = [option for name, option in _OPTIONS.items() if flags.get(name) is not None]
        ignored += ["--without"] if without else []
        if ignored:
            console.say(f"it keeps what it was started with, without {', '.join(ignored)}: `saffron down` first")
        _report(running, json)
        return
    prepare(settings, services)
    if foreground:
        from saffron.runtime.local.supervisor import StartOptions, Supervisor

        Supervisor(StartOptions(settings, services, fresh), console.say).run(lambda state: _report(state, json))
    else:
        _report(start_detached(settings, services, fresh=fresh), json)


def _report(state: SystemState, json: bool) -> None:
    """Prints the addresses of the system, if it runs."""
    if json:
        console.print_json(document(state))
        return
    if state.phase != "running":
        console.say("`saffron status` shows its services")
        return
    console.say(f"ready: Kafka at {state.bootstrap}, topics {state.prefix}*")
    if state.control:
        console.say(f"live page and API: {state.control}")
    console.say("next: `saffron query add FILE`, `saffron produce EVENTS`, `saffron tail`; `saffron down` ends it")
