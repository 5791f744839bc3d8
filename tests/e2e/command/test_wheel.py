"""The wheel in a fresh environment, with nothing but what it asks for itself: what a user of the index installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from saffron import data
from tests.e2e.command.command import ROOT

RALLY = Path(data.__file__).parent / "rally.saf"
UV = Path(sys.executable).with_name("uv")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the wheel alone was installed, without extras."""
    folder = tmp_path_factory.mktemp("fresh")
    _done([Path(sys.executable).with_name("hatchling"), "build", "-t", "wheel", "-d", folder], cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.startswith("saffron_cep-")
    _done([UV, "venv", "--quiet", "--python", sys.executable, folder / "venv"])
    python = folder / "venv" / "bin" / "python"
    pinned: list[str | Path] = ["--constraint", ROOT / "requirements.lock"]
    _done([UV, "pip", "install", "--quiet", "--python", python, *pinned, wheel])
    return python.parent


def _done(command: list[str | Path], **more: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def _saffron(installed: Path, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "SAFFRON_DATA": str(folder / "data")}
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "NUMBA_CACHE_DIR", "LANG")}
    command = [installed / "saffron", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=kept | home, cwd=folder)


def test_the_base_package_says_its_version_and_explains_and_replays(installed: Path, tmp_path: Path) -> None:
    assert _saffron(installed, tmp_path, "--version").stdout.startswith("saffron ")
    explained = _saffron(installed, tmp_path, "explain", "-q", RALLY)
    assert (explained.returncode, "automaton" in explained.stdout) == (0, True)
    events = tmp_path / "events.ndjson"
    events.write_text('{"type":"A","ts":1}\n{"type":"B","ts":2}\n', "utf-8")
    replayed = _saffron(installed, tmp_path, "replay", "-e", "PATTERN SEQ(A a, B b) WITHIN 1 s", "--count", events)
    assert (replayed.stdout.strip(), replayed.returncode) == ('{"query":"query","results":1}', 0), replayed.stderr
    program = "import saffron; print(saffron.compile('PATTERN A a WITHIN 1 s').name)"
    assert _done([installed / "python", "-c", program]).strip()


@pytest.mark.parametrize("command", ["up", "demo"])
def test_what_the_base_package_cannot_start_is_named_with_what_installs_it(
    installed: Path, tmp_path: Path, command: str
) -> None:
    done = _saffron(installed, tmp_path, command)
    assert done.returncode == 2
    assert done.stderr == (
        "saffron: packages are missing for the API and the live page (control), learning on Spark (model-builder), the"
        " embedded broker: pip install 'saffron-cep[control,model-builder,local]'. Or go without: saffron up --without"
        " control --without model-builder --brokers HOST:PORT (your own broker)\n"
    )


@pytest.mark.parametrize("service", ["control", "model-builder"])
def test_a_service_whose_packages_are_missing_says_which(installed: Path, tmp_path: Path, service: str) -> None:
    done = _saffron(installed, tmp_path, "run", service, "--brokers", "127.0.0.1:1")
    assert done.returncode == 2
    assert f"pip install 'saffron-cep[{service}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_names_the_extras_that_are_missing(installed: Path, tmp_path: Path) -> None:
    shown = _saffron(installed, tmp_path, "doctor").stdout
    assert "pip install 'saffron-cep[control]'" in shown
    assert "pip install 'saffron-cep[registry]'" in shown
