"""Constants of queries. Python takes true for 1 and false for 0; queries, and what is cached by their parts, do not."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class OfConstant:
    """A node of a tree that holds a constant; None is null. It equals a node with the same value, both truth values or
    neither."""

    value: int | float | str | bool | None
    is_truth: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_truth", isinstance(self.value, bool))
