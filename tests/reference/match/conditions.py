"""Conjuncts of WHERE, asked of what a run has taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from saffron.language.syntax import tree
from saffron.language.syntax.tree import Index
from tests.reference.match.events import Bindings, Bound, Event
from tests.reference.match.shape import Leaf, Pattern
from tests.reference.match.values import Aggregates, aggregate, at_steps, value
from tests.reference.rewritten import rewritten

Find = Callable[[tree.Reference], tuple[Leaf, Sequence[Bound], int]]
"""A reference -> its component, what that has bound, and which of these v[i] is."""

TAKING = (Index.CURRENT, Index.PREVIOUS, Index.BEFORE, Index.THROUGH)
FINISHED = (Index.LAST, Index.ALL)  # v.len is one of them


@dataclass(frozen=True)
class Condition:
    """`taking`: components read as the event being taken; `finished`: those whose complete list is read.

    `numbered`: components of which the n-th event is read, with n.
    `events`: components of which an event is read, not only an aggregate over the list or its length.
    `focus`: that of `taking` which lies in the most repetitions: the condition is asked of each of its events.
    """

    expression: tree.Expression
    references: tuple[tuple[tree.Reference, Leaf], ...]
    taking: tuple[Leaf, ...]
    finished: tuple[Leaf, ...]
    numbered: tuple[tuple[Leaf, int], ...]
    events: frozenset[int]
    focus: Leaf | None


@dataclass(frozen=True)
class Pair:
    """A.x beside NEXT(B).x, as aggregate queries write it: asked of each event of `earlier` (a component's number) and
    the event taken directly after it, where that is one of `later`.
    """

    expression: tree.Expression
    earlier: int
    later: int


def pairs_hold(pairs: Sequence[Pair], bindings: Bindings) -> bool:
    return not any(
        value(pair.expression, _PairReader(before, after)) is not True
        for before, after in pairwise(bindings)
        for pair in pairs
        if (pair.earlier, pair.later) == (before.leaf, after.leaf)
    )


@dataclass(frozen=True)
class _PairReader:
    before: Bound
    after: Bound

    def __call__(self, expression: tree.Reference | tree.Next) -> Any:
        bound = self.after if isinstance(expression, tree.Next) else self.before
        return bound.event.get(str(expression.attribute))


def references(expression: tree.Expression) -> Iterator[tree.Reference]:
    if isinstance(expression, tree.Reference):
        yield expression
    for operand in tree.operands(expression):
        yield from references(operand)


def is_length(reference: tree.Reference, leaf: Leaf) -> bool:
    return bool(leaf.loops) and reference.index is Index.NONE and (reference.attribute or "").lower() == "len"


def condition(expression: tree.Expression, pattern: Pattern) -> Condition:
    """Raises ValueError for a conjunct that has no meaning."""
    read = tuple((reference, pattern.leaf(reference.variable)) for reference in references(expression))
    for reference, leaf in read:
        if bool(leaf.loops) == (reference.index is Index.NONE) and not is_length(reference, leaf):
            raise ValueError(f"{leaf.variable} is {'a list' if leaf.loops else 'one event'}")
    taking = tuple(leaf for reference, leaf in read if reference.index in TAKING)
    finished = tuple(leaf for reference, leaf in read if reference.index in FINISHED or is_length(reference, leaf))
    numbered = tuple((leaf, reference.back) for reference, leaf in read if reference.index is Index.NTH)
    focus = max(taking, key=lambda leaf: (len(leaf.loops), leaf.number), default=None)
    for leaf in taking:
        assert focus is not None
        if focus.loops[: len(leaf.loops)] != leaf.loops:
            raise ValueError(f"{leaf.variable}[i] has no value when {focus.variable} comes")
    if any(one.loops[0] == other.loops[0] for one in taking for other in (*finished, *(leaf for leaf, _ in numbered))):
        raise ValueError("a condition on each event cannot know the end of its closure")
    lists = {id(reference) for reference, leaf in read if reference.index is Index.ALL or is_length(reference, leaf)}
    events = frozenset(leaf.number for reference, leaf in read if id(reference) not in lists)
    return Condition(expression, read, taking, finished, numbered, events, focus)


def violated(
    asked: Condition,
    bindings: Bindings,
    over: Callable[[Leaf], bool],
    functions: Aggregates,
    current: Bound | None = None,
) -> bool:
    """Whether the condition fails on what it can read already. `over`: whether a component's list is complete.

    `current`: the only event of its component of which it is asked; None: of each.
    """
    lists = {leaf.number: [b for b in bindings if b.leaf == leaf.number] for _, leaf in asked.references}
    if not all(lists[number] for number in asked.events) or not all(map(over, asked.finished)):
        return False
    if any(len(lists[leaf.number]) < number for leaf, number in asked.numbered):
        return False  # not known yet, or there is none
    instances: Sequence[Bound | None] = [None] if asked.focus is None else lists[asked.focus.number]
    if asked.focus is not None and current is not None and asked.focus.number == current.leaf:
        instances = [current]
    for focus in instances:
        at = _current(asked, lists, focus)
        if at is not None and not _looks_too_far_back(asked, at):
            look = _Reader(asked, lists, at, functions)
            if value(asked.expression, look) is not True:
                return True
    return False


def _current(asked: Condition, lists: dict[int, list[Bound]], focus: Bound | None) -> dict[int, int] | None:
    """For each component read as v[i], which of its events belongs to the iteration of the focus; None: it has none."""
    at = {}
    for leaf in asked.taking:
        assert focus is not None
        iteration = focus.iterations[: len(leaf.loops)]
        found = [n for n, bound in enumerate(lists[leaf.number]) if bound.iterations == iteration]
        if not found:
            return None
        at[leaf.number] = found[0]
    return at


def _looks_too_far_back(asked: Condition, at: dict[int, int]) -> bool:
    return any(
        at[leaf.number] < max(1, reference.back)
        for reference, leaf in asked.references
        if reference.index in (Index.PREVIOUS, Index.BEFORE)
    )


@dataclass(frozen=True)
class _Reader:
    asked: Condition
    lists: dict[int, list[Bound]]
    at: dict[int, int]
    functions: Aggregates

    def __call__(self, expression: tree.Reference | tree.Call) -> Any:
        return read(expression, self._find, self.functions)

    def _find(self, reference: tree.Reference) -> tuple[Leaf, list[Bound], int]:
        leaf = next(leaf for known, leaf in self.asked.references if known is reference)
        return leaf, self.lists[leaf.number], self.at.get(leaf.number, 0)


def read(expression: tree.Reference | tree.Call, find: Find, functions: Aggregates) -> Any:
    """The value of a reference, or of an aggregate over one or several lists."""
    if isinstance(expression, tree.Call):
        function = {"least": "min", "greatest": "max"}.get(expression.function, expression.function)
        values = [one for argument in expression.arguments for one in _listed(function, argument, find)]
        return aggregate(function, values, functions)
    leaf, bound, at = find(expression)
    events = [one.event for one in bound]
    if is_length(expression, leaf):
        return len(events)
    if expression.index is Index.NTH and len(events) < expression.back:
        return None
    place = {Index.FIRST: 0, Index.LAST: -1, Index.CURRENT: at, Index.PREVIOUS: at - expression.back}
    place[Index.NTH] = expression.back - 1
    return events[place.get(expression.index, 0)].get(str(expression.attribute))


def _listed(function: str, argument: tree.Expression, find: Find) -> list[Any]:
    """The values over which an aggregate runs, of one of its arguments; 1 for each event in count(b[])."""
    reference = next(references(argument))
    _, bound, at = find(reference)
    if reference.index not in (Index.BEFORE, Index.THROUGH, Index.ALL):
        raise ValueError(f"{function} runs over the events of a closure")
    events = [one.event for one in bound]
    chosen = events if reference.index is Index.ALL else events[: at + (reference.index is Index.THROUGH)]
    if not isinstance(argument, tree.Reference):
        return [formula_value(argument, event) for event in chosen]
    if reference.attribute is None:
        return [1] * len(chosen)
    values = [at_steps(event.get(reference.attribute), reference.steps) for event in chosen]
    if reference.steps and function != "count":  # what is no number is null
        values = [one if isinstance(one, int | float) and not isinstance(one, bool) else None for one in values]
    return values


def formula_value(expression: tree.Expression, event: Event) -> Any:
    """The value of an expression over attributes of one event; of a condition 1 where it holds, else null."""

    def single(leaf: tree.Expression) -> tree.Expression:
        return replace(leaf, index=Index.NONE) if isinstance(leaf, tree.Reference) else leaf

    found = value(rewritten(expression, single), lambda one: event.get(str(one.attribute)))
    if isinstance(found, bool):
        return 1 if found else None
    return None if isinstance(found, float) and not math.isfinite(found) else found
