"""The GRETA template of a positive pattern (T2, algorithm 1): states for event types, transitions for SEQ and +."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.tree import Event, Pattern, Repeat, Sequence


@dataclass(frozen=True)
class Template:
    """`events`: (event, whether it repeats itself) by state, in pattern order; `transitions`: (source, target)."""

    events: tuple[tuple[Event, bool], ...]
    transitions: tuple[tuple[int, int], ...]
    start: int
    end: int


def build(pattern: Pattern) -> Template:
    """A template of Event, Repeat (one or more) and Sequence; each occurrence of a type is a state of its own."""
    events: list[tuple[Event, bool]] = []
    transitions: dict[tuple[int, int], None] = {}

    def visit(part: Pattern, closure: bool) -> tuple[int, int]:
        """The start and end states of a part."""
        if isinstance(part, Event):
            events.append((part, closure))
            return len(events) - 1, len(events) - 1
        if isinstance(part, Repeat):
            start, end = visit(part.pattern, isinstance(part.pattern, Event))
            transitions[end, start] = None
            return start, end
        assert isinstance(part, Sequence)
        start, end = visit(part.parts[0], False)
        for following in part.parts[1:]:
            next_start, next_end = visit(following, False)
            transitions[end, next_start] = None
            end = next_end
        return start, end

    start, end = visit(pattern, False)
    return Template(tuple(events), tuple(sorted(transitions)), start, end)
