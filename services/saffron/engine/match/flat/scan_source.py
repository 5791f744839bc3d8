"""The step kernel over a block's own columns: most events are passed over after a glance at their mask.

It differs from `StepSource` in where an event comes from, and in that only an event that some run has bound gets a row.
One that begins no run and whose key has none is left out; where no run is alive at all its key is not even looked up.
"""

from __future__ import annotations

from saffron.engine.match.flat.actions import CONTIGUOUS
from saffron.engine.match.flat.step_source import ARRAYS, StepSource

GROW_KEYS = -2
"""What the kernel returns, besides what other step kernels do: the table of keys must grow."""

LEFT_OUT = -1
"""The mask of an event that is not to be delivered."""

COUNT, HEAD = range(2)  # places of `progress`: events kept so far, the row of the first


class ScanSource(StepSource):
    """Writes one such kernel: events w of the block, kept ones in `selected` with the slot of their key.

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

    namespaces = (*StepSource.namespaces, globals())

    def text(self) -> str:
        """The module: imports, signature and the kernel."""
        head, kernel = super().text().split("\n\n\n", 1)
        column = 'def column(dtype):\n    return types.Array(dtype, 1, "C", readonly=True)'
        return f"{head}\nfrom numba import types\n\n\n{column}\n\n\n{kernel}"

    def _columns(self) -> list[tuple[str, str]]:
        kinds = enumerate(self.names.attributes.values())
        return [(f"c{n}", f"column({kind.dtype})") for n, kind in kinds]

    def _prologue(self) -> None:
        self.out("count, head, coded = progress[COUNT], progress[HEAD], len(slot_of) > 0")
        super()._prologue()

    def _epilogue(self) -> None:
        self.out("progress[COUNT] = count")
        super()._epilogue()

    def _event(self) -> None:
        out = self.out
        alive = " + ".join(f"live{state.index}" for state in self.states) or "0"
        mine = " + ".join(f"G{state.index}[slot, LENGTH]" for state in self.states) or "0"
        never = "m == LEFT_OUT" if self.strategy in CONTIGUOUS else "m <= 0"
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
        self._contiguity()
        out("row, r, t = head + count, w, now[w]")

    def _kept(self) -> None:
        self.out("made, told = node, matches")

    def _done(self) -> None:
        """An event that no run has bound leaves nothing behind."""
        out = self.out
        out("if node != made or matches != told:")
        with out.block():
            out("selected[count], slots[count], node_at[count] = w, slot, made")
            out("touched[slot] = row")
            out("count += 1")
        out("w += 1")
