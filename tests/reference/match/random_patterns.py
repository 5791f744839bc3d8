"""Random patterns as text: groups, options, repetitions, NOT; seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

TYPES = "ABC"
SETS = ("A", "B", "C", "(A | B)", "(C | A)", "ANY")
"""Steps of one type, of several and of any."""


@dataclass(frozen=True)
class Variable:
    """`loops`: the repetitions around it, outermost first. `absent`: it stands inside a NOT.

    `sides`: (an AND around it, which of its parts), outermost first.
    """

    name: str
    type: str
    loops: tuple[int, ...]
    absent: bool
    sides: tuple[tuple[int, int], ...]


@dataclass
class Patterns:
    """Makes one pattern; `variables` are its components from the left. `lists`: also lists of at most one event.

    `timed`: with many NOTs that last for a time. `until`: with many repetitions that an event ends.
    """

    lists: ClassVar[bool] = True

    rng: random.Random
    most: int
    types: Sequence[str] = TYPES
    variables: list[Variable] = field(default_factory=list)
    loops: int = 0
    sides: list[tuple[int, int]] = field(default_factory=list)
    conjunctions: int = 0
    timed: bool = False
    until: bool = False

    def root(self, depth: int) -> str:
        roll = self.rng.random()
        if roll < 0.75:
            return self._sequence(depth, (), outermost=True, absent=False)
        return self._pattern(depth, (), absent=False)

    def _full(self) -> bool:
        return len(self.variables) >= self.most

    def _pattern(self, depth: int, loops: tuple[int, ...], absent: bool) -> str:
        """A pattern with its repetition, if any."""
        group = depth > 0 and not self._full() and self.rng.random() < 0.4
        bounds = "" if self.rng.random() < (0.5 if group else 0.45) else self._bounds()
        inside, brackets = loops, ""
        if self.lists and bounds in ("?", "{1}") and not group and not loops and len(self.variables) % 2:
            bounds, brackets = bounds.replace("?", "{0,1}"), "[]"  # a list of one event, or of none
        if bounds not in ("", "?", "{1}") or brackets:
            inside = (*loops, self.loops)
            self.loops += 1
        if group:
            text = f"({self._group(depth - 1, inside, absent)}){bounds}"
        else:
            text = self._event(bounds, inside, absent) + brackets
        if self.until and not absent and bounds not in ("", "?", "{1}", "{0,1}") and self.rng.random() < 0.7:
            text += f" UNTIL {self._event('', loops, absent=True)}"
        return f"({text})" if "UNTIL" in text else text

    def _bounds(self) -> str:
        return self.rng.choice(["+", "+", "+", "+", "*", "?", "?", "{2}", "{1,2}", "{2,3}", "{2,}", "{0,2}", "{1}"])

    def _event(self, bounds: str, loops: tuple[int, ...], absent: bool) -> str:
        variable = Variable(f"v{len(self.variables)}", self.rng.choice(self.types), loops, absent, tuple(self.sides))
        self.variables.append(variable)
        return f"{variable.type}{bounds} {variable.name}"

    def _group(self, depth: int, loops: tuple[int, ...], absent: bool) -> str:
        roll = self.rng.random()
        if roll < 0.5:
            return self._sequence(depth, loops, outermost=False, absent=absent)
        if roll < 0.68:
            return self._any(loops, absent)
        if roll < 0.85:
            return " OR ".join(self._pattern(depth, loops, absent) for _ in range(2))
        self.conjunctions += 1
        parts = []
        for index in range(2):
            self.sides.append((self.conjunctions, index))
            parts.append(self._pattern(depth, loops, absent))
            self.sides.pop()
        return " AND ".join(parts)

    def _sequence(self, depth: int, loops: tuple[int, ...], *, outermost: bool, absent: bool) -> str:
        parts = []
        size = self.rng.choice([1, 2, 2, 3] if outermost else [2, 2, 3])
        for index in range(size):
            if (outermost or index > 0) and not absent and self.rng.random() < (0.35 if self.timed else 0.12):
                parts.append(self._negation(loops))
            if self.timed and outermost and index > 0 and self.rng.random() < 0.25:
                parts.append(self._either())
            else:
                parts.append(self._pattern(depth, loops, absent))
            if self._full() and index > 0:
                break
        if outermost and self.rng.random() < (0.5 if self.timed else 0.08):
            parts.append(self._negation(loops, last=True))
        return f"SEQ({', '.join(parts)})"

    def _negation(self, loops: tuple[int, ...], *, last: bool = False) -> str:
        due = self._due(last=last) if self.timed and self.rng.random() < 0.85 else ""
        if self.rng.random() < 0.7:
            return f"NOT {self._event('', loops, absent=True)}{due}"
        inner = [self._event("", loops, absent=True) for _ in range(2)]
        return f"NOT SEQ({', '.join(inner)}){due}"

    def _due(self, *, last: bool = False) -> str:
        return f" {'EVERY' if last and self.rng.random() < 0.3 else 'FOR'} {self.rng.choice([1, 2, 2, 3, 3, 4, 6])} ms"

    def _either(self) -> str:
        """An OR of events and a NOT that lasts for a time, or an AND of one."""
        if self.rng.random() < 0.4:
            inside, bounds = ((self.loops,), "+") if self.rng.random() < 0.3 else ((), "")
            self.loops += len(inside)
            sides = [self._event(bounds, inside, absent=False), f"NOT {self._event('', (), absent=True)}{self._due()}"]
            return f"({' AND '.join(sides)})"
        sides = [self._event("", (), absent=False) for _ in range(self.rng.choice([1, 1, 2]))]
        sides.insert(self.rng.randrange(len(sides) + 1), f"NOT {self._event('', (), absent=True)}{self._due()}")
        return f"({' OR '.join(sides)})"

    def _any(self, loops: tuple[int, ...], absent: bool) -> str:
        distinct = self.rng.choice(["", "", " DISTINCT k", " DISTINCT x"])
        if self.rng.random() < 0.4:
            self.loops += 1
            return f"ANY({self.rng.choice([2, 2, 3])}, {self._event('', (*loops, self.loops - 1), absent)}){distinct}"
        units = [self._event("", loops, absent) for _ in range(self.rng.choice([2, 3]))]
        return f"ANY({self.rng.randrange(1, len(units) + 1)}, {', '.join(units)}){distinct}"
