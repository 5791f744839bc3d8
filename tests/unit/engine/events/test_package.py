"""The package's own names: all there, and no Numba for those who only need schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import saffron.engine.events as package

SERVICES = Path(__file__).parents[4] / "services"


def test_every_name_is_there() -> None:
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_schemas_load_neither_numba_nor_arrow() -> None:
    code = "import sys, saffron.engine.events.schema; print(sorted({'numba', 'pyarrow'} & set(sys.modules)))"
    run = [sys.executable, "-c", code]
    found = subprocess.run(run, env={"PYTHONPATH": str(SERVICES)}, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
