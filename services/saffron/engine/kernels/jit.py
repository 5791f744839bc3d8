"""Numba kernels: the one way to make them, whether written by hand or generated per query (`generated`).

Numba's on-disk cache serves every later start, for as long as all that a kernel was made from has the same content.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any

import numba
from llvmlite.binding import add_symbol
from numba.core.cgutils import get_or_insert_function
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import builtin_registry, make_concrete_template
from numba.extending import register_jitable

from saffron.engine.kernels import no_blas, resolution
from saffron.engine.kernels.compiling import Kernel, PartKernel
from saffron.engine.kernels.content_hash import stamp
from saffron.engine.kernels.kernel_cache import KernelCache
from saffron.engine.kernels.numba_types import types
from saffron.engine.kernels.part_cache import PartCache

no_blas.leave_out()
resolution.remember()

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
_FROM_PYTHON: dict[str, Any] = {"no_cfunc_wrapper": True}
_ALONE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_directory = Path("~/.cache/saffron/kernels").expanduser()

Function = Callable[..., Any]


def use_directory(directory: Path) -> None:
    """Keep generated sources and their machine code here from now on (a shell calls this once, from its settings)."""
    global _directory
    _directory = directory


def directory() -> Path:
    """The directory of compiled kernels."""
    return _directory


def kernel(signature: object = None, *, at_once: bool = False, **options: object) -> Callable[[Function], Any]:
    """Decorator of a kernel, compiled (or loaded from the cache) on its first call; with a signature for that alone.

    `at_once`: with a signature, it is compiled now. `options`: of Numba; they stand before those that all kernels have.
    """

    def made(function: Function) -> Any:
        dispatcher = numba.njit(**(_OPTIONS | _FROM_PYTHON | options), pipeline_class=Kernel)(function)
        _keep(dispatcher, function)
        if signature is not None:
            waiting = _Waiting(dispatcher, signature)
            _waiting.append(waiting)
            if at_once:
                waiting.compile()
        return dispatcher

    return made


def _keep(dispatcher: Any, function: Function) -> None:
    """Keep the machine code of a kernel on disk, for other processes and later starts."""
    dispatcher._cache = KernelCache(function)
    dispatcher.compile = _no_collection()(dispatcher._cache.alone()(dispatcher.compile))


@contextmanager
def _no_collection() -> Iterator[None]:
    """A context without garbage collection: the compiler makes many objects and hardly any garbage, and collecting
    takes a fifth of its time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Waiting:
    """A kernel that is compiled for one signature, whatever it is first called with, and by whom."""

    def __init__(self, dispatcher: Any, signature: object) -> None:
        self._dispatcher = dispatcher
        self._signature = signature
        dispatcher._compile_for_args = self._called  # the functions that Numba calls where it finds no machine code
        dispatcher.get_call_template = self._typed  # and where another kernel calls this one

    def _called(self, *_: Any) -> Any:
        """The function to call instead, with the same arguments."""
        self.compile()
        return self._dispatcher

    def _typed(self, arguments: Any, keywords: Any) -> Any:
        self.compile()
        return self._dispatcher.get_call_template(arguments, keywords)

    @property
    def name(self) -> str:
        function = self._dispatcher.py_func
        return f"{function.__module__}.{function.__name__}"

    def compile(self) -> None:
        """Compile the kernel now, unless it was compiled before."""
        if self not in _waiting:
            return
        _waiting.remove(self)
        del self._dispatcher._compile_for_args, self._dispatcher.get_call_template
        self._dispatcher.compile(self._signature)
        self._dispatcher.disable_compile()


_waiting: list[_Waiting] = []


def prepare() -> None:
    """Compile or load all kernels with a signature that were not called yet.

    A service does so at its start, so that its stream never waits for a kernel.
    """
    while _waiting:
        _waiting[0].compile()


def unprepared() -> dict[str, Callable[[], None]]:
    """Compile functions by name: of each kernel with a signature that was not called yet, and of all parts."""
    waiting: dict[str, Callable[[], None]] = {one.name: one.compile for one in _waiting}
    return waiting | ({"parts": partial(compile_parts, tuple(_parts))} if _parts else {})


def inlined(function: Function, *, always: bool = True, literals: bool = True, made_from: str | None = None) -> Any:
    """Decorator of a part of kernels: compiled with its callers, and called from kernels only. It makes no arrays, so
    nothing counts references. `always` False: it is seldom called, and one copy of it is enough for a kernel.
    `literals` False: it is compiled once for all literals of a type. `made_from`: it is kept on disk, for all kernels
    that hold a part of this name which is made from the same.
    """
    part: Any = numba.njit(**_OPTIONS, **_ALONE, forceinline=always, _nrt=False, pipeline_class=PartKernel)(function)
    if made_from is not None:
        made_from = f"{made_from} {always} {stamp(__name__, __file__)}"
        part._cache = PartCache(_directory / "parts", function, made_from)
    if not literals:
        typed = part.get_call_template
        part.get_call_template = lambda arguments, keywords: typed(tuple(map(types.unliteral, arguments)), keywords)
    return part


def separate(signature: Any, *, later: bool = False) -> Callable[[Function], Function]:
    """Decorator of a part of kernels that is compiled once: they call it by its address.

    For what is long and seldom called: compiled into each kernel, such parts would take most of the compiler's time.
    It is compiled at import; with `later` when generated source is first loaded that has its module as a helper.
    """

    def made(function: Function) -> Function:
        """The function, now registered with Numba: kernels that call it get a call of a symbol, not its code.

        The symbol has the hash of all that the function is made from. Its address is known once the part is compiled.
        """
        name, path = function.__module__, function.__code__.co_filename
        symbol = f"{name}.{function.__qualname__}.{stamp(name, path)}"
        template = make_concrete_template(symbol, key=function, signatures=[signature])
        builtin_registry.register_global(function, types.Function(template))

        @lower_builtin(function, *signature.args)  # type: ignore[untyped-decorator]
        def _call(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
            convention = context.call_conv
            kind = convention.get_function_type(called.return_type, called.args)
            callee = get_or_insert_function(builder.module, kind, symbol)
            return convention.call_function(builder, callee, called.return_type, called.args, arguments)[1]

        _parts[function] = partial(_compile_part, function, signature, symbol)
        if not later:
            _parts.pop(function)()
        return function

    return made


_parts: dict[Function, Callable[[], None]] = {}
"""The compile function of each separate part that is not compiled yet."""
_compiling = RLock()


def _compile_part(function: Function, signature: Any, symbol: str) -> None:
    dispatcher = numba.njit(**_OPTIONS, **_ALONE, _nrt=False, pipeline_class=Kernel)(function)
    _keep(dispatcher, function)
    dispatcher.compile(signature)
    machine = dispatcher.overloads[signature.args]
    add_symbol(symbol, machine.library.get_pointer_to_function(machine.fndesc.llvm_func_name))


def compile_parts(values: Iterable[Any]) -> None:
    """Compile the parts among `values`, and all parts defined before them, which they may call."""
    with _compiling:
        wanted = {value for value in values if isinstance(value, FunctionType) and value in _parts}
        while wanted:
            part = next(iter(_parts))
            _parts.pop(part)()
            wanted.discard(part)


def jitable(function: Any = None, **options: object) -> Any:
    """Decorator of a function that kernels compile into themselves; it stays plain Python for everyone else."""
    mark = register_jitable(**options, **_ALONE, pipeline_class=PartKernel)
    return mark if function is None else mark(function)
