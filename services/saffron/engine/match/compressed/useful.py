"""Taking out of a graph the nodes from which its end cannot be reached (kernel helper)."""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable


@jitable
def keep_useful(
    start: int, stop: int, begun: int, edges: int,
    scratch: Any, component: Any, place: Any, root: Any, before: Any,
) -> tuple[int, int]:  # fmt: skip
    """Keep the nodes of [start, stop) on a path to the last one, the end, and their edges [begun, edges).

    Returns the new ends of both. `scratch`: two int64 arrays by node: first whether it is of use, then its new number;
    and where its edges begin, counted from `begun`. Nodes that are kept keep their order.
    """
    number, entry = scratch
    count = stop - start
    entry[count] = edges - begun
    for k in range(count - 1):
        number[k] = 0
    number[count - 1] = 1
    for k in range(count - 1, -1, -1):
        if number[k] != 0:
            for edge in range(begun + entry[k], begun + entry[k + 1]):
                number[before[edge]] = 1
    kept, at = 0, begun
    for k in range(count):
        if number[k] == 0:
            continue
        low, high = begun + entry[k], begun + entry[k + 1]
        number[k] = kept
        entry[kept] = at - begun
        component[start + kept] = component[start + k]
        place[start + kept] = place[start + k]
        root[start + kept] = root[start + k]
        for edge in range(low, high):
            before[at] = number[before[edge]]
            at += 1
        kept += 1
    return start + kept, at
