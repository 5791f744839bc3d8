"""A compile pipeline for Numba in which the functions that a kernel calls are compiled once, together with the kernel.

By default Numba brings each function to machine code by itself, with all that it calls inside it, before the function
becomes part of its callers. The last function of a chain of ten calls is then optimised ten times. Here a *part* is
only made ready to be inlined. Passes for closures, literal unrolling and array expressions are left out: our kernels
contain none.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import binding as llvm
from numba import _dynfunc
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import Environment
from numba.core.runtime import rtsys


class _Library(JITCodeLibrary):
    """Code without reference counts: optimised as a whole, when all that it calls has become part of it."""

    def add_linking_library(self, library: Any) -> None:
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        builder = self._codegen._pass_builder()
        passes.run(self._final_module, builder)
        builder.getModulePassManager().run(self._final_module, builder)


class PartLibrary(_Library):
    """Code that is only ever linked into other code."""

    @classmethod
    def of(cls, codegen: Any, name: str, module: Any) -> PartLibrary:
        """The library of a part that has been compiled before, from the module of its `bitcode`."""
        library = cls(codegen, name)
        library._final_module = library._shared_module = module
        library._finalized = True
        return library

    def bitcode(self) -> bytes:
        """The optimised code as LLVM bitcode, which callers link."""
        code: bytes = self._get_module_for_linking().as_bitcode()
        return code

    def _optimize_final_module(self) -> None:
        """Inline the part's callees and simplify it, as each of its callers would have to."""
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):
    """The Numba pass that lowers a kernel to machine code, without reference counts where it can."""

    _name = "saffron_lowering"

    def run_pass(self, state: Any) -> bool:
        if not state.flags.nrt:
            state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        return done


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(typed_passes.NativeLowering):
    """The Numba pass that lowers a part to LLVM's language only: its callers make machine code of it."""

    _name = "saffron_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a part to LLVM's language, and make it known to Numba as a function to inline.

        True, always: the pass has changed the state.
        """
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        described = state.cr.fndesc
        # Kernels keep with them, on disk, what Numba knows as environments of their parts. This one may be in the file
        # of another kernel, which later is not loaded; without Python objects a part never reads its own.
        Environment._memo.pop(state.cr.env.env_name, None)
        entry = become_callable(described, state.cr.env, state.library, described.modname)
        state.targetctx.insert_user_function(entry, described, [state.library])
        state.cr = state.cr._replace(cfunc=entry)
        return True


def become_callable(described: Any, environment: Any, library: PartLibrary, module: str) -> Any:
    """The Python function object under which Numba knows a compiled part, so that kernels can call it.

    Its entry point is null, since a part is only inlined: Python must not call it. `described`: Numba's description
    of the part, `module`: name of the module that defines it.
    """
    name = described.qualname
    return _dynfunc.make_function(sys.modules[module], name, name, 0, environment, (library,))


_BEFORE = (
    (untyped_passes.TranslateByteCode, "analyzing bytecode"),
    (untyped_passes.FixupArgs, "fix up args"),
    (untyped_passes.IRProcessing, "processing IR"),
    (untyped_passes.RewriteSemanticConstants, "rewrite semantic constants"),
    (untyped_passes.DeadBranchPrune, "dead branch pruning"),
    (untyped_passes.GenericRewrites, "nopython rewrites"),
    (untyped_passes.ReconstructSSA, "ssa"),
    (untyped_passes.DeadBranchPrune, "dead branch pruning"),
    (typed_passes.NopythonTypeInference, "nopython frontend"),
    (typed_passes.PreLowerStripPhis, "remove phis nodes"),
    (typed_passes.NoPythonSupportedFeatureValidation, "ensure features that are in use are in a valid form"),
    (typed_passes.IRLegalization, "ensure IR is legal prior to lowering"),
)


class Kernel(CompilerBase):
    """A pipeline of Numba for functions, without passes that our kernels do not need."""

    lowering: Any = _Lowering

    def define_pipelines(self) -> list[Any]:
        passes = PassManager("saffron")
        after = ((self.lowering, "native lowering"), (typed_passes.NoPythonBackend, "nopython mode backend"))
        for one, text in (*_BEFORE, *after):
            passes.add_pass(one, text)
        passes.finalize()
        return [passes]


class PartKernel(Kernel):
    """The compiler of parts: functions that are only inlined into kernels."""

    lowering = _PartLowering
