"""What is made of a plan, kept for the next one who asks with the same plan: every partition does."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")

KEPT = 2048
"""The most plans, and things made of plans, that are kept of a kind."""


class Same(Generic[T]):
    """A key that is equal to another one only if it holds the same object. Plans of `1` and `1.0` are equal."""

    __slots__ = ("one",)

    def __init__(self, one: T) -> None:
        self.one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.one is other.one

    def __hash__(self) -> int:
        return id(self.one)
