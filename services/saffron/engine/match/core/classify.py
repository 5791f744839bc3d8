"""The classification of events for a query, by type and own attributes alone: a mask of bits, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from saffron.engine.kernels.kernel_source import kernel_head
from saffron.engine.match.core.automaton import Automaton
from saffron.engine.match.core.kernel_layout import EventReader, Names, begin_bit, take_bit
from saffron.engine.match.core.source.expressions import Writer
from saffron.engine.match.core.source.lines import Lines
from saffron.language.plan.expressions import Expr
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Edge
from saffron.schema.event_types import EventTypes, one_type
from saffron.schema.schema import Kind

OPENS = 1 << 61
"""The event opens a window (OPEN ON)."""


@dataclass(frozen=True)
class TypeMasks:
    """The bits that an event has by its type, before conditions are evaluated.

    `named`: by event type that the pattern or OPEN ON names. `other`: of events of all other types.
    """

    named: Mapping[str, int]
    other: int

    def of(self, name: str) -> int:
        """The bits of events of a type."""
        return self.named.get(name, self.other)


def masks_of(plan: MatchPlan, bits: Iterable[int]) -> TypeMasks:
    """The masks of a plan. `bits`: by component, those of its events."""
    sets = [(component.types, own) for component, own in zip(plan.components, bits, strict=True)]
    if plan.window.opens is not None:
        sets.append((one_type(plan.window.opens.type), OPENS))

    def mask(types: EventTypes) -> int:
        return sum({own for one, own in sets if one.holds(types)})

    names = {name for one, _ in sets for name in one.named}
    return TypeMasks({name: mask(one_type(name)) for name in names}, mask(EventTypes(tuple(names), others=True)))


def type_masks(automaton: Automaton) -> TypeMasks:
    """The masks of a flat plan."""
    closures = [component.closure for component in automaton.plan.components]
    bits = [begin_bit(index) | (take_bit(index) if closure else 0) for index, closure in enumerate(closures)]
    return masks_of(automaton.plan, bits)


def bit_tests(automaton: Automaton) -> Mapping[int, list[Expr]]:
    """Bit -> the local conditions without which an event does not keep it."""
    tests: dict[int, list[Expr]] = {}
    for condition in automaton.plan.conditions:
        if automaton.is_local(condition):
            bit = (begin_bit if condition.edge is Edge.BEGIN else take_bit)(condition.component)
            tests.setdefault(bit, []).append(condition.expr)
    return tests | opening_test(automaton.plan)


def opening_test(plan: MatchPlan) -> dict[int, list[Expr]]:
    """The condition of OPEN ON."""
    opens = plan.window.opens
    return {} if opens is None or opens.expr is None else {OPENS: [opens.expr]}


def classify_source(tests: Mapping[int, list[Expr]], names: Names) -> str | None:
    """The module of the kernel that takes away the bits whose conditions fail; None where there are none."""
    writer = Writer(EventReader(names), names.constant)
    if not tests:
        return None
    written = {bit: [writer.condition(expr) for expr in exprs] for bit, exprs in tests.items()}
    out = Lines(depth=1)
    out("for i in range(len(masks)):")
    out("    m = bits[codes[i]]")
    out("    if m != 0:")
    with out.block(2):
        for number, kind in enumerate(names.attributes.values()):
            text = f"c{number}[i]" if not kind.has_texts else f"g{number}[c{number}[i]]"
            out(f"x{number} = {text}" if kind is Kind.FLOAT else f"x{number} = np.int64({text})")
        for bit, conditions in written.items():
            out(f"if not ({' & '.join(conditions)}):")
            out(f"    m &= ~(1 << {bit.bit_length() - 1})")
    out("    masks[i] = m")
    return _module(names, out)


def _module(names: Names, body: Lines) -> str:
    """The text of the module of `classify`: imports, signature and `body`.

    Of attribute n with texts, argument c<n> has the block's codes, and g<n> maps them to the operator's codes.
    """
    whole = "int64[::1]"
    arguments = [("codes", "column(int32)"), *((name, whole) for name in ("bits", "constants", "ranks", "masks"))]
    for number, kind in enumerate(names.attributes.values()):
        arguments.append((f"c{number}", f"column({kind.dtype})"))
        if kind.has_texts:
            arguments.append((f"g{number}", "int32[::1]"))
    return (
        "import math\n\nimport numpy as np\nfrom numba import float64, int8, int32, int64, types, void\n\n\n"
        'def column(dtype):\n    return types.Array(dtype, 1, "C", readonly=True)\n\n\n'
        f"{kernel_head('classify', arguments, 'void')}{body}"
    )
