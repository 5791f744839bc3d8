"""The tools that a checkout of the project has beside the package: benchmarks and experiments."""

from __future__ import annotations

import os
from pathlib import Path

TOOLS = Path(__file__).parents[3] / "tools"


def environment() -> dict[str, str]:
    """What `python -m bench.NAME` needs: these tools, over the package that the command is of."""
    return {**os.environ, "PYTHONPATH": f"{TOOLS}{os.pathsep}{Path(__file__).parents[2]}"}
