"""`saffron bench`: the project's own benchmarks, which live in tools/bench of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from saffron.cli.checkout import TOOLS, environment
from saffron.cli.parsed import unknown_name
from saffron.errors import InputError
from saffron.given_files import require_writable

_FOLDERS = ("in_process", "on_kafka", "papers")
"""Of tools/bench: each file in them is a benchmark."""

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command("bench", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which benchmark; without a name, all of them.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each; medians are printed.")] = 5,
    json: Annotated[
        Path | None, typer.Option(help="Write the figures to this file, too; of further tables, to files beside it.")
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            help="A checkout of another version, set up: runs take turns, and the ratio of their figures is shown."
        ),
    ] = None,
) -> None:
    """Measure, print a table, and write JSON. Nothing else should run on the machine meanwhile.

    Other options are the benchmark's own: `saffron bench NAME -- --help` lists them.

    Examples:

        saffron bench engine

        saffron bench path --runs 3 --json path.json

        saffron bench match --only "abc_*" --peers DIR

        saffron bench match --beside ../before --runs 11
    """
    known = benchmarks()
    if not known:
        raise InputError(f"there are no benchmarks at {TOOLS}: run this command from a checkout of the project")
    if name is not None and name not in known:
        raise typer.BadParameter(unknown_name("benchmark", name, known))
    require_writable(json)
    failed = 0
    for one in [name] if name else known:
        command = [sys.executable, "-m", known[one], "--runs", str(runs)]
        if beside is not None:
            command = [sys.executable, "-m", "beside", one, str(beside), "--turns", str(runs)]
        if json is not None:
            command += ["--json", str(json if name else json.with_stem(f"{json.stem}-{one}"))]
        command += context.args
        failed |= subprocess.run(command, check=False, env=environment()).returncode
    raise typer.Exit(1 if failed else 0)


def benchmarks() -> dict[str, str]:
    """The module of each benchmark, by its name, in the order of names."""
    files = [path for folder in _FOLDERS for path in (TOOLS / "bench" / folder).glob("*.py")]
    found = {path.stem: f"bench.{path.parent.name}.{path.stem}" for path in files if path.stem != "__init__"}
    return dict(sorted(found.items()))
