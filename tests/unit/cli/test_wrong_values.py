"""Options of all commands that parse a value: a wrong one ends with status 2; option, value and what is valid are told.

A new option without an example here fails: it is a number, a duration, a name, a place, or free text.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from experiments.__main__ import main as experiments
from typer.testing import CliRunner

from saffron.cli import main
from saffron.errors import SaffronError

QUERY = "QUERY q PATTERN A a WITHIN 1 s"
SHED = ("--latency-bound", "1s", "--rate", "5")
FREE = {
    *("replay --key", "replay --why", "backfill files", "backfill --out", "enumerate files", "stream infer sources"),
    *("stream show name", "stream add --key", "stream add --from", "stream set name", "stream set --key"),
    *("stream remove name", "query show name", "query why name", "query why asked", "query pause name"),
    *("query resume name", "query replace name", "query remove name", "produce events", "produce --key"),
    *("produce --stream", "tail topics", "dlq list --reason", "dlq list --stream", "dlq send-again --reason"),
    *("dlq send-again --stream", "dlq send-again --unset", "replay events", "stream set --from"),
}
"""Texts of which any may be right: names that the running system, the events or the files know, and files."""
TEXTS: dict[str, tuple[str, ...]] = {
    "--shed": ("nosuch",),
    "--brokers": ("a:b", ":9092", "a:99999999", "a,,b", "a b:1"),
    "--prefix": ("a/b", "ä"),
    "--registry": ("nosuch", "ftp://a", "http://u:p@a"),
    "--without": ("nosuch",),
    "--conf": ("nosuch", "=5"),
    "--master": ("nosuch", "local[x]", "spark:"),
    "--set": ("nosuch", "=5"),
    "--only": ("nosuch",),
    "--at": ("nosuch", "nan", "-1"),
    "--train": ("nosuch", "nan", "0", "100", "1,2"),
    "replay --rate": ("nosuch", "0", "-5", "nan", "inf", "x", "1.4y"),
    "replay --cost": ("nosuch", "q=", "q=nan", "q=0", "nosuch=5"),
    "stream infer --name": ("a b", "", "a.b"),
    "stream add name": ("a b", "a.b"),
    "stream add --topic": ("a/b", "", "."),
    "stream set --topic": ("a/b",),
    "produce --topic": ("a/b", ".."),
    "stream check inputs": ("nosuch", "t=", "u=x"),
    "dlq show letter": ("nosuch", "a/b/c", "/1/2", "a/1/x"),
    "dlq send-again letters": ("nosuch", "a/1/-2"),
    "run service": ("nosuch",),
    "completion what": ("nosuch",),
    "bench name": ("nosuch",),
    "experiment name": ("nosuch",),
}
BESIDE: dict[str, tuple[str, ...]] = {
    "replay": ("FILE", "-e", QUERY),
    "replay --rate": ("FILE", "-e", QUERY, "--latency-bound", "1s"),
    **dict.fromkeys(("replay --shed", "replay --cost"), ("FILE", "-e", QUERY, *SHED)),
    "backfill": ("FILE", "--out", "out", "-e", QUERY),
    "explain": ("-e", QUERY),
    "query add": ("-e", QUERY),
    "query replace": ("q", "-e", QUERY),
    "stream check": ("DEFINITION",),
    "dlq send-again --set": ("a/1/2",),
    "experiment": ("p-q1",),
    **dict.fromkeys(("experiment name", "run service"), ()),
}
"""Arguments beside the wrong value, by command or option; those that are required and not named here are `x`."""


@functools.cache
def all_commands() -> dict[tuple[str, ...], click.Command]:
    return dict(commands(typer.main.get_command(main.app)))


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not hasattr(group, "list_commands"):
        yield path, group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        yield from commands(group.get_command(context, name), (*path, name))


def options() -> Iterator[tuple[tuple[str, ...], click.Command, click.Parameter]]:
    for path, command in all_commands().items():
        for one in command.params:
            if not getattr(one, "is_flag", False) and kind_of(one) != "path":
                yield path, command, one


def name_of(one: click.Parameter) -> str:
    return max(one.opts, key=len)


def kind_of(one: click.Parameter) -> str:
    return "" if one.type is None else one.type.name


def wrong_values(path: tuple[str, ...], one: click.Parameter) -> tuple[str, ...]:
    """Wrong values of an option, by its kind."""
    name = name_of(one)
    whole = " ".join((*path, name))
    if whole in FREE or name == "--text":  # a query's text has carets of its own
        return ()
    if found := TEXTS.get(whole):
        return found
    if kind_of(one) == "int range":
        bounds: Any = one.type
        assert bounds.min is not None, f"{whole} has no least value"
        return ("nosuch", "1.5", str(bounds.min - 1), *(() if bounds.max is None else (str(bounds.max + 1),)))
    if kind_of(one) == "number":
        return ("nosuch", "nan", "inf", "-1", "")
    if kind_of(one) == "milliseconds":
        return ("nosuch", "-1s", "1y", "5", "99999999999d", "")
    if kind_of(one) == "choice":
        return ("nosuch",)
    assert name in TEXTS, f"{whole} ({kind_of(one)}) has no wrong value here: is it free text?"
    return TEXTS[name]


def cases() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Each option with its wrong values; one that several commands share with one of them from the second on."""
    seen = set()
    for path, _, one in options():
        values, kind = wrong_values(path, one), (name_of(one), kind_of(one))
        yield from ((path, name_of(one), value) for value in (values[:1] if kind in seen else values))
        seen.add(kind)


CASES = list(cases())


@pytest.mark.parametrize(
    ("path", "name", "value"), CASES, ids=lambda one: one if isinstance(one, str) else " ".join(one)
)
def test_a_wrong_value_is_an_error_of_usage(
    path: tuple[str, ...], name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAFFRON_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(os, "execve", functools.partial(in_place, monkeypatch))
    monkeypatch.chdir(tmp_path)
    file, definition = tmp_path / "events.ndjson", tmp_path / "s.yaml"
    file.write_text('{"type":"A","ts":1}\n{"type":"A","ts":2}\n')
    definition.write_text("stream: s\nsources:\n- topic: t\n")
    made = [[value] if not name.startswith("-") else [name, value]]
    beside = BESIDE.get(f"{' '.join(path)} {name}", BESIDE.get(" ".join(path)))
    if beside is None:
        beside = tuple(required(path, name))
    beside = tuple({"FILE": str(file), "DEFINITION": str(definition)}.get(one, one) for one in beside)
    before = beside if name.startswith("-") or path[-1] == "check" else ()
    status, said = called([*path, *before, *made[0], *(() if before else beside)])
    assert status == 2, said
    known = re.sub(r"[\s│]+", " ", said)
    assert value in known or repr(value) in known, known
    assert name.startswith("-") is False or name in known, known


def test_a_number_with_a_unit_is_told_to_go_without() -> None:
    status, said = called(["tail", "--timeout", "3s"])
    assert (status, "Write it without a unit." in said) == (2, True)


def required(path: tuple[str, ...], name: str) -> Iterator[str]:
    for one in all_commands()[path].params:
        if one.required and name_of(one) != name:
            yield from (name_of(one), "x") if name_of(one).startswith("-") else ("x",)


def in_place(monkeypatch: pytest.MonkeyPatch, program: str, command: list[str], environment: dict[str, str]) -> None:
    """Runs experiments here, which take the place of the command's process."""
    assert command[1:3] == ["-m", "experiments"]
    monkeypatch.setattr(sys, "argv", command[2:])
    experiments()


def called(arguments: list[str]) -> tuple[int, str]:
    """The status of the command, and what it said."""
    found = CliRunner(env={"COLUMNS": "400", "TERM": "dumb"}).invoke(main.app, arguments)
    if isinstance(found.exception, SaffronError):
        return main.exit_status(found.exception), f"{found.output}{found.exception}"
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.output
