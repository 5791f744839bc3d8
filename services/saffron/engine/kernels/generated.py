"""Kernels from generated source: a module of Python in a file that is named after all that it is made from.

The same source runs without the JIT (`compiled=False`): so random tests cover thousands of queries in seconds, and a
new query answers before it is compiled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher

from saffron.engine.kernels import jit
from saffron.engine.kernels.content_hash import stamp
from saffron.engine.kernels.jit import Function, compile_parts, inlined, kernel
from saffron.engine.kernels.kernel_source import KernelSource


def load(
    source: str,
    *,
    helpers: Sequence[ModuleType] = (),
    functions: Mapping[str, Function] = MappingProxyType({}),
    compiled: bool = True,
) -> ModuleType:
    """The module made from `source`, in which `kernel`, `inlined` and the public names of `helpers` are predefined.

    `source` decorates its entry points with `@kernel(signature)`. With `compiled` False everything is plain Python,
    helpers included: of one with `AS_PYTHON`, that module is taken. The name of the file hashes the content of all that
    the helpers are made from. `functions`: names that are predefined besides; what they do must follow from theirs.
    """
    if not compiled:
        plain = ModuleType("plain_kernel")
        plain.__dict__.update(_predefined(helpers, compiled=False), **functions)
        exec(_code(source), plain.__dict__)
        return plain
    for helper in helpers:
        compile_parts(vars(helper).values())
    path = _write(source, helpers)
    if path.stem in sys.modules:
        return sys.modules[path.stem]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(_predefined(helpers, compiled=True), **functions)
    sys.modules[path.stem] = module  # Numba finds the globals of cached code by its module's name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    return module


def loaded(
    source: KernelSource, *, functions: Mapping[str, Function] = MappingProxyType({}), compiled: bool = True
) -> Function:
    """The entry point of a source."""
    module = load(source.text, helpers=source.helpers, functions=functions, compiled=compiled)
    made: Function = getattr(module, source.entry)
    return made


def module_name(source: KernelSource) -> str:
    """The name of its module: it follows from the content of all that it is made from."""
    return _path(source.text, source.helpers).stem


def is_kept(source: KernelSource) -> bool:
    """True if its machine code is loaded, or on disk. That may be stale all the same, and is then made anew."""
    path = _path(source.text, source.helpers)
    if path.stem in sys.modules:
        return True
    return path.exists() and any((path.parent / "__pycache__").glob(f"{path.stem}.{source.entry}-*.nbi"))


def _at_once(signature: object = None, **options: object) -> Callable[[Function], Any]:
    """A form of `kernel` that compiles at once if it has a signature, since loading happens where nobody waits.

    Its kernels make no arrays.
    """
    return kernel(signature, at_once=True, **({"_nrt": False} | options))


def _plain(signature: object = None, **options: object) -> Callable[[Function], Function]:
    return lambda function: function


@lru_cache(maxsize=128)
def _code(source: str) -> CodeType:
    """The Python bytecode of a kernel's text, kept since one text is loaded again and again."""
    return compile(source, "plain_kernel", "exec")


def _predefined(helpers: Sequence[ModuleType], *, compiled: bool) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for helper in helpers if compiled else [getattr(one, "AS_PYTHON", one) for one in helpers]:
        for name, value in vars(helper).items():
            if not name.startswith("_"):
                names[name] = value.py_func if isinstance(value, Dispatcher) and not compiled else value
    decorators = {"kernel": _at_once, "inlined": inlined} if compiled else {"kernel": _plain, "inlined": _plain()}
    return names | decorators


def _path(source: str, helpers: Sequence[ModuleType]) -> Path:
    digest = hashlib.sha256(source.encode())
    for module in (jit, sys.modules[__name__], *helpers):
        assert module.__file__ is not None
        digest.update(stamp(module.__name__, module.__file__).encode())
    return jit.directory() / f"kernel_{digest.hexdigest()[:32]}.py"


def _write(source: str, helpers: Sequence[ModuleType]) -> Path:
    """The path of a source's file, which is written if it is not there.

    Another process may write it at the same time: a file appears whole, and is never replaced.
    """
    path = _path(source, helpers)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            file.write(source)
        try:
            # The first writer wins: writing a file again would change its time, and Numba would drop its cache entry.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    return path
