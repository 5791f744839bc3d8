"""Who only needs schemas loads no Numba."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SERVICES = Path(__file__).parents[4] / "services"


def test_schemas_load_neither_numba_nor_arrow() -> None:
    code = "import sys, saffron.schema.schema; print(sorted({'numba', 'pyarrow'} & set(sys.modules)))"
    run = [sys.executable, "-c", code]
    found = subprocess.run(run, env={"PYTHONPATH": str(SERVICES)}, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
