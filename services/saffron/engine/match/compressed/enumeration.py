"""Listing the matches of one graph, one after another, from its nodes alone (as OUTPUT COMPRESSED reports them)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Node = tuple[int, int, Sequence[int]]
"""(component, event, numbers of possible predecessors, -1 among them where a match may begin with this node)."""


@dataclass
class _Step:
    """The nodes of one event that a sequence of events may have reached, and their successors by event."""

    nodes: Sequence[int]
    following: list[list[int]]
    done: int = 0


def matches(nodes: Sequence[Node], components: int) -> Iterator[list[list[int]]]:
    """Every match as its events by component: each path to the last node is one. None is made before its turn.

    In the order of results: by all events in turn; of matches of the same events by those of each component, without
    any last. Nodes are in the order of their events, and each lies on a path.
    """
    after: dict[int, list[int]] = {}
    for number, (_, _, before) in enumerate(nodes):
        for one in before:
            after.setdefault(one, []).append(number)
    end = len(nodes) - 1
    steps = [_Step((-1,), _by_event(nodes, after, (-1,)))]
    while steps:
        step = steps[-1]
        if step.done == len(step.following):
            steps.pop()
            continue
        group = step.following[step.done]
        step.done += 1
        if group == [end]:
            yield from _assignments(nodes, [*(one.nodes for one in steps[1:]), group], components)
        else:
            steps.append(_Step(group, _by_event(nodes, after, group)))


def _by_event(nodes: Sequence[Node], after: Mapping[int, Sequence[int]], group: Sequence[int]) -> list[list[int]]:
    """The nodes that may follow one of a group, those of one event together."""
    together: list[list[int]] = []
    for number in sorted({one for node in group for one in after.get(node, ())}):
        if together and nodes[together[-1][0]][1] == nodes[number][1]:
            together[-1].append(number)
        else:
            together.append([number])
    return together


def _assignments(nodes: Sequence[Node], path: Sequence[Sequence[int]], components: int) -> Iterator[list[list[int]]]:
    """The matches of one sequence of events: mostly one."""
    found: list[list[int]] = [[path[-1][0]]]
    for group in reversed(path[:-1]):
        found = [[number, *rest] for rest in found for number in group if number in nodes[rest[0]][2]]
    found = [chain for chain in found if -1 in nodes[chain[0]][2]]
    assigned = []
    for chain in found:
        bound: list[list[int]] = [[] for _ in range(components)]
        for number in chain:
            bound[nodes[number][0]].append(nodes[number][1])
        assigned.append(bound)
    yield from sorted(assigned, key=lambda bound: [(not part, part) for part in bound])
