"""Random aggregate queries over the whole grammar, as text, and streams for them; seeded."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.language.syntax import tree
from saffron.language.syntax.parsing.parser import parse
from saffron.language.syntax.printer import types_text
from tests.reference.match import generate as match
from tests.reference.match.question import ANY, NEXT, PARTITION, STRICT
from tests.reference.match.random_patterns import Patterns, Variable
from tests.reference.match.shape import Both, Pattern, shape_of
from tests.reference.trends.asked import absences
from tests.reference.trends.order import follows
from tests.reference.trends.random_conditions import Conditions

TYPES = "ABCD"
GROWING = (
    "A+ v0",
    "A+ v0",
    "(SEQ(A+ v0, B v1))+",
    "SEQ(A+ v0, B+ v1)",
    "(A v0 OR B v1)+",
    "SEQ(A+ v0, NOT C v2, B+ v1)",
    "(SEQ(A+ v0, NOT SEQ(C v2, NOT D v4, B v3), B v1))+",
    "SEQ(NOT D v1, A+ v0)",
    "SEQ(A+ v0, NOT D v1)",
)
"""Of some hundred events, more trends than 2^63."""


class TrendPatterns(Patterns):
    """Patterns with AND only outermost, ANY without DISTINCT, and NOTs inside NOTs."""

    lists = False

    def root(self, depth: int) -> str:
        if self.rng.random() < 0.06:
            return self._both(depth)
        return super().root(depth)

    def _both(self, depth: int) -> str:
        """Mostly each type once in a side, so that a trend is one sequence of events."""
        whole, parts = self.types, []
        for _ in range(2):
            self.types, self.most = whole, len(self.variables) + 3
            parts.append(f"({self._side(min(depth, 1))})")
        self.types = whole
        return " AND ".join(parts)

    def _side(self, depth: int) -> str:
        kinds = self.rng.sample("ABC" if self.rng.random() < 0.9 else "AAB", self.rng.choice([1, 2, 2, 3]))
        parts = []
        for index, kind in enumerate(kinds):
            self.types = kind
            if index and self.rng.random() < 0.15:
                parts.append(f"NOT {self._event('', (), absent=True)}")
            parts.append(self._pattern(0, (), absent=False))
        text = f"SEQ({', '.join(parts)})"
        return f"{text}+" if depth and not any("?" in part or "*" in part for part in parts[:1]) else text

    def _group(self, depth: int, loops: tuple[int, ...], absent: bool) -> str:
        roll = self.rng.random()
        if roll < 0.7:
            return self._sequence(depth, loops, outermost=False, absent=absent)
        if roll < 0.92:
            return " OR ".join(self._pattern(depth, loops, absent) for _ in range(2))
        return self._any(loops, absent)

    def _negation(self, loops: tuple[int, ...], *, last: bool = False) -> str:
        roll = self.rng.random()
        if roll < 0.55:
            return f"NOT {self._event(self.rng.choice(['', '', '', '+']), loops, absent=True)}"
        begin, end = (self._event(self.rng.choice(["", "", "+"]), loops, absent=True) for _ in range(2))
        if roll < 0.8:
            return f"NOT SEQ({begin}, {end})"
        return f"NOT SEQ({begin}, NOT {self._event('', loops, absent=True)}, {end})"

    def _any(self, loops: tuple[int, ...], absent: bool) -> str:
        return super()._any(loops, absent).split(" DISTINCT")[0]


@dataclass(frozen=True)
class Made:
    """A pattern as text, its components, and which of them may directly follow which."""

    text: str
    shape: Pattern
    edges: tuple[tuple[int, int], ...]

    @property
    def variables(self) -> list[Variable]:
        """The components in the order of their numbers: those inside NOTs last."""
        return [
            Variable(leaf.variable, types_text(leaf.types), leaf.loops, leaf.number >= self.shape.positive, ())
            for leaf in self.shape.leaves
        ]


def pattern(rng: random.Random, *, long: bool = False, types: Sequence[str] = ()) -> Made:
    """`edges`: numbers into `shape.leaves`; those inside NOTs too. `long`: every other one has lists on end.

    `types`: of its events.
    """
    made = TrendPatterns(rng, rng.choice([1, 2, 2, 3, 3, 4]), types or rng.choice(["AB", "ABC", "ABC", TYPES]))
    text = made.root(rng.choice([0, 1, 1, 2, 2, 3]))
    if long and rng.random() < 0.5:
        text = rng.choice(GROWING)
    written = parse(f"PATTERN {text} WITHIN 1 ms").pattern
    shape = shape_of(written)
    sides = (
        shape.root.parts if isinstance(written, tree.Conjunction) and isinstance(shape.root, Both) else (shape.root,)
    )
    edges = {pair for part in (*sides, *absences(shape.root)) for pair in follows(part)}
    return Made(text, shape, tuple(sorted(edges)))


def query(rng: random.Random, *, long: bool = False, types: Sequence[str] = (), formula: str = "") -> str:
    """The text of an aggregate query. `long`: for long streams, with wide windows and plain aggregates.

    `types`: of its events. `formula`: see `Conditions`.
    """
    made = pattern(rng, long=long, types=types)
    conditions = Conditions(rng, made.shape, made.edges, formula)
    chosen = _strategies(rng, made)
    keys = "" if long and PARTITION not in chosen and rng.random() < 0.5 else _keys(rng, made, chosen)
    where = " AND ".join(filter(None, [keys, *conditions.some()]))
    group = (
        ""
        if long and rng.random() < 0.5
        else rng.choice(["", "", "", "", "k", "g", "k, g", rng.choice(["f", "t", "s, k"])])
    )
    names = [name for name in group.split(", ") if name]
    if " AND (" in made.text:
        items, having = "COUNT(*)", rng.choice(["", "", "COUNT(*) > 4"])
    else:
        items, having = (conditions.plain(), "") if long else conditions.returned(names)
    parts = [
        f"RETURN {items}",
        f"PATTERN {made.text}",
        " ".join(filter(None, ["WHERE" if chosen or where else "", chosen, f"{{ {where} }}" if where else ""])),
        f"GROUP BY {group}" if group else "",
        f"HAVING {having}" if having else "",
        _wide(rng) if long else match.window(rng),
        rng.choice(["", "", "TIME STRICT", "TIME ORDERED"]),
        "EXACT" if rng.random() < 0.1 else "",
    ]
    text = " ".join(filter(None, parts))
    return _unnamed(text, made) if rng.random() < 0.15 else text


def case(rng: random.Random) -> tuple[str, list[dict[str, Any]]]:
    """A query and a stream of 5 to 10 events for it (7 where each may have many places)."""
    text = query(rng)
    kinds = Counter(_types(parse(text).pattern))
    return text, stream(rng, text, rng.randrange(5, 8 if max(kinds.values()) > 2 else 11))


def long_case(rng: random.Random) -> tuple[str, list[dict[str, Any]]]:
    """A query and a stream of some hundred events for it: beyond enumeration."""
    text = query(rng, long=True)
    return text, stream(rng, text, rng.randrange(40, 150))


def stream(rng: random.Random, text: str, size: int) -> list[dict[str, Any]]:
    """Events for a query: mostly of its types, in the order of its components; keys often agree."""
    named = list(_types(parse(text).pattern)) or TYPES
    events = match.stream(rng, size)
    common = rng.choice([0.3, 0.7, 1.0])
    at = 0
    for event in events:
        event["type"] = named[at % len(named)] if rng.random() < 0.8 else rng.choice(TYPES)
        at += rng.choice([0, 0, 1, 1, 2])
        for name, value in (("k", 1), ("g", "a")):
            if rng.random() < common:
                event[name] = value
    return events


def _types(written: tree.Pattern) -> Iterator[str]:
    if isinstance(written, tree.Event):
        yield from written.types
    elif isinstance(written, tree.Repeat | tree.Negation):
        yield from _types(written.pattern)
    else:
        for part in written.parts:
            yield from _types(part)


def _wide(rng: random.Random) -> str:
    unit = rng.choice(["ms", "EVENTS"])
    size = rng.randrange(30, 250)
    return f"WITHIN {size} {unit}" + rng.choice(["", "", f" SLIDE {size // rng.randrange(1, 5)} {unit}"])


def _unnamed(text: str, made: Made) -> str:
    """Without the variables of components that are the only one of their type: these are called by it."""
    kinds = [variable.type for variable in made.variables]
    for variable in made.variables:
        if variable.type in TYPES and kinds.count(variable.type) == 1:
            text = re.sub(rf"\b({variable.type}(?:[+*?]|{{[\d,]*}})?) {variable.name}\b", r"\1", text)
            text = re.sub(rf"\b{variable.name}\b", variable.type, text)
    return text


def _strategies(rng: random.Random, made: Made) -> str:
    roll = rng.random()
    if roll < 0.5:
        return rng.choice(["", "", ANY])
    if roll < 0.9:
        return rng.choice([NEXT, NEXT, STRICT, PARTITION])
    return match.strategies(rng, made.variables, None)


def _keys(rng: random.Random, made: Made, chosen: str) -> str:
    """[attr], now and then of one type only; partition contiguity tells what is next by a key of all types."""
    if PARTITION in chosen:
        return rng.choice(["[k]", "[g]", "[k, g]"])
    chosen_one = rng.choice([variable for variable in made.variables if not variable.absent])
    kind = chosen_one.type if chosen_one.type in TYPES else chosen_one.name
    outside = any(variable.absent and variable.type == kind for variable in made.variables)
    return rng.choice(["", "", "", "[k]", "[g]", "[g, k]", "" if outside or "AND" in made.text else f"[{kind}.k]"])
