"""`saffron completion`: commands, options and names, completed by the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from saffron.cli.completion.kinds import LIVE, SHELLS
from saffron.cli.parsed import unknown_name


def completion(
    what: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print what makes a shell complete commands, options, and names of queries, streams, shedders and experiments.

    Print it again after an upgrade. Names of queries and streams are those of the system under the data directory;
    the shell asks for them by `saffron completion queries` and `saffron completion streams`.

    Examples:

        saffron completion bash > ~/.local/share/bash-completion/completions/saffron

        saffron completion zsh > ~/.zfunc/_saffron

        saffron completion fish > ~/.config/fish/completions/saffron.fish
    """
    if what in LIVE:
        from saffron.cli.completion.live_names import live_names

        print("\n".join(live_names(what)))
    elif what in SHELLS:
        from saffron.cli import main
        from saffron.cli.completion.shells import script
        from saffron.cli.completion.tree import commands, known_names

        print(script(what, commands(typer.main.get_command(main.app)), known_names()), end="")
    else:
        raise typer.BadParameter(unknown_name("completion for", what, SHELLS))
