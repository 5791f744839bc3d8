"""Numba kernels: the one way to make them, whether written by hand or generated per query (design rule 5).

Generated source goes to a content-hashed file, so that Numba's on-disk cache serves every later start. The same source
runs without the JIT (`compiled=False`), which is how random tests cover thousands of queries in seconds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}
_FORMAT = 1  # raise when the way in which sources are compiled changes: old cache entries are then not used

_directory = Path("~/.cache/saffron/kernels").expanduser()

Function = Callable[..., Any]


def use_directory(directory: Path) -> None:
    """Keep generated sources and their machine code here from now on (a shell calls this once, from its settings)."""
    global _directory
    _directory = directory


def kernel(*signature: object) -> Callable[[Function], Any]:
    """Decorator of a kernel. With a signature it is compiled (or loaded from the cache) at once, else on first call."""
    return numba.njit(*signature, **_OPTIONS)  # type: ignore[no-any-return]


def _plain(*signature: object) -> Callable[[Function], Function]:
    return lambda function: function


def load(source: str, *, helpers: Sequence[ModuleType] = (), compiled: bool = True) -> ModuleType:
    """The module made from `source`, in which `kernel` and the public functions of `helpers` are predefined.

    `source` decorates its entry points with `@kernel(signature)`; with `compiled` False everything, helpers included,
    is plain Python. The name of the file hashes the helpers' source too: Numba does not notice when a called function
    in another file changes.
    """
    if not compiled:
        plain = ModuleType("plain_kernel")
        plain.__dict__.update(_predefined(helpers, compiled=False))
        exec(compile(source, plain.__name__, "exec"), plain.__dict__)
        return plain
    path = _write(source, helpers)
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(_predefined(helpers, compiled=True))
    sys.modules[path.stem] = module  # Numba finds the globals of cached code by its module's name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def _predefined(helpers: Sequence[ModuleType], *, compiled: bool) -> dict[str, Any]:
    names: dict[str, Any] = {"kernel": kernel if compiled else _plain}
    for helper in helpers:
        for name, value in vars(helper).items():
            if not name.startswith("_"):
                names[name] = value.py_func if isinstance(value, Dispatcher) and not compiled else value
    return names


def _write(source: str, helpers: Sequence[ModuleType]) -> Path:
    digest = hashlib.sha256(f"{_FORMAT}\n{source}".encode())
    for helper in helpers:
        assert helper.__file__ is not None
        digest.update(Path(helper.__file__).read_bytes())
    path = _directory / f"kernel_{digest.hexdigest()[:32]}.py"
    if not path.exists():
        _directory.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=_directory, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            file.write(source)
        try:
            # The first writer wins: writing a file anew would change its time, and Numba would drop its cache entry.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    return path
