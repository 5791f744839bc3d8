"""The sizes of the rows of a query's store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """The sizes of a query's rows.

    By key: `totals` (pending ones besides), `lists`, negatives and their totals. By window: numbers and extremes. By
    vertex: columns of marks and stored attributes. `windows`: slots. `unlimited`: EXACT. `fixed`: the number of slots
    never changes. `cells`: of the matrix of a pane, 0 where windows share none.
    """

    windows: int
    numbers: int
    extremes: int
    totals: int
    lists: int
    trees: int
    negatives: int
    negative_totals: int
    marks: int
    stored: int
    unlimited: bool
    fixed: bool
    cells: int

    @property
    def lasting(self) -> dict[tuple[str, int], int]:
        """Sizes of the store's arrays by name and axis, of those that never change."""
        of_slots = {"totals": 3, "total_scales": 3, "total_extremes": 3, "where": 1, "slots": 0}
        of_slots |= {f"{name}{part}": 2 for name in ("count", "sum") for part in ("s", "_scales", "_extremes")}
        sizes = dict.fromkeys(of_slots.items(), self.windows) if self.fixed else {}
        for name in ("totals", "total_scales", "counts", "count_scales", "sums", "sum_scales"):
            sizes[name, of_slots[name] - 1] = self.numbers
        for name in ("total_extremes", "count_extremes", "sum_extremes"):
            sizes[name, of_slots[name] - 1] = self.extremes
        for name in ("entry", "out"):
            sizes |= {(f"{name}_numbers", 1): self.numbers, (f"{name}_scales", 1): self.numbers}
            sizes[f"{name}_extremes", 1] = self.extremes
        sizes |= {(name, 1): self.totals for name in ("totals", "total_scales", "total_extremes")}
        if self.cells:
            sizes |= {(f"total{part}", 3): self.cells for part in ("s", "_scales", "_extremes")}
            sizes |= {(f"total{part}", 1): 1 for part in ("s", "_scales", "_extremes")}
            sizes |= {(f"sum{part}", 2): 1 for part in ("s", "_scales", "_extremes")}
            sizes |= {("total_extremes", 2): self.extremes + 1, ("sum_extremes", 1): self.extremes + 1}
        sizes |= {("absent", 1): self.negatives, ("latest", 1): self.negative_totals}
        sizes |= {("marks", 1): self.marks, ("values", 0): self.stored}
        return {(f"store.{name}", axis): size for (name, axis), size in sizes.items()}
