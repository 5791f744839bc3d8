"""`saffron run SERVICE`: one service in the foreground, as in a container."""

from __future__ import annotations

import gc
import importlib
from typing import Annotated

import typer

from saffron.cli import console, options
from saffron.cli.parsed import unknown_name
from saffron.cli.system.launch import require_extras
from saffron.runtime.local import baked
from saffron.runtime.local.state import SERVICES
from saffron.runtime.process.config import user_cache_directory


@options.of_system
def run(
    service: Annotated[str, typer.Argument(help=f"One of {', '.join(SERVICES)}.")], *, system: options.System
) -> None:
    """Run one service until it is stopped (SIGTERM or Ctrl-C).

    Its metrics, health and readiness are at `SAFFRON_HOST`:`SAFFRON_METRICS_PORT`; all other settings are in
    `saffron config show`.

    Examples:

        saffron run matcher --brokers kafka:9092

        SAFFRON_METRICS_PORT=9100 SAFFRON_BOOTSTRAP=kafka:9092 saffron run windowing
    """
    name = service.replace("-", "_")
    if name not in SERVICES:
        raise typer.BadParameter(unknown_name("service", service, SERVICES))
    require_extras([name], embedded=False)
    settings = system.connected()
    console.log_to_stderr(settings.log_level)
    baked.unpack(baked.directory(), user_cache_directory())
    gc.disable()  # imported modules stay: to collect garbage in them takes a tenth of the time until a service is ready
    module = importlib.import_module(f"saffron.{name}.main")
    gc.enable()
    raise typer.Exit(int(module.main(settings)))
