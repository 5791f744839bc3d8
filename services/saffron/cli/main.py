"""The `saffron` command. One file a command; a command is imported only when it is called.

Exit status: 0 done, 1 failed, 2 wrong usage or a wrong query, 3 no broker.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from saffron.errors import QueryError, SaffronError, SettingsError, UnavailableError

_COMMANDS = {
    "demo": ("system.demo", "One command: everything up, a real data set, two queries, complex events on the screen."),
    "replay": ("replays.replay", "Run queries over files, without Kafka."),
    "backfill": ("replays.backfill", "Run queries over history on Spark."),
    "enumerate": ("queries.enumerate", "List the matches of results of OUTPUT COMPRESSED."),
    "warm": ("system.warm", "Compile ahead what no query decides."),
    "explain": ("queries.explain", "Print the plan of a query."),
    "up": ("system.up", "Start a Kafka broker, the topics, and all services."),
    "down": ("system.down", "End everything that `up` started."),
    "status": ("system.status", "Show what runs."),
    "top": ("system.top", "The running system live: speed, latency, partial matches, loss, lag."),
    "stream": ("streams.stream", "Sources: topic, key, schema, and bounds of a stream."),
    "query": ("queries.query", "Standing queries: check, add, list, show, pause, resume, replace, remove."),
    "produce": ("streams.produce", "Events from files or standard input to a stream."),
    "tail": ("streams.tail", "Complex events, trends, dead letters as they come."),
    "dlq": ("streams.dlq", "Dead letters: list, show, correct and send again."),
    "run": ("system.run", "One service in the foreground, as in a container."),
    "doctor": ("checks.doctor", "What is wrong, and the fix."),
    "completion": ("completion.completion", "Completion of commands, options and names for bash, zsh and fish."),
    "config": ("config", "Settings: values, and where they come from."),
    "bench": ("bench", "The project's own benchmarks."),
    "experiment": ("experiment", "The papers' overload experiments."),
}
"""Command -> its module below `saffron.cli`, which has it as `app` (a group) or as a function of its name; its help."""


def _with_examples(command: Any) -> Any:
    """The command, whose help shows examples in lines of their own.

    Typer takes the indentation from what follows a help's first paragraph, unless an empty paragraph is between.
    """
    command.help = (command.help or "").replace("\n\nExamples:\n", "\n\n\n\nExamples:\n", 1)
    for inner in getattr(command, "commands", {}).values():
        _with_examples(inner)
    return command


class _Commands(TyperGroup):
    """A group that imports a command when it is called: `replay` loads no Kafka client, `status` no Numba."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, its module imported now; None: there is no such command.

        While the help of `saffron` is written, the command has its help line only, and nothing is imported.
        """
        if cmd_name not in _COMMANDS:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=_COMMANDS[cmd_name][1])
        gc.disable()  # imported modules stay: to collect garbage in them takes a tenth of a command's start
        module = importlib.import_module(f"saffron.cli.{_COMMANDS[cmd_name][0]}")
        gc.freeze()
        gc.enable()
        if hasattr(module, "app"):
            return _with_examples(typer.main.get_command(module.app))
        app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        app.command(cmd_name)(getattr(module, cmd_name))
        return _with_examples(typer.main.get_command(app))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from saffron.language.syntax.hints import suggestion

            ctx.fail(f"No such command {args[0]!r}. {suggestion(args[0], _COMMANDS)}".rstrip())
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of commands comes from the table above."""
        self._listing = True
        super().format_help(ctx, formatter)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,  # Typer's own imports a command to complete it: half a second a key
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

        from saffron.distribution import NAME

        print(f"saffron {installed(NAME)}")
        raise typer.Exit


_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Of the disk, not of the command: it is full, over its quota, its file too large, or broken."""

_LESS_MEMORY = (
    "A query needs less with a shorter WITHIN, a key, OUTPUT FIRST or COMPRESSED, or a strategy that skips less"
)


def run() -> None:
    """The entry point of the command: expected errors become one message and an exit status."""
    _open_closed_streams()
    # NumPy's BLAS starts a thread for each core, which first spins: 0.06 s of processor time for every process, of
    # which none multiplies matrices that are large.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # so that what cannot be written is an error of this command, not of the interpreter
    except SaffronError as error:
        from saffron.cli import console

        console.done()
        print(error if isinstance(error, QueryError) else f"saffron: {error}", file=sys.stderr)
        sys.exit(exit_status(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        _discard_output()  # Click would end with 1: see below
        sys.exit(0)
    except BrokenPipeError:  # the reader of a pipe (head) has seen enough
        _discard_output()
        sys.exit(0)
    except MemoryError as error:
        _discard_output()
        print(f"saffron: memory is not enough{f': {error}' if str(error) else ''}. {_LESS_MEMORY}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        _discard_output()
        where = f"writing {error.filename}" if error.filename else "writing the output"
        print(f"saffron: {where}: {error.strerror}", file=sys.stderr)
        sys.exit(1)


def _open_closed_streams() -> None:
    """Standard streams that the caller closed (`>&-`) are empty or go nowhere, instead of being None in Python.

    Else files that are opened later would have their numbers, and messages for standard error go to standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _discard_output() -> None:
    """What is left of the output goes nowhere: the interpreter would try to write it once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_status(error: SaffronError) -> int:
    """The exit status of an error: 1 failed, 2 wrong usage or a wrong query, 3 no broker."""
    if isinstance(error, QueryError | SettingsError):
        return 2
    return 3 if isinstance(error, UnavailableError) else 1
