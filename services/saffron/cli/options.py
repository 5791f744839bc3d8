"""Options that several commands share, and the settings that they lead to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from saffron.runtime.process import config
from saffron.runtime.process.config import Settings

Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data directory of the system (else SAFFRON_DATA).")
]
Brokers = Annotated[
    str | None, typer.Option("--brokers", metavar="HOST:PORT", help="A Kafka of your own instead of the embedded one.")
]
Prefix = Annotated[str | None, typer.Option("--prefix", help="Put before every topic's name [default: saffron.].")]
QueryFiles = Annotated[list[Path] | None, typer.Option("-q", "--query", help="File with one query.")]
QueryTexts = Annotated[list[str] | None, typer.Option("-e", "--text", help="The query itself.")]
EventSchema = Annotated[
    Path | None, typer.Option(help="JSON Schema of the events; else inferred from the first 10,000.")
]
Lenient = Annotated[bool, typer.Option(help="Unknown names in a query are warnings, not errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]


@dataclass(frozen=True)
class System:
    """The values of `--data`, `--brokers` and `--prefix`."""

    data: Path | None = None
    brokers: str | None = None
    prefix: str | None = None

    def loaded(self) -> config.Loaded:
        """The settings with these flags on top."""
        return config.load({"data": self.data, "bootstrap": self.brokers, "prefix": self.prefix})

    def connected(self) -> Settings:
        """The settings of the named system, or of that under the data directory. UnavailableError: there is none."""
        from saffron.runtime.local.state import connect

        return connect(self.loaded())


def of_system(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the flags of `System` in place of its parameter `system`."""

    @functools.wraps(command)
    def called(*arguments: Any, **options: Any) -> None:
        system = System(**{name: options.pop(name) for name in flags if name in options})
        command(*arguments, system=system, **options)

    flags = {"data": Data, "brokers": Brokers, "prefix": Prefix}
    own = inspect.signature(command, eval_str=True)
    given = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own.parameters.values()]
    place = list(own.parameters).index("system")
    given[place : place + 1] = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in flags.items()
    ]
    called.__signature__ = own.replace(parameters=given)  # type: ignore[attr-defined]
    return called
