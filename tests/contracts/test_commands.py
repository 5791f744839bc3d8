"""The commands that the pages name: each has the options that they give it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from saffron.cli import main

_ROOT = Path(__file__).parents[2]
_COMMAND = re.compile(r"(?<![\w/.-])(?:\.venv/bin/)?saffron ([a-z-]+)([^\n`]*)")
_END = re.compile(r"[|;&()]| -- |'\s|, then|: ")
_OPTION = re.compile(r"(?<!\S)--?[a-z][a-z-]*")


def commands(text: str) -> Iterator[tuple[str, set[str]]]:
    """The commands in a text, `saffron` left out, and the options that are given to each."""
    for found in _COMMAND.finditer(text.replace("\\\n", " ")):
        rest = _END.split(found[2])[0]
        yield f"{found[1]}{rest}", set(_OPTION.findall(rest))


def options(words: list[str]) -> set[str] | None:
    """The options of the command that words begin with; None if they name none."""
    context = typer.Context(command := typer.main.get_command(main.app))
    for word in words:
        if not hasattr(command, "get_command"):
            break
        if (command := command.get_command(context, word)) is None:
            return None
    return {"--help", *(name for one in command.params for name in (*one.opts, *one.secondary_opts))}


@pytest.mark.parametrize("page", sorted((_ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_pages_give_commands_the_options_that_they_have(page: Path) -> None:
    wrong = {
        f"saffron {command}: {', '.join(sorted(given - known))}"
        for command, given in commands(page.read_text("utf-8"))
        if given and (known := options(command.split())) is not None and not given <= known
    }
    assert wrong == set()
