"""The allocator of a process that runs an engine."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FREED = """
import resource
import numpy as np
from saffron.runtime.process.allocator import keep_freed_memory
assert keep_freed_memory()
def faults():
    for _ in range(50):
        np.ones(1 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
first = faults()
print(faults() - first)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_freed_memory_is_used_again_without_new_pages() -> None:
    """In a process of its own, since the setting is the process's."""
    found = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 100, "50 arrays of 2,048 pages each"
