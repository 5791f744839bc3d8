"""`saffron experiment`: the papers' overload experiments, which live in tools/experiments of a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from saffron.cli.checkout import TOOLS, environment
from saffron.cli.parsed import number_option
from saffron.errors import InputError
from saffron.given_files import require_writable

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command("experiment")
def experiment(
    name: Annotated[str | None, typer.Argument(help="Which experiment; without a name they are listed.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each; medians are printed.")] = 3,
    only: Annotated[str, typer.Option(metavar="NAMES", help="These shedders, comma separated, not the paper's.")] = "",
    at: Annotated[str, typer.Option(metavar="VALUES", help="At these values of what is varied, not at all.")] = "",
    train: Annotated[
        str, typer.Option(metavar="PERCENT", help="So much of the events trains; several with robustness.")
    ] = "",
    real: Annotated[bool, typer.Option("--real", help="Also on Kafka and the services, in real time.")] = False,
    events: Annotated[
        int | None, typer.Option(min=1, help="So many leading ones of the stream: all, with --real 150,000.")
    ] = None,
    seconds: Annotated[
        float, number_option("With --real: the engine's work behind the training share.", above=0)
    ] = 30.0,
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file, too.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them into this file (SVG), the paper's dashed.")] = None,
) -> None:
    """Run an experiment of pSPICE or gSPICE on a virtual clock: complex events missed, by shedder, beside the paper's.

    A check has a stated cost, as on a slower machine. It is chosen so that the engine alone is busy for a minute, and
    rates are multiples of its capacity. The truth is the same run without shedding.
    With --real the same is run on the real pipeline, too, in real time: a broker, the services, and a matcher that
    takes as long as stated. The first row is without shedding, and is to break the bound. Baselines run on the virtual
    clock alone.
    The experiment robustness is all others (or --only these) with little training, auto beside even dropping.

    Examples:

        saffron experiment

        saffron experiment p-q1 --plot p-q1.svg

        saffron experiment g-q1 --only gspice-h,bl --seeds 1

        saffron experiment p-q1 --real --at 4000 --only auto,pspice --seeds 1

        saffron experiment p-q4 --at 4 --train 3

        saffron experiment robustness --only r-quiet,p-q4 --train 1,10
    """
    if not (TOOLS / "experiments").is_dir():
        raise InputError(f"there are no experiments at {TOOLS}: run this command from a checkout of the project")
    require_writable(json)
    require_writable(plot)
    options: dict[str, Path | str | int | None] = {"--json": json, "--plot": plot, "--seeds": seeds, "--events": events}
    options |= {"--only": only or None, "--at": at or None, "--train": train or None}
    command = [sys.executable, "-m", "experiments", *([name] if name else [])]
    command += [str(part) for option, value in options.items() if value is not None for part in (option, value)]
    command += ["--real", "--seconds", str(seconds)] if real else []
    os.execve(sys.executable, command, environment())  # in our place, so that a signal to us ends it


def listed() -> tuple[str, ...]:
    """The names of all experiments; none outside a checkout."""
    if not (TOOLS / "experiments").is_dir():
        return ()
    command = [sys.executable, "-m", "experiments"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    return tuple(line.split()[0] for line in done.stdout.splitlines() if line.strip())
