"""The text of a module of kernels, as it is generated for a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

_NAME = re.compile(r"[A-Z]\w*")


@dataclass(frozen=True)
class KernelSource:
    """Python text with the kernel `entry`. `helpers`: modules whose public names it may use (`generated.load`)."""

    entry: str
    text: str
    helpers: tuple[ModuleType, ...] = ()


def constants_text(text: str, *namespaces: Mapping[str, object]) -> str:
    """Assignments of the constants that generated text names, so that it can be read: they cost nothing when compiled.

    A name that several namespaces have is that of the last one; one that none has is a helper's (`generated.load`).
    Names are looked for without word boundaries, which take five times as long. The end of a longer name may therefore
    be assigned, too.
    """
    known = {name: value for namespace in namespaces for name, value in namespace.items() if type(value) is int}
    named = dict.fromkeys(_NAME.findall(text))
    return "".join(f"{name} = {known[name]}\n" for name in named if name in known)


def kernel_head(name: str, arguments: Sequence[tuple[str, str]], returns: str = "int64") -> str:
    """The decorator and the `def` line of a kernel. `arguments`: names with Numba's types, a line each in the text."""
    width = max(len(kind) for _, kind in arguments) + 1
    kinds = "".join(f"        {kind + ',':<{width}}  # {argument}\n" for argument, kind in arguments)
    return (
        f"@kernel(\n    {returns}(\n{kinds}    )\n)\ndef {name}({', '.join(argument for argument, _ in arguments)}):\n"
    )
