"""`saffron down`: end everything that `up` started."""

from __future__ import annotations

from saffron.cli import console, options
from saffron.cli.system.launch import stop


def down(data: options.Data = None) -> None:
    """End the services, then the broker; nothing is left running, the data stay.

    Examples:

        saffron down

        saffron down --data ./run
    """
    settings = options.System(data).loaded().settings
    console.say("down" if stop(settings.data) else f"nothing runs under {settings.data}")
