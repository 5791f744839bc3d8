"""Numba is loaded without SciPy's linear algebra, which others can import afterwards."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
from saffron.engine.kernels import jit
import numba.np.arraymath, numba.np.linalg
print("scipy.linalg" in sys.modules)
import scipy.linalg
print(scipy.linalg.det([[2.0]]))
"""


def test_kernels_load_no_linear_algebra() -> None:
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "2.0"]
