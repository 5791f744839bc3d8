"""The events of a step kernel over a block's own columns: most are passed over after a glance at their mask.

Only an event that some run has bound gets a row. One that begins no run and whose key has none is left out; where no
run is alive at all its key is not even looked up.
"""

from __future__ import annotations

from collections.abc import Callable

from saffron.engine.match.core.step_text import CONTIGUOUS, StepText
from saffron.engine.match.flat.given_events import ARRAYS, Events
from saffron.schema.schema import Kind

GROW_KEYS = -2
"""A return code beside those of other step kernels: the table of keys must grow."""

LEFT_OUT = -1
"""The mask of an event that is not to be delivered."""

COUNT, HEAD = range(2)  # places of `progress`: events kept so far, the row of the first


class ScannedEvents(Events):
    """`Events` w of the block, kept ones in `selected` with the slot of their key.

    Event w has key keys[:, w]; or, where `slot_of` is not empty, keys[:, which[w]], whose slot that has (-1: none yet).
    """

    arrays = (
        ("progress", "int64[::1]"),
        ("keys", "int64[:, ::1]"),
        ("which", "column(int32)"),
        ("slot_of", "int64[::1]"),
        ("table", "int64[::1]"),
        ("held", "int64[:, ::1]"),
        ("free", "int64[::1]"),
        ("numbers", "int64[::1]"),
        ("selected", "int64[::1]"),
        ("slots", "int64[::1]"),
        ("masks", "int64[::1]"),
        ("ordinals", "int64[::1]"),
        ("now", "column(int64)"),
        *ARRAYS[5:],  # from `until` on
    )

    constants = globals()
    head = '\nfrom numba import types\n\n\ndef column(dtype):\n    return types.Array(dtype, 1, "C", readonly=True)'

    def __init__(self, text: StepText) -> None:
        self._text = text

    def column(self, kind: Kind) -> str:
        return f"column({kind.dtype})"

    def prologue(self) -> None:
        self._text.out("count, head, coded = progress[COUNT], progress[HEAD], len(slot_of) > 0")

    def epilogue(self) -> None:
        self._text.out("progress[COUNT] = count")

    def event(self, contiguity: Callable[[], None]) -> None:
        """Write the code that reads event w, or passes over the event if it can begin, extend or end no run.

        A new key of an event that begins a run gets a slot; the kernel stops with GROW_KEYS if there is no room.
        """
        text, out = self._text, self._text.out
        alive = " + ".join(f"live{state.index}" for state in text.states) or "0"
        mine = " + ".join(f"G{state.index}[slot, LENGTH]" for state in text.states) or "0"
        never = "m == LEFT_OUT" if text.strategy in CONTIGUOUS else "m <= 0"
        out("m = masks[w]")
        out(f"if {never} or (m & BEGIN_0 == 0 and {alive} == 0):")
        out("    w += 1")
        out("    continue")
        out("key = np.int64(which[w]) if coded else w")
        out("slot = slot_of[key] if coded else table[place_of(keys, w, table, held)]")
        out(f"if m & BEGIN_0 == 0 and (slot < 0 or {mine} == 0):")
        out("    w += 1")
        out("    continue")
        out("if slot < 0:")
        with out.block():
            out("slot = make_slot(keys, key, place_of(keys, key, table, held), table, held, free, numbers)")
            out("if slot < 0:")
            out("    status = GROW_KEYS")
            out("    break")
            out("if coded:")
            out("    slot_of[key] = slot")
        contiguity()
        out("row, r, t = head + count, w, now[w]")

    def kept(self) -> None:
        self._text.out("made, told = node, matches")

    def done(self) -> None:
        """Write the code that keeps an event only if a run has bound it."""
        out = self._text.out
        out("if node != made or matches != told:")
        with out.block():
            out("selected[count], slots[count], node_at[count] = w, slot, made")
            out("touched[slot] = row")
            out("count += 1")
        out("w += 1")
