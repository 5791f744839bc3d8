"""The tree of commands with their options and arguments, and the kinds of their values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from saffron.cli.completion.kinds import SHELLS
from saffron.cli.experiment import listed
from saffron.language.cost.shedders import SHEDDERS
from saffron.runtime.local.state import SERVICES

FILES = "files"
_TAKES = {"shed": "shedders", "stream": "streams", "without": "services", "service": "services"}
"""Parameter -> the kind of its values. All others that have a value take files."""
_NAMES = {"query": "queries", "stream": "streams", "experiment": "experiments"}
"""Command (or group) -> the kind of its argument `name`."""


@dataclass(frozen=True)
class Command:
    """A command.

    `path`: "query add". `words`: subcommands. `options`: to the kind of their value, None for a flag. `takes`: the kind
    of its arguments.
    """

    path: str
    words: tuple[str, ...] = ()
    options: dict[str, str | None] = field(default_factory=dict)
    takes: str | None = None


def commands(root: Any) -> list[Command]:
    """The whole tree below a Typer group, the group first. All commands are imported."""
    return list(_walk(root, ""))


def known_names() -> dict[str, tuple[str, ...]]:
    """The names of each kind that are fixed for a version of the package."""
    return {"shedders": SHEDDERS, "services": SERVICES, "experiments": listed(), "shells": SHELLS}


def _walk(command: Any, path: str) -> list[Command]:
    """A command and those below it, depth first."""
    names = command.list_commands(None) if hasattr(command, "list_commands") else []
    options: dict[str, str | None] = {"--help": None}
    takes = None
    for one in command.params:
        if one.param_type_name == "option":
            kind = None if one.is_flag else _TAKES.get(one.name, FILES)
            options |= dict.fromkeys((*one.opts, *one.secondary_opts), kind)
        elif takes is None:
            takes = _argument(one.name, path)
    found = [Command(path, tuple(names), options, takes)]
    for name in names:
        found += _walk(command.get_command(None, name), f"{path} {name}".strip())
    return found


def _argument(name: str, path: str) -> str:
    if path == "completion":
        return "shells"
    if name == "name" and path != "stream add":
        return _NAMES.get(path.partition(" ")[0], FILES)
    return _TAKES.get(name, FILES)
