"""What an image holds ahead of what is kept in the cache (machine code of kernels, Spark's jars and class archive).

Numba uses no cache that it cannot write to, and an image's files are read only: so the image keeps a copy beside its
packages, and a service puts it into its cache, a volume, before it looks for any kernel.

    python -m saffron.runtime.local.baked

is the image's side: what was compiled into the cache becomes the copy.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from saffron.runtime.process.config import user_cache_directory

_MARK = "baked"
"""File that says which copy it is, and in a cache which one has been put there."""


def directory() -> Path:
    """Where an image keeps it: beside its packages."""
    return Path(sys.prefix) / "baked"


def bake(cache: Path, baked: Path) -> None:
    """Move what `cache` holds to `baked`, in place of what was there."""
    (cache / _MARK).unlink(missing_ok=True)
    shutil.rmtree(baked, ignore_errors=True)
    shutil.move(cache, baked)
    for lock in baked.rglob("*.lock"):
        lock.unlink()
    digest = hashlib.sha256()
    for path in sorted(one for one in baked.rglob("*") if one.is_file()):
        digest.update(f"{path.relative_to(baked)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    (baked / _MARK).write_text(digest.hexdigest())


def unpack(baked: Path, cache: Path) -> bool:
    """Put it into `cache`, once for each image; whether anything was put there. What the cache holds besides stays.

    Times are kept: the class archive belongs to jars of one time. The mark comes last, so that what was broken off is
    done again.
    """
    if not (baked / _MARK).is_file() or _mark(cache) == _mark(baked):
        return False
    for folder, _, names in os.walk(baked):
        there = cache / Path(folder).relative_to(baked)
        there.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name != _MARK:
                _put(Path(folder) / name, there / name)
    _put(baked / _MARK, cache / _MARK)
    return True


def _mark(folder: Path) -> str | None:
    try:
        return (folder / _MARK).read_text()
    except FileNotFoundError:
        return None


def _put(source: Path, target: Path) -> None:
    """As a whole or not at all, even where another process reads it."""
    fresh = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    shutil.copyfile(source, fresh)
    shutil.copystat(source, fresh)
    fresh.chmod(0o644)
    os.replace(fresh, target)


if __name__ == "__main__":
    bake(user_cache_directory(), directory())
