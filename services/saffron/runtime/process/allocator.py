"""The C library's allocator: freed memory stays with the process, so that blocks ask for no new pages."""

from __future__ import annotations

import ctypes
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`."""
KEPT_BYTES = 64 << 20
"""Freed memory at the end of the heap that stays with the process."""
_LARGEST_BYTES = 32 << 20
"""Larger pieces are given back at once; glibc takes no greater number."""


def keep_freed_memory() -> bool:
    """Keeps up to KEPT_BYTES of freed memory. False where the C library is not glibc: nothing is changed.

    glibc would adjust these numbers by the first large pieces that happen to be freed. Without them an engine's arrays,
    which are of the size of a block, come from the kernel page by page, again and again.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    kept = library.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
    return bool(kept and library.mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES))
