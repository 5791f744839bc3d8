"""Options that several commands share, and the settings that they lead to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from saffron.runtime import config
from saffron.runtime.config import Settings

Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data directory of the system (else SAFFRON_DATA).")
]
Brokers = Annotated[
    str | None, typer.Option("--brokers", metavar="HOST:PORT", help="A Kafka of your own instead of the embedded one.")
]
Prefix = Annotated[str | None, typer.Option("--prefix", help="Put before every topic's name [default: saffron.].")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]


def loaded(data: Path | None = None, brokers: str | None = None, prefix: str | None = None) -> config.Loaded:
    """Settings with these flags on top."""
    return config.load({"data": data, "bootstrap": brokers, "prefix": prefix})


def connected(data: Path | None, brokers: str | None, prefix: str | None) -> Settings:
    """Settings of the system that the flags name, or that runs under the data directory; UnavailableError if none."""
    from saffron.runtime.state import connect

    return connect(loaded(data, brokers, prefix))
