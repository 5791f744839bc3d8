"""Cache content stored in a container image: machine code of kernels, Spark's jars and class archive.

Numba uses no cache that it cannot write to, and an image's files are read-only. So the image keeps a copy beside its
packages. A service copies it into its cache, a volume, before it loads any kernel.

    python -m saffron.runtime.local.baked

creates the copy in the image from the cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from saffron.runtime.process.config import user_cache_directory

_MARK = "baked"
"""Name of the file with the copy's digest, also in caches to which it was copied."""


def directory() -> Path:
    """The directory of the copy: beside the packages."""
    return Path(sys.prefix) / "baked"


def bake(cache: Path, baked: Path) -> None:
    """Moves the content of `cache` to `baked`, and replaces what was there."""
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
    """Copies it into `cache` once per image; whether anything was copied. Other cache content stays.

    Modification times are kept, since the class archive depends on those of the jars. The mark is written last, so that
    an interrupted copy is repeated.
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
    """Copies a file atomically, even while another process reads it."""
    fresh = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    shutil.copyfile(source, fresh)
    shutil.copystat(source, fresh)
    fresh.chmod(0o644)
    os.replace(fresh, target)


if __name__ == "__main__":
    bake(user_cache_directory(), directory())
