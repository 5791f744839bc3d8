"""Completion, in the shells that are installed; and what may not be imported while somebody waits for a key."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from saffron.cli import main
from saffron.cli.completion import tree as completion_tree
from saffron.cli.completion.kinds import SHELLS
from saffron.cli.completion.live_names import live_names
from saffron.cli.completion.shells import script
from saffron.cli.completion.tree import Command, commands, known_names
from saffron.language.cost.shedders import SHEDDERS

HEAVY = ("numpy", "pydantic", "numba", "pyarrow", "confluent_kafka", "aiohttp", "faust", "pandas", "prometheus_client")
"""What takes longer to load than somebody waits who has pressed a key."""


@pytest.fixture(scope="module")
def tree() -> list[Command]:
    return commands(typer.main.get_command(main.app))


@pytest.fixture(scope="module")
def names() -> dict[str, tuple[str, ...]]:
    """As they are, but for the experiments: to list them is a process that loads the engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion_tree, "listed", lambda: ("p-q1", "p-q1-rate", "g-q1"))
        return known_names()


@pytest.fixture(scope="module")
def folder(tree: list[Command], names: dict[str, tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the completions, and a `saffron` whose system has two queries and a stream."""
    folder = tmp_path_factory.mktemp("shells")
    for shell in SHELLS:
        (folder / f"completion.{shell}").write_text(script(shell, tree, names), "utf-8")
    (folder / "fpath").mkdir()
    (folder / "fpath" / "_saffron").write_text(script("zsh", tree, names), "utf-8")
    program = folder / "saffron"
    program.write_text('#!/bin/sh\n[ "$2" = queries ] && echo rally && echo rise || echo trades\n', "utf-8")
    program.chmod(0o755)
    (folder / "empty").mkdir()
    return folder


def completed(folder: Path, shell: str, line: str) -> list[str]:
    """What a shell offers at the end of a line, in a folder without files."""
    words = " ".join(f"'{one}'" for one in line.split(" "))
    driver = DRIVERS[shell].format(folder=folder, line=line, words=words, last=line.count(" "))
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}
    command = [shell.partition(" ")[0], *FLAGS[shell], "-c", driver]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder / "empty")
    assert (done.returncode, done.stderr) == (0, "")
    return [one.partition("\t")[0] for one in done.stdout.splitlines() if one]


# zsh's completion needs a terminal: `compadd`, which ends every completion, is asked what it was given.
ZSH = """
compdef() {{ :; }}; _files() {{ :; }}
compadd() {{ shift; for one in "$@"; do case $one in ${{words[CURRENT]}}*) print -r -- $one ;; esac; done }}
{ready}
words=({words}); CURRENT=$#words; _saffron
"""
DRIVERS = {
    "bash": """set -eu
source {folder}/completion.bash
COMP_WORDS=({words}); COMP_CWORD={last}; COMPREPLY=()
_saffron || true
printf '%s\\n' "${{COMPREPLY[@]-}}"
[[ $(complete -p saffron) = *"-F _saffron saffron" ]]
""",
    "fish": "source {folder}/completion.fish; complete -C '{line}'",
    "zsh": ZSH.replace("{ready}", "source {folder}/completion.zsh"),
    "zsh by fpath": ZSH.replace("{ready}", "fpath=({folder}/fpath); autoload -Uz _saffron"),
}
FLAGS = {"bash": [], "fish": ["--no-config"], "zsh": ["-f"], "zsh by fpath": ["-f"]}


@pytest.mark.parametrize("shell", DRIVERS)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("saffron do", ["down", "doctor"]),
        ("saffron query re", ["resume", "replace", "remove"]),
        ("saffron query pause ", ["rally", "rise"]),
        ("saffron --data", []),
        ("saffron query show ra", ["rally"]),
        ("saffron query show rally --ver", ["--versions"]),
        ("saffron query add --shed gspice", ["gspice-h", "gspice-tree", "gspice-forest"]),
        ("saffron produce query --stream ", ["trades"]),
        ("saffron query pause list ", ["rally", "rise"]),
        ("saffron top --in", ["--interval"]),
        ("saffron run win", ["windowing"]),
        ("saffron up --without gr", ["greta"]),
        ("saffron completion ", ["bash", "zsh", "fish"]),
        ("saffron experiment p-q1", ["p-q1", "p-q1-rate"]),
        ("saffron query add --timeout ", []),
    ],
)
def test_a_shell_completes(folder: Path, shell: str, line: str, offered: list[str]) -> None:
    if shutil.which(shell.partition(" ")[0]) is None:
        pytest.skip(f"{shell.partition(' ')[0]} is not installed")
    assert sorted(completed(folder, shell, line)) == sorted(offered)


def test_every_command_option_and_shedder_is_in_every_script(
    tree: list[Command], names: dict[str, tuple[str, ...]]
) -> None:
    for shell in SHELLS:
        text = script(shell, tree, names)
        for one in tree:
            assert all(word in text for word in one.path.split())
            assert all(option.lstrip("-") in text for option in one.options)
        assert all(shedder in text for shedder in SHEDDERS)


def test_without_a_system_there_are_no_live_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAFFRON_DATA", str(tmp_path))
    assert live_names("queries") == []


@pytest.mark.parametrize("arguments", [["--help"], ["completion", "queries"], ["--version"]])
def test_what_answers_a_key_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    code = f"""import sys
import saffron.cli.completion.tree
from saffron.cli import main
sys.argv = ["saffron", *{arguments!r}]
try:
    main.run()
except SystemExit:
    pass
found = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"imported: {{found}}" if found else 0)
"""
    environ = {"PYTHONPATH": str(Path(main.__file__).parents[2]), "SAFFRON_DATA": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
