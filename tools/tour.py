"""Execute docs/tour.ipynb, and write its outputs into it: python tools/tour.py"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "tour.ipynb"
_SECONDS = 240


def executed() -> Any:
    """The notebook with fresh outputs; nbclient's CellExecutionError where a cell fails."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3", record_timing=False)
    client.execute(cwd=str(ROOT), env={**os.environ, "PYTHONPATH": str(ROOT / "services")})
    return notebook


def outputs(notebook: Any) -> list[Any]:
    """The outputs of the cells in order, without those that measure something (tag "varies")."""
    cells = [cell for cell in notebook.cells if "varies" not in cell.metadata.get("tags", ())]
    return [one.get("data") or one.get("text") or one for cell in cells for one in cell.get("outputs", ())]


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
