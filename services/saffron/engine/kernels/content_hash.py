"""The hash of the code that a kernel is made from: its module and all that this imports of the package.

Numba inlines other modules' functions into a kernel and freezes their constants, but asks only the kernel's own file
whether its entry in the cache on disk is stale.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from functools import cache
from pathlib import Path

# Imports inside functions and under TYPE_CHECKING are indented: a kernel sees nothing of them.
_IMPORT = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.MULTILINE)
_NAME = re.compile(r"\w+")
_BEGAN = time.time_ns()
"""The start of this process, in ns of the epoch."""


@cache
def stamp(module: str, file: str) -> str:
    """Digest of a module and of all that it imports of its own package tree, directly or not.

    `module`: its full name, which tells how far above `file` the tree begins.
    """
    path = Path(file)
    root = path.parents[module.count(".")]
    package = module.partition(".")[0]
    found = {path}
    waiting = [path]
    while waiting:
        more = _read(waiting.pop(), root, package)[1] - found
        found |= more
        waiting += more
    return hashlib.sha256(b"".join(sorted(_read(one, root, package)[0] for one in found))).hexdigest()


@cache
def _read(path: Path, root: Path, package: str) -> tuple[bytes, frozenset[Path]]:
    """Digest of a file, and the files below `root` from which it takes something: too many rather than too few. Of
    `package` alone: where it is installed others lie beside it, Numba among them, whose version Numba looks at itself.
    """
    text = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode())
    if path.stem != package and path.stat().st_ctime_ns > _BEGAN:
        # An upgrade has replaced what runs here. Nobody else may find machine code of the old text by the new one.
        digest.update(f"{os.getpid()} {_BEGAN}".encode())
    files: set[Path] = set()
    for source, names, module in _IMPORT.findall(text):
        if (module or source).partition(".")[0] != package:
            continue
        if module:
            files |= _file(module, root)
        else:
            for name in _NAME.findall(names):
                files |= _file(f"{source}.{name}", root) or _file(source, root)
    return digest.digest(), frozenset(files)


@cache
def _file(module: str, root: Path) -> frozenset[Path]:
    """The file of a module; none if it lies elsewhere."""
    path = root.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return frozenset(candidate for candidate in candidates if candidate.is_file())
