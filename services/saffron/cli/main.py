"""The `saffron` command. One file a command; a command is imported only when it is called.

Exit status: 0 done, 1 failed, 2 wrong usage or a wrong query, 3 no broker.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from saffron.errors import QueryError, SaffronError, SettingsError, UnavailableError

_COMMANDS = {
    "demo": "demo",
    "replay": "replay",
    "explain": "explain",
    "up": "up",
    "down": "down",
    "status": "status",
    "stream": "stream",
    "query": "query",
    "produce": "produce",
    "tail": "tail",
    "run": "run",
    "doctor": "doctor",
    "config": "config",
    "bench": "bench",
}
"""Command -> module of this package that holds it, as `app` (a group) or as the function of that name."""


class _Commands(TyperGroup):
    """Imports a command when it is asked for: `saffron replay` need not load Kafka's client, nor `status` Numba."""

    def list_commands(self, ctx: typer.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"saffron.cli.{_COMMANDS[cmd_name]}")
        if hasattr(module, "app"):
            return typer.main.get_command(module.app)
        app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        app.command(cmd_name)(getattr(module, cmd_name))
        return typer.main.get_command(app)


app = typer.Typer(
    cls=_Commands,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    epilog="Start with `saffron demo`. Exit status: 0 done, 1 failed, 2 wrong usage or a wrong query, 3 no broker.",
)


@app.callback(invoke_without_command=True)
def saffron(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """Saffron finds patterns in event streams on Kafka, and keeps its answers on time."""
    if version:
        from importlib.metadata import version as installed

        print(f"saffron {installed('saffron')}")
        raise typer.Exit


def run() -> None:
    """Entry point of the command: errors raised on purpose become one message and an exit status."""
    try:
        app()
    except SaffronError as error:
        from saffron.cli import console

        console.done()
        print(error if isinstance(error, QueryError) else f"saffron: {error}", file=sys.stderr)
        sys.exit(exit_status(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe (head) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def exit_status(error: SaffronError) -> int:
    """1 failed, 2 wrong usage or a wrong query, 3 no broker."""
    if isinstance(error, QueryError | SettingsError):
        return 2
    return 3 if isinstance(error, UnavailableError) else 1
