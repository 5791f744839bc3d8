"""What `engine.kernels` uses of Numba's internals is as it was when it was written.

A version of Numba that changed one of them fails here, with its name and what relies on it; nobody has to conclude it
from a crash. Texts are compared where we replace or copy a function, or rely on its steps or its private attributes.
Of all else arguments are enough.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import pytest

from saffron.engine import kernels

TEXTS = {
    "numba.core.base.BaseContext.insert_user_function": (
        "ede5261507a2",
        "compiling: a part becomes known to its callers",
    ),
    "numba.core.caching.Cache.__init__": ("fcac624d5b02", "kernel_cache: `_cache_file`"),
    "numba.core.caching.Cache._load_overload": ("fa926a535976", "kernel_cache: it asks `_cache_file.load`"),
    "numba.core.caching.IndexDataCacheFile.__init__": ("0bd70410d5ad", "kernel_cache: `_index_path`, `_source_stamp`"),
    "numba.core.caching.IndexDataCacheFile._load_index": (
        "27048a88ba1d",
        "kernel_cache: replaced by `_loaded`, which calls it",
    ),
    "numba.core.codegen.CodeLibrary.__init__": ("5b0033fddd4e", "compiling: `_codegen`, `_dynamic_globals`"),
    "numba.core.codegen.CodeLibrary.enable_object_caching": ("4cf49032c2e2", "compiling: of kernels on disk"),
    "numba.core.codegen.CPUCodegen._pass_builder": ("812fb268c9c2", "compiling: LLVM's own order of passes"),
    "numba.core.codegen.CPUCodegen._init": ("65421f6ddb30", "compiling: `_data_layout`"),
    "numba.core.codegen.CPUCodeLibrary.__init__": ("4ec17771a15f", "compiling: `_final_module`, `_shared_module`"),
    "numba.core.codegen.CPUCodeLibrary._finalize_dynamic_globals": (
        "a8632047dad1",
        "compiling: part of what we replace",
    ),
    "numba.core.codegen.CPUCodeLibrary._finalize_final_module": ("4a99fe85e44a", "compiling: replaced in PartLibrary"),
    "numba.core.codegen.CPUCodeLibrary._get_module_for_linking": ("a435429fba97", "compiling: what callers link"),
    "numba.core.codegen.CPUCodeLibrary._optimize_final_module": (
        "28f86c756b86",
        "compiling: replaced in both libraries",
    ),
    "numba.core.codegen.CPUCodeLibrary._optimize_functions": ("e59376e04b2c", "compiling: replaced in _Library"),
    "numba.core.codegen.CPUCodeLibrary.add_linking_library": (
        "4f5b54395367",
        "compiling: replaced in _Library, which calls it",
    ),
    "numba.core.codegen.CPUCodeLibrary.finalize": ("e8981536501e", "compiling: it calls what we replace"),
    "numba.core.compiler.CompileResult._rebuild": (
        "67c87148b328",
        "part_cache: load_overload does the same for a part",
    ),
    "numba.core.compiler.CompileResult._reduce": ("9afa7275887b", "part_cache: save_overload does the same for a part"),
    "numba.core.compiler.DefaultPassBuilder.define_nopython_lowering_pipeline": (
        "1f939f010817",
        "compiling: its passes copied",
    ),
    "numba.core.compiler.DefaultPassBuilder.define_typed_pipeline": ("fc7530066895", "compiling: its passes copied"),
    "numba.core.compiler.DefaultPassBuilder.define_untyped_pipeline": ("72e8dfc33226", "compiling: its passes copied"),
    "numba.core.dispatcher.Dispatcher.compile": (
        "a7888b6a3f50",
        "jit: replaced; it asks `_cache` and counts `_cache_hits`",
    ),
    "numba.core.dispatcher._DispatcherBase._compile_for_args": (
        "daaf23e57b30",
        "jit: replaced until a kernel is compiled",
    ),
    "numba.core.dispatcher._DispatcherBase.disable_compile": ("60a96e6ef08b", "jit: kernels have one signature"),
    "numba.core.dispatcher._DispatcherBase.get_call_template": (
        "b74e18c717d3",
        "jit: replaced until a kernel is compiled",
    ),
    "numba.core.extending.register_jitable": ("c5ca44078b32", "jit: `jitable` passes it options of the compiler"),
    "numba.core.targetconfig.TargetConfig.__init__": ("6b198dc80543", "resolution: `_values`"),
    "numba.core.typed_passes.BaseNativeLowering.run_pass": (
        "720a04549588",
        "compiling: replaced; it keeps `state.library`",
    ),
    "numba.core.types.functions.BaseFunction.__init__": ("4b81d1e10b73", "resolution: `_impl_keys`"),
    "numba.core.types.functions.BaseFunction.get_call_type": ("4d11dcdf7c33", "resolution: replaced"),
    "numba.np.arraymath._check_blas": ("9b01fd005ebc", "no_blas: that SciPy's BLAS is missing is no error"),
}
"""By name the first digits of the SHA-256 of its text, and the module that relies on it, and for what."""

ARGUMENTS: dict[str, str] = {
    "llvmlite.binding.add_symbol": "name, address",
    "llvmlite.binding.create_new_module_pass_manager": "",
    "llvmlite.binding.parse_bitcode": "bitcode",
    "llvmlite.ir.Constant": "typ, constant",
    "llvmlite.ir.DoubleType": "",
    "llvmlite.ir.FunctionType": "return_type, args",
    "llvmlite.ir.IntType": "bits",
    "llvmlite.ir.Undefined": "_Undefined",
    "llvmlite.ir.VectorType": "element, count",
    "numba._dynfunc.make_function": "builtin_function_or_method",
    "numba.core.base.BaseContext.cast": "self, builder, val, fromty, toty",
    "numba.core.base.BaseContext.get_abi_sizeof": "self, ty",
    "numba.core.base.BaseContext.get_constant": "self, ty, val",
    "numba.core.base.BaseContext.get_data_type": "self, ty",
    "numba.core.base.BaseContext.get_dummy_value": "self",
    "numba.core.base.BaseContext.get_value_type": "self, ty",
    "numba.core.base.BaseContext.make_array": "self, typ",
    "numba.core.caching.Cache.load_overload": "self, sig, target_context",
    "numba.core.caching.Cache.save_overload": "self, sig, data",
    "numba.core.caching.FunctionCache": "py_func",
    "numba.core.callconv.CPUCallConv.call_function": "self, builder, callee, resty, argtys, args",
    "numba.core.callconv.CPUCallConv.get_function_type": "self, restype, argtypes",
    "numba.core.cgutils.alloca_once_value": "builder, value",
    "numba.core.cgutils.get_or_insert_function": "module, fnty, name",
    "numba.core.cgutils.intp_t": "value",
    "numba.core.cgutils.pack_array": "builder, values",
    "numba.core.cgutils.raw_memcpy": "builder, dst, src, count, itemsize",
    "numba.core.cgutils.unpack_tuple": "builder, tup",
    "numba.core.codegen.CPUCodegen.magic_tuple": "self",
    "numba.core.codegen.JITCodeLibrary": "codegen, name",
    "numba.core.codegen.JITCodeLibrary.get_pointer_to_function": "self, name",
    "numba.core.compiler.CompilerBase": "typingctx, targetctx, library, args, return_type, flags, locals",
    "numba.core.compiler.CompilerBase.define_pipelines": "self",
    "numba.core.compiler_lock.global_compiler_lock": "func",
    "numba.core.compiler_machinery.PassManager": "pipeline_name",
    "numba.core.compiler_machinery.PassManager.add_pass": "self, pss",
    "numba.core.compiler_machinery.PassManager.finalize": "self",
    "numba.core.compiler_machinery.register_pass": "mutates_CFG, analysis_only",
    "numba.core.environment.Environment": "type",
    "numba.core.errors.NumbaError": "msg",
    "numba.core.imputils.lower_builtin": "func",
    "numba.core.lowering.Environment": "type",
    "numba.core.runtime.rtsys": "_Runtime",
    "numba.core.targetconfig.ConfigStack": "",
    "numba.core.targetconfig.ConfigStack.top_or_none": "",
    "numba.core.typed_passes.IRLegalization": "",
    "numba.core.typed_passes.NativeLowering": "",
    "numba.core.typed_passes.NoPythonBackend": "",
    "numba.core.typed_passes.NoPythonSupportedFeatureValidation": "",
    "numba.core.typed_passes.NopythonTypeInference": "",
    "numba.core.typed_passes.PreLowerStripPhis": "",
    "numba.core.types.unliteral": "lit_type",
    "numba.core.typing.templates.AbstractTemplate": "context",
    "numba.core.typing.templates.AttributeTemplate": "context",
    "numba.core.typing.templates.ConcreteTemplate": "context",
    "numba.core.typing.templates.Registry.register_global": "self",
    "numba.core.typing.templates.builtin_registry": "Registry",
    "numba.core.typing.templates.infer_global": "",
    "numba.core.typing.templates.make_concrete_template": "name, key, signatures",
    "numba.core.typing.templates.signature": "return_type",
    "numba.core.untyped_passes.DeadBranchPrune": "",
    "numba.core.untyped_passes.FixupArgs": "",
    "numba.core.untyped_passes.GenericRewrites": "",
    "numba.core.untyped_passes.IRProcessing": "",
    "numba.core.untyped_passes.ReconstructSSA": "",
    "numba.core.untyped_passes.RewriteSemanticConstants": "",
    "numba.core.untyped_passes.TranslateByteCode": "",
    "numba.extending.infer_getattr": "item",
    "numba.extending.intrinsic": "",
    "numba.extending.lower_builtin": "func",
    "numba.extending.lower_getattr_generic": "ty",
    "numba.extending.models.PrimitiveModel": "dmm, fe_type, be_type",
    "numba.extending.register_jitable": "",
    "numba.extending.register_model": "typecls",
    "numba.extending.type_callable": "func",
    "numba.np.arrayobj.make_array": "array_type",
    "numba.np.arrayobj.populate_array": "array, data, shape, strides, itemsize, meminfo",
    "numba.np.numpy_support.as_dtype": "nbtype",
    "numba.np.numpy_support.from_dtype": "dtype",
}
"""What is called or inherited, by name: its arguments; or the type of what has none."""
_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def found(name: str) -> Any:
    """The object of a full name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            here: Any = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            here = getattr(here, part)
        return here
    raise ImportError(name)


def looked_up(name: str, why: str) -> Any:
    try:
        return found(name)
    except (AttributeError, ImportError):
        pytest.fail(f"Numba {numba.__version__} has no {name} any more; engine.kernels needs it ({why})")


def digest(name: str, why: str) -> str:
    """Of a function or class as its module's file has it: what engine.kernels replaces is not what Numba has now."""
    inner = name.rpartition(".")[0]
    module = inspect.getmodule(looked_up(inner, why))
    assert module is not None
    source = inspect.getsource(module)
    here: Any = ast.parse(source)
    for part in name.removeprefix(f"{module.__name__}.").split("."):
        here = next((one for one in here.body if getattr(one, "name", None) == part), None)
        assert here is not None, f"Numba {numba.__version__} has no {name} any more; engine.kernels needs it ({why})"
    return hashlib.sha256((ast.get_source_segment(source, here) or "").encode()).hexdigest()[:12]


def arguments(thing: Any) -> str:
    """As a text, without defaults: a new argument with one changes nothing for us."""
    try:
        known = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return type(thing).__name__
    return ", ".join(one.name for one in known if one.default is one.empty and one.kind not in _ANY_NUMBER)


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_what_is_replaced_or_copied_has_not_changed(name: str) -> None:
    wanted, why = TEXTS[name]
    now = digest(name, why)
    assert now == wanted, (
        f"Numba {numba.__version__} changed {name}, on which engine.kernels.{why} relies. "
        f"Read the change, adapt that module, then write {now!r} here."
    )


@pytest.mark.parametrize("name", ARGUMENTS)
def test_what_is_called_takes_the_same_arguments(name: str) -> None:
    now = arguments(looked_up(name, "called"))
    assert now == ARGUMENTS[name], (
        f"Numba {numba.__version__} changed the arguments of {name}: they were ({ARGUMENTS[name]}), now ({now}). "
        f"Adapt what calls it in engine.kernels."
    )


@pytest.mark.parametrize("option", ["forceinline", "no_cfunc_wrapper", "no_compile", "no_cpython_wrapper", "nrt"])
def test_the_compiler_has_the_flags_that_kernels_set(option: str) -> None:
    known = looked_up("numba.core.compiler.Flags", "flags").options
    assert option in known, f"Numba {numba.__version__} has no flag {option} any more; engine.kernels sets it"


def test_nothing_is_used_that_is_not_pinned_here() -> None:
    pinned = ARGUMENTS.keys() | {name.rpartition(".")[0] for name in TEXTS}
    for path in sorted(Path(kernels.__path__[0]).glob("*.py")):
        loose = sorted(set(used(ast.parse(path.read_text(encoding="utf-8")))) - pinned)
        assert not loose, f"{path.name} uses {', '.join(loose)}, which no test here pins"


def used(tree: ast.Module) -> Iterator[str]:
    """The full names of what a module uses of Numba's and llvmlite's packages; Numba's public names are left out."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in {"numba", "llvmlite"}:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if inspect.ismodule(found(name)):
                    modules[alias.asname or alias.name] = name
                elif node.module != "numba":
                    yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield f"{modules[node.value.id]}.{node.attr}"
