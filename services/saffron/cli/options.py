"""Options that several commands share, and the settings that they lead to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from saffron.cli.parsed import checked
from saffron.runtime.process import config
from saffron.runtime.process.config import Settings


def _brokers(text: str) -> str:
    return checked(text, partial(config.require_form, "bootstrap"))


def _prefix(text: str) -> str:
    return checked(text, partial(config.require_form, "prefix"))


Data = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Data directory of the system (else SAFFRON_DATA).")
]
Brokers = Annotated[
    str | None,
    typer.Option(
        "--brokers", parser=_brokers, metavar="HOST:PORT", help="A Kafka of your own instead of the embedded one."
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--prefix", parser=_prefix, metavar="PREFIX", help="Put before every topic's name [default: saffron.]."
    ),
]
QueryFiles = Annotated[list[Path] | None, typer.Option("-q", "--query", help="File with one query.")]
QueryTexts = Annotated[list[str] | None, typer.Option("-e", "--text", help="The query itself.")]
EventSchema = Annotated[
    Path | None, typer.Option(help="JSON Schema of the events; else inferred from the first 10,000.")
]
Lenient = Annotated[bool, typer.Option(help="Unknown names in a query are warnings, not errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]
_KEYWORD = Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class System:
    """The options that name a running system."""

    data: Data = None
    brokers: Brokers = None
    prefix: Prefix = None

    def loaded(self) -> config.Loaded:
        """The settings with these flags on top."""
        return config.load({"data": self.data, "bootstrap": self.brokers, "prefix": self.prefix})

    def connected(self) -> Settings:
        """The settings of the named system, or of that under the data directory. UnavailableError: there is none."""
        from saffron.runtime.local.state import connect

        return connect(self.loaded())


def expanded(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command with the fields of dataclasses as options, in place of its parameters of these names."""

    def changed(command: Callable[..., None]) -> Callable[..., None]:
        """The command with the fields of the groups as options, for Typer to read. All are keyword-only.

        At a call the options become objects of the dataclasses again.
        """

        @functools.wraps(command)
        def called(*arguments: Any, **given: Any) -> None:
            values = {
                parameter: group(**{one.name: given.pop(one.name) for one in fields(group) if one.name in given})
                for parameter, group in groups.items()
            }
            command(*arguments, **values, **given)

        own = inspect.signature(command, eval_str=True)
        parameters = [
            option
            for one in own.parameters.values()
            for option in (_options(groups[one.name]) if one.name in groups else [one.replace(kind=_KEYWORD)])
        ]
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return called

    return changed


of_system = expanded(system=System)
"""Makes a command with the options of `System` in place of its parameter `system`."""


def _options(group: type) -> list[Parameter]:
    """The fields of a dataclass as parameters of a command."""
    hints = get_type_hints(group, include_extras=True)
    return [Parameter(one.name, _KEYWORD, default=one.default, annotation=hints[one.name]) for one in fields(group)]
