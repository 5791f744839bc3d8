"""Numba's choice of the implementation of each operation, remembered.

For each `a[i]` and each `+` of a kernel, Numba tries some dozens of implementations one after the other until one fits
the types of the arguments, and forgets the answer. The answer follows from function, types of the arguments and the
compiler's flags. Without this module the first answer of a new query takes a fifth more processor time (median of 36
queries, each beside the same with it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction

_FUNCTION: Any = BaseFunction
_resolve = _FUNCTION.get_call_type
_known: dict[Any, tuple[BaseFunction, Any, Any]] = {}
"""(function, context, arguments, flags) -> the function, its signature, and the key of its implementation.

The function is kept so that no other one takes its `id`.
"""


def remember() -> None:
    """Have Numba remember resolved calls in this process. Signatures and machine code do not change."""
    _FUNCTION.get_call_type = _resolved


def _resolved(self: Any, context: Any, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
    """The signature of a call, in place of Numba's `get_call_type`. None: nothing fits, and that is not remembered."""
    flags = ConfigStack.top_or_none()
    key = id(self), context, tuple(args), tuple(kws.items()), None if flags is None else repr(flags._values)
    known = _known.get(key)
    if known is None:
        signature = _resolve(self, context, args, kws)
        if signature is not None:
            _known[key] = self, signature, self._impl_keys[signature.args]
        return signature
    _, signature, implementation = known
    self._impl_keys[signature.args] = implementation  # other flags may have put another one there
    return signature
