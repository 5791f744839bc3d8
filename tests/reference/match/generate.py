"""Random queries over the whole grammar, as text, and streams for them; seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.reference.match.question import ANY, NEXT, PARTITION, STRICT
from tests.reference.match.worlds import Vague

TYPES = "ABC"
NUMBERS, WORDS = ("x", "f"), ("a", "b", "ba", "é", "z")
COMPARISONS = ("=", "!=", "<", "<=", "<=", ">", ">=", ">=")
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")
STRATEGIES = (STRICT, PARTITION, NEXT, ANY)


def stream(rng: random.Random, size: int, types: str = "AABBC") -> list[dict[str, Any]]:
    """Events with ties in time, gaps in seq, and nulls."""
    events = []
    ts, seq = rng.choice([-7, 0, 1000]), rng.choice([0, 0, 5])
    for _ in range(size):
        event: dict[str, Any] = {
            "seq": seq,
            "ts": ts,
            "type": rng.choice(types),
            "x": rng.randrange(-3, 6),
            "f": rng.choice([0.0, -0.0, 0.5, 1.5, 2.5, 4.0]),
            "s": rng.choice(WORDS),
            "t": rng.random() < 0.5,
            "k": rng.randrange(2),
            "g": rng.choice(WORDS[:2]),
        }
        for name in ("x", "f", "s", "t", "k", "g"):
            if rng.random() < 0.05:
                event[name] = None
        events.append(event)
        ts += rng.choice([0, 1, 1, 2, 3])
        seq += 1 if rng.random() < 0.9 else 3
    return events


# ---------------------------------------------------------------- patterns


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
    """Makes one pattern; `variables` are its components from the left."""

    rng: random.Random
    most: int
    types: str = TYPES
    variables: list[Variable] = field(default_factory=list)
    loops: int = 0
    sides: list[tuple[int, int]] = field(default_factory=list)
    conjunctions: int = 0

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
        inside = loops
        if bounds not in ("", "?", "{1}", "{0,1}"):
            inside = (*loops, self.loops)
            self.loops += 1
        if not group:
            return self._event(bounds, inside, absent)
        return f"({self._group(depth - 1, inside, absent)}){bounds}"

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
            if (outermost or index > 0) and not absent and self.rng.random() < 0.12:
                parts.append(self._negation(loops))
            parts.append(self._pattern(depth, loops, absent))
            if self._full() and index > 0:
                break
        if outermost and self.rng.random() < 0.08:
            parts.append(self._negation(loops))
        return f"SEQ({', '.join(parts)})"

    def _negation(self, loops: tuple[int, ...]) -> str:
        if self.rng.random() < 0.7:
            return f"NOT {self._event('', loops, absent=True)}"
        inner = [self._event("", loops, absent=True) for _ in range(2)]
        return f"NOT SEQ({', '.join(inner)})"

    def _any(self, loops: tuple[int, ...], absent: bool) -> str:
        distinct = self.rng.choice(["", "", " DISTINCT k", " DISTINCT x"])
        if self.rng.random() < 0.4:
            self.loops += 1
            return f"ANY({self.rng.choice([2, 2, 3])}, {self._event('', (*loops, self.loops - 1), absent)}){distinct}"
        units = [self._event("", loops, absent) for _ in range(self.rng.choice([2, 3]))]
        return f"ANY({self.rng.randrange(1, len(units) + 1)}, {', '.join(units)}){distinct}"


# ---------------------------------------------------------------- conditions


class Conditions:
    """Makes conjuncts over the variables of a pattern, in every form of reference."""

    def __init__(self, rng: random.Random, variables: Sequence[Variable], functions: Sequence[str]) -> None:
        self.rng = rng
        self.variables = variables
        self.lists = [one for one in variables if one.loops and not one.absent]
        self.aggregates = (*AGGREGATES, *functions)

    def some(self) -> list[str]:
        forms = [self._local, self._local, self._pair, self._pair, self._back, self._so_far, self._finished, self._gap]
        made = [self.rng.choice(forms)() for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3]))]
        return [f"({one})" for one in made if one]

    def returned(self) -> str:
        """Values of finished components, as the items of RETURN."""
        items = []
        for number in range(self.rng.choice([1, 2])):
            variable = self.rng.choice([one for one in self.variables if not one.absent])
            read = self._whole(variable) if variable.loops else f"{variable.name}.{self.rng.choice('xfst')}"
            items.append(f"{read} AS r{number}")
        return ", ".join(items)

    def _taken(self, variable: Variable, attribute: str) -> str:
        return f"{variable.name}[i].{attribute}" if variable.loops else f"{variable.name}.{attribute}"

    def _number(self) -> str:
        return self.rng.choice(["0", "1", "2", "0.5", "1.5", "-1"])

    def _compared(self, left: str, right: str, numbers: bool = True) -> str:
        text = f"{left} {self.rng.choice(COMPARISONS)} {right}"
        roll = self.rng.random()
        if roll < 0.06:
            return f"NOT {text}"
        if roll < 0.12 and numbers:
            return f"{left} {self.rng.choice('+-*/%')} 2 {self.rng.choice(COMPARISONS)} {right}"
        if roll < 0.18 and numbers:
            function = self.rng.choice(["abs({})", "sqrt({})", "min({}, 1)", "max({}, 0, -1)", "-{}"])
            return f"{function.format(left)} {self.rng.choice(COMPARISONS)} {right}"
        return text

    def _attribute(self) -> str:
        return self.rng.choice(NUMBERS)

    def _local(self) -> str:
        variable = self.rng.choice(self.variables)
        roll = self.rng.random()
        if roll < 0.6:
            return self._compared(self._taken(variable, self._attribute()), self._number())
        if roll < 0.7:
            return f"{self._taken(variable, 's')} IN ('a', 'b', 'é')"
        if roll < 0.8:
            return self._taken(variable, "t")
        if roll < 0.9 and variable in self.lists:
            return self._compared(f"{variable.name}[{self.rng.choice(['1', 'first'])}].x", self._number())
        return f"{self._taken(variable, 's')} = 'a' OR {self._taken(variable, 't')} = false"

    def _pair(self) -> str:
        """Two components, each read in a form that has a meaning beside the other."""
        one, other = self.rng.choice(self.variables), self.rng.choice(self.variables)
        if one is other or (one.absent and other.absent):
            return self._local()
        if one.loops != other.loops and self._unordered(one, other):
            return self._local()
        if len(one.loops) < len(other.loops) or (one.loops == other.loops and self._after(other, one)):
            one, other = other, one
        name = self._attribute()
        together = one.loops[: len(other.loops)] == other.loops
        follows = one.loops == other.loops or self._after(one, other)
        if together and (one.absent or (follows and not other.absent)):
            return self._compared(self._taken(one, name), self._taken(other, name))
        if one.loops and other.loops and one.loops[0] == other.loops[0]:
            return self._local()
        if one.absent or (one not in self.lists and not other.absent):
            return self._compared(self._taken(one, name), self._ended(other))
        if other.absent or self._after(other, one):
            return self._compared(self._taken(other, name), self._ended(one))
        return self._compared(self._taken(one, name), self._ended(other))

    def _after(self, one: Variable, other: Variable) -> bool:
        return self.variables.index(one) > self.variables.index(other)

    def _unordered(self, one: Variable, other: Variable) -> bool:
        """Whether they stand in different parts of an AND."""
        sides = dict(one.sides)
        return any(sides.get(number, index) != index for number, index in other.sides)

    def _ended(self, variable: Variable) -> str:
        """A number of a component that is complete."""
        return self._whole(variable) if variable.loops else self._taken(variable, self._attribute())

    def _whole(self, variable: Variable) -> str:
        """A number of a finished list."""
        name = variable.name
        roll = self.rng.random()
        if roll < 0.15:
            return f"{name}.len"
        if roll < 0.45:
            return f"{name}[{self.rng.choice(['1', 'first', 'last', f'{name}.len'])}].{self._attribute()}"
        return self._aggregate(f"{name}[]")

    def _aggregate(self, over: str) -> str:
        function = self.rng.choice(self.aggregates)
        if function == "count" and self.rng.random() < 0.5:
            return f"count({over})"
        return f"{function}({over}.{self._attribute()})"

    def _back(self) -> str:
        if not self.lists:
            return self._local()
        list_, name, back = self.rng.choice(self.lists), self.rng.choice(["x", "f", "s"]), self.rng.choice([1, 1, 1, 2])
        earlier = f"{list_.name}[i-{back}].{name}"
        return self._compared(f"{list_.name}[i].{name}", earlier, numbers=name != "s")

    def _so_far(self) -> str:
        if not self.lists:
            return self._pair()
        variable = self.rng.choice(self.lists)
        so_far = self.rng.choice(["..i-1", "..i-1", "1..i-1"])
        return self._compared(f"{variable.name}[i].{self._attribute()}", self._aggregate(f"{variable.name}[{so_far}]"))

    def _finished(self) -> str:
        if not self.lists:
            return self._pair()
        return self._compared(self._whole(self.rng.choice(self.lists)), self._number())

    def _gap(self) -> str:
        singles = [one for one in self.variables if not one.loops]
        if len(singles) < 2:
            return self._pair()
        one, other = self.rng.sample(singles, 2)
        if one.absent and other.absent:
            return self._pair()
        return f"{other.name}.ts - {one.name}.ts <= {self.rng.randrange(1, 8)} ms"


# ---------------------------------------------------------------- the rest of a query


def strategies(rng: random.Random, variables: Sequence[Variable], chosen: str | None) -> str:
    """`chosen` for all, or any mixture."""
    if chosen is not None:
        return chosen
    present = [one for one in variables if not one.absent]
    whole = rng.choice([*STRATEGIES, NEXT, ""])
    steps = []
    if rng.random() < 0.3 and len(present) > 1:
        for variable in rng.sample(present, min(len(present) - 1, rng.choice([1, 2]))):
            target = f"{variable.name}[i]" if variable.loops and rng.random() < 0.5 else variable.name
            steps.append(f"{rng.choice(STRATEGIES)}({target})")
    return ", ".join(filter(None, [whole, *steps]))


def window(rng: random.Random) -> str:
    unit = rng.choice(["ms", "ms", "EVENTS"])
    size = rng.randrange(3, 12 if unit == "EVENTS" else 20)
    roll = rng.random()
    text = f"WITHIN {size} {unit}"
    if roll < 0.55:
        return text
    if roll < 0.8:
        return f"{text} SLIDE {rng.randrange(1, size + 4)} {unit}"
    where = rng.choice(["", " o WHERE o.x > 0", " WHERE {0}.t"])
    kind = rng.choice("AB")
    return f"{text} OPEN ON {kind}{where.format(kind)}"


def clauses(rng: random.Random, variables: Sequence[Variable]) -> str:
    """OUTPUT, CONSUME, TIME, now and then."""
    parts = []
    if rng.random() < 0.1:
        parts.append("TIME STRICT")
    if rng.random() < 0.3:
        parts.append(f"OUTPUT {rng.choice(['ALL', 'NON-OVERLAP', 'FIRST', 'LONGEST'])}")
    if rng.random() < 0.15:
        present = [one.name for one in variables if not one.absent]
        parts.append(f"CONSUME {rng.choice(['ALL', 'NONE', *present])}")
    return " ".join(parts)


def _copied(rng: random.Random, variables: Sequence[Variable]) -> str:
    """The attributes of one of the events, as the items of RETURN."""
    variable = rng.choice([one for one in variables if not one.absent])
    place = "[last]" if variable.loops else ""
    return ", ".join(f"{variable.name}{place}.{name} AS {name}" for name in "xfstkg")


def query(
    rng: random.Random,
    *,
    strategy: str | None = None,
    functions: Sequence[str] = (),
    most: int = 5,
    plain: bool = False,
    types: str = TYPES,
    into: str = "",
    timeouts: bool = False,
) -> str:
    """The text of a match query that has a meaning.

    `strategy`: for all components. `functions`: user-defined aggregates that it may call. `most`: about how many
    components. `plain`: without OUTPUT, CONSUME and TIME. `types`: of its events. `into`: the type of its results,
    which then have all attributes. `timeouts`: with OUTPUT ALL WITH TIMEOUTS.
    """
    made = Patterns(rng, rng.randrange(1, most + 1), types)
    pattern = made.root(rng.choice([0, 1, 1, 2, 2]))
    keys = rng.choice(["", "", "", "", "[k]", "[g]", "[g, k]", f"[{made.variables[0].type}.k]"])
    conditions = Conditions(rng, made.variables, functions)
    conjuncts = conditions.some()
    chosen = strategies(rng, made.variables, strategy)
    where = " AND ".join(filter(None, [keys, *conjuncts]))
    braces = f"{{ {where} }}" if where else ""
    parts = ["PATTERN", pattern, f"WHERE {chosen} {braces}" if chosen or braces else "", window(rng)]
    if timeouts:
        parts.append("OUTPUT ALL WITH TIMEOUTS")
    elif not plain:
        parts.append(clauses(rng, made.variables))
    if into:
        parts.append(f"RETURN {_copied(rng, made.variables)} INTO {into}")
    elif rng.random() < 0.3:
        parts.append(f"RETURN {conditions.returned()}")
    return " ".join(filter(None, parts))


def case(rng: random.Random, **options: Any) -> tuple[str, list[dict[str, Any]]]:
    """A query and a stream of 6 to 14 events (fewer where any-match may find too much)."""
    text = query(rng, **options)
    most = 10 if ANY in text else 14
    return text, stream(rng, rng.randrange(6, most + 1), rng.choice(["AABBC", "ABC", "AAB"]))


def vague_stream(rng: random.Random, size: int, types: str = "AABBC") -> list[Vague]:
    """Events with intervals of one to three ms, some of them with a distribution of their own."""
    made = []
    low = 0
    for seq in range(size):
        width = rng.choice([1, 1, 2, 3])
        shares = [rng.randrange(0, 3) for _ in range(width)]
        weights = None
        if sum(shares) and rng.random() < 0.3:
            weights = tuple(Fraction(share, sum(shares)) for share in shares)
        attributes = {"x": rng.randrange(-3, 6), "f": 0.5, "s": "a", "t": True, "k": rng.randrange(2), "g": "a"}
        made.append(Vague(seq, low, low + width - 1, rng.choice(types), attributes, weights))
        low += rng.choice([0, 0, 1, 2])
    return made
