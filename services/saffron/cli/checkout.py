"""The tools of a checkout of the project: benchmarks and experiments, which the package does not have."""

from __future__ import annotations

import os
from pathlib import Path

TOOLS = Path(__file__).parents[3] / "tools"


def environment() -> dict[str, str]:
    """The environment variables of `python -m bench...`: these tools come before the command's own package."""
    return {**os.environ, "PYTHONPATH": f"{TOOLS}{os.pathsep}{Path(__file__).parents[2]}"}
