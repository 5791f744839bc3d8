"""Numba's choice of the implementation of each operation, remembered.

Typing a kernel asks for each `a[i]` and each `+` which of some dozens of implementations fits the types of its
arguments, trying them one after the other, and forgets the answer: a third of the time that a kernel takes to compile.
The answer follows from function, types of the arguments and the compiler's flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types.functions import BaseFunction

_FUNCTION: Any = BaseFunction
_FLAGS: Any = TargetConfig
_resolve = _FUNCTION.get_call_type
_known: dict[Any, tuple[BaseFunction, Any, Any]] = {}
"""By function, context, arguments and flags: the function itself, so that no other takes its `id`, the signature, and
the key of the implementation."""


def remember() -> None:
    """From now on all kernels of this process are typed so. Signatures and machine code are the same as without."""
    _FUNCTION.get_call_type = _resolved
    # Flags stand in keys of Numba's own tables, where all have one hash value and are compared by their properties.
    _FLAGS.__eq__ = _same
    _FLAGS.__hash__ = _hash


def _resolved(self: Any, context: Any, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
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


def _same(self: Any, other: object) -> Any:
    if not isinstance(other, TargetConfig):
        return NotImplemented
    return self._values == other._values or self.values() == other.values()


def _hash(self: Any) -> int:
    return hash(type(self).__name__)
