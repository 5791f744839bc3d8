"""docs/tour.ipynb runs, and shows what stands in it."""

from __future__ import annotations

import nbformat
import pytest

from tools.tour import NOTEBOOK, executed, outputs

pytestmark = pytest.mark.slow
MOST_BYTES = 60_000


def test_the_tour_shows_what_stands_in_it() -> None:
    written = nbformat.read(NOTEBOOK, as_version=4)
    assert all(cell.outputs for cell in written.cells if cell.cell_type == "code"), "python tools/tour.py writes them"
    assert NOTEBOOK.stat().st_size < MOST_BYTES
    assert outputs(executed()) == outputs(written), "run `python tools/tour.py`, and look at what has changed"
