"""Parts of kernels on disk, as LLVM's bitcode: code that many generated kernels share is compiled once.

Numba keeps whole kernels only; four fifths of the time that one takes go by before LLVM sees it, in typing and lowering
its parts. A part that is kept is linked, and inlined, as if it had just been compiled: the machine code is the same.
Parts of trend queries are kept: without, a new one's first answer takes about twice the processor time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding as llvm
from numba.core.compiler import CompileResult
from numba.core.lowering import Environment

from saffron.engine.kernels.compiling import PartLibrary, become_callable


class PartCache:
    """The cache through which Numba loads and saves the overloads of one part.

    `made_from`: all that decides, with the function's name, what the function does. Parts of the same name and
    `made_from` are the same in all modules and processes.
    """

    def __init__(self, directory: Path, function: Callable[..., Any], made_from: str) -> None:
        self._directory = directory
        self._function = function
        self._made_from = made_from

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The part for these types of arguments; None if it is not there, or not legible."""
        try:
            name, described, signed, bitcode = pickle.loads(self._path(signature, target).read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, ValueError, IndexError):
            return None
        library = PartLibrary.of(target.codegen(), name, llvm.parse_bitcode(bitcode))
        environment = Environment(self._function.__globals__)
        entry = become_callable(described, environment, library, self._function.__module__)
        known = {
            "typing_context": target.typing_context,
            "target_context": target,
            "entry_point": entry,
            "type_annotation": "",
            "signature": signed,
            "objectmode": False,
            "lifted": (),
            "fndesc": described,
            "library": library,
            "environment": environment,
            "reload_init": [],
            "referenced_envs": (),
        }
        return CompileResult(**dict.fromkeys(CompileResult._fields) | known)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Save the compiled code. A disk that cannot be written to costs time later, and nothing else."""
        described, library = compiled.fndesc, compiled.library
        described.typemap = described.calltypes = None
        kept = library.name, described, compiled.signature, library.bitcode()
        path = self._path(signature, compiled.target_context)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(pickle.dumps(kept, protocol=-1))
            os.replace(temporary, path)

    def _path(self, signature: Any, target: Any) -> Path:
        arguments = signature if isinstance(signature, tuple) else signature.args
        made_by = numba.__version__, llvmlite.__version__, sys.implementation.cache_tag
        key = self._made_from, [str(one) for one in arguments], target.codegen().magic_tuple(), made_by
        return self._directory / f"{self._function.__name__}.{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}"
