"""Partition refinement: classes of equivalent items, as in the minimisation of automata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def refined(items: Iterable[Item], signature: Callable[[Item, dict[Item, int]], object]) -> dict[Item, int]:
    """Item -> class of equivalent items, by partition refinement; classes are numbered in the order of the items.

    `signature`: the value by which one round distinguishes items, given the classes so far.
    """
    classes = dict.fromkeys(items, 0)
    count = 0
    while True:
        numbers: dict[object, int] = {}
        classes = {item: numbers.setdefault(signature(item, classes), len(numbers)) for item in classes}
        if len(numbers) == count:
            return classes
        count = len(numbers)


def representatives(classes: dict[Item, int]) -> list[Item]:
    """The first item of each class, by number of the class."""
    found: dict[int, Item] = {}
    for item, number in classes.items():
        found.setdefault(number, item)
    return list(found.values())
