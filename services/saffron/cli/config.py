"""`saffron config show`: every setting, its value, and where the value comes from."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import typer

from saffron.cli import console, options
from saffron.runtime.process import config as settings_file

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    help="Settings: flag, then SAFFRON_* variable, then file, then default.",
)


@app.callback()
def config() -> None:
    """Settings: flag, then SAFFRON_* variable, then file, then default."""


@app.command()
def show(
    data: options.Data = None,
    origin: Annotated[bool, typer.Option("--origin", help="Say where each value comes from.")] = False,
    json: options.AsJson = False,
) -> None:
    """Print every setting with its value.

    Each can be set by `SAFFRON_` and its name in capitals, or by a line of `saffron.toml` (in the working directory, in
    `~/.config/saffron/`, or where `SAFFRON_CONFIG` says).

    Examples:

        saffron config show --origin

        SAFFRON_COMMIT_MS=50 saffron config show --json
    """
    loaded = options.System(data).loaded()
    rows = []
    for one in fields(settings_file.Settings):
        value = getattr(loaded.settings, one.name)
        shown = "***" if one.metadata["secret"] and value else value if isinstance(value, int) else str(value)
        rows.append((one.name, shown, loaded.origins[one.name], settings_file.explain(one.name)))
    if json:
        console.print_json({name: {"value": value, "origin": where} for name, value, where, _ in rows})
    elif origin:
        console.print_table(("setting", "value", "origin"), [row[:3] for row in rows])
    else:
        console.print_table(("setting", "value", "meaning"), [(name, value, why) for name, value, _, why in rows])
