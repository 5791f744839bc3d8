"""The check of kernels that no query decides: compiled ahead, or compiled by the first query."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from saffron.cli.checks.machine.disk import nearest
from saffron.cli.finding import Finding, error, ok, warning
from saffron.runtime.kernels.warmed import is_warm


def check_kernels(kernels: Path) -> Iterator[Finding]:
    """Findings on compiled kernels. `kernels`: their directory in the cache."""
    if is_warm(kernels):
        yield ok("kernels", "compiled ahead", str(kernels))
        return
    there = nearest(kernels)
    if os.access(there, os.W_OK):
        what = "not compiled ahead for this version: the first query waits up to a minute"
        yield warning("kernels", what, str(kernels), "saffron warm")
    else:
        fix = "name another directory with SAFFRON_CACHE, then saffron warm"
        yield error("kernels", f"{there} cannot be written: each start compiles anew", str(kernels), fix)
