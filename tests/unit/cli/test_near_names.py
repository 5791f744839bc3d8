"""A name that is not known is answered with the one that may be meant, wherever it is given."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import saffron
from saffron.errors import SaffronError
from saffron.mapping.definition_reader import read_definition
from saffron.runtime.process.config import load

DEFINITION = "stream: shop\nsources:\n- topic: orders\n- topic: payments\n"
TEXT = "FROM shop PATTERN orders o WITHIN 1 s"
COMMANDS = {
    "replya x": "replay",
    "stream inferr x": "infer",
    "run matchr": "matcher",
    "up --without gretta": "greta",
    "completion zhs": "zsh",
    "bench engin": "engine",
    "experiment p-q11": "p-q1",
    "experiment p-q1 --only pspise": "pspice",
    "explain -e RETURN --shed pspise": "pspice",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_commands(words: str) -> None:
    run = [sys.executable, "-m", "saffron", *words.split()]
    done = subprocess.run(run, capture_output=True, text=True, check=False, env={"COLUMNS": "400", "TERM": "dumb"})
    assert (done.returncode, f"Did you mean '{COMMANDS[words]}'?" in done.stderr) == (2, True), done.stderr


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(DEFINITION)
    (tmp_path / "orders.ndjson").write_text("{}\n")
    return tmp_path


def replay_of(topic: str) -> Callable[[Path], object]:
    def run(shop: Path) -> object:
        return saffron.replay(TEXT, {topic: shop / "orders.ndjson"}, stream=shop / "shop.yaml").counts()

    return run


def live_of(topic: str) -> Callable[[Path], object]:
    return lambda shop: saffron.open(TEXT, stream=shop / "shop.yaml").feed(b"{}", topic=topic)


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        (replay_of("order"), "Did you mean 'orders'"),
        (live_of("payment"), "Did you mean 'payments'"),
        (lambda _: load({"overload": "catchup"}), "did you mean 'catch-up'"),
        (
            lambda _: read_definition(DEFINITION + "  ts: {field: at, format: iso8601, zone: Europe/Berln}\n"),
            "Europe/Berlin",
        ),
        (lambda _: read_definition(DEFINITION + "  envelop: array\n"), "Did you mean 'envelope'"),
        (lambda _: read_definition(DEFINITION + "  envelope: debezum\n"), "Did you mean 'debezium'"),
    ],
)
def test_names_in_python_and_in_files(asked: Callable[[Path], object], near: str, shop: Path) -> None:
    with pytest.raises(SaffronError) as error:
        asked(shop)
    assert near in str(error.value)
