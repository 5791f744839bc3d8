"""Random conjuncts of WHERE over the components of a pattern, in every form of reference; seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.reference.match.random_patterns import Variable

NUMBERS = ("x", "f")
COMPARISONS = ("=", "!=", "<", "<=", "<=", ">", ">=", ">=")
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")

OF_NUMBERS = (
    "abs({})", "sqrt({})", "min({}, 1)", "max({}, 0, -1)", "-{}", "floor({})", "ceil({} / 2)", "trunc({})",
    "round({} * 1.25, 1)", "sign({})", "power({}, 2)", "coalesce({}, 1)", "nullif({}, 1)", "bit_and({}, 1)",
    "CASE WHEN {0} > 1 THEN {0} WHEN {0} IS NULL THEN 0.5 END", "CASE {} WHEN 1 THEN 2 ELSE 1 END",
)  # fmt: skip
OF_ONE_EVENT = (
    "{s} LIKE 'a%'", "NOT {s} LIKE '_'", "{s} REGEXP '[ab]'", "lower({s}) = 'a'", "upper({s}) || {s} < 'BB'",
    "length({s}) = 1", "{s} IS NULL", "{x} IS NOT NULL", "{x} BETWEEN 0 AND 1", "{s} NOT IN ('a')",
    "coalesce({s}, 'a') = 'a'", "coalesce({t}, true)", "CASE {s} WHEN 'a' THEN 1 ELSE {x} END = 1",
    "position({s}, 'é') = 1", "CAST({x} AS string) = '1'", "contains({s}, 'a')",
    "substring(concat({s}, CAST({x} AS string)), 2, 1) >= '1'", "nullif({s}, 'a') IS NULL",
    "CASE WHEN {t} THEN {s} ELSE 'b' END = 'b'", "starts_with({s}, 'é')", "(CAST({s} AS boolean)) IS NULL",
)  # fmt: skip


class Conditions:
    """Makes conjuncts over the variables of a pattern, in every form of reference."""

    def __init__(self, rng: random.Random, variables: Sequence[Variable], functions: Sequence[str]) -> None:
        self.rng = rng
        self.variables = variables
        self.lists = [one for one in variables if one.loops and not one.absent]
        self.aggregates = (*AGGREGATES, *functions)

    def some(self) -> list[str]:
        forms = [self._local, self._local, self._pair, self._pair, self._back, self._so_far, self._finished, self._gap]
        forms += [self._absent] * any(one.absent for one in self.variables)
        made = [self.rng.choice(forms)() for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3]))]
        return [f"({one})" for one in made if one]

    def mixed(self) -> list[str]:
        """Conjuncts of any references together, whether they have a meaning together or not."""
        return [f"({self._mixture()})" for _ in range(self.rng.choice([1, 1, 2]))]

    def ended(self) -> list[str]:
        """Conjuncts on what an UNTIL names beside what its list, or any other, took before."""
        absent = [one for one in self.variables if one.absent and not one.loops]
        found = []
        for one in absent:
            if self.lists and self.rng.random() < 0.6:
                name = self.rng.choice(self.lists).name
                earlier = (f"{name}[1].x", f"{name}[i-1].x", f"{name}[i-2].x", self._aggregate(f"{name}[..i-1]"))
                found.append(f"({self._compared(f'{one.name}.x', self.rng.choice(earlier))})")
        return found

    def _mixture(self) -> str:
        focus = self.rng.choice(self.variables)
        if len(self.lists) > 1 and self.rng.random() < 0.2:
            return f"{self._of_lists()} {self.rng.choice(COMPARISONS)} {self._reference(focus)}"
        read = [self._reference(focus), *(self._reference(self.rng.choice(self.variables)) for _ in range(3))]
        one, two, three, four = self.rng.sample(read, 4)
        sign = self.rng.choice(COMPARISONS)
        roll = self.rng.random()
        if roll < 0.3:
            return f"{one} {sign} {two}"
        if roll < 0.6:
            return f"{one} {sign} {two} {self.rng.choice('+-*/')} {three}"
        if roll < 0.7:
            return f"min({one}, {two}) {sign} abs({three})"
        if roll < 0.8:
            return f"{one} {sign} {self._number()} {self.rng.choice(['AND', 'OR'])} {two} {sign} {three}"
        if roll < 0.9:
            return f"NOT ({one} {sign} {two} AND {three} > {self._number()})"
        return f"{one} {sign} {two} OR {three} - {four} {sign} {self._number()}"

    def _reference(self, variable: Variable) -> str:
        name, attribute = variable.name, self._attribute()
        if not variable.loops:
            return f"{name}.{attribute}"
        roll = self.rng.random()
        if roll < 0.3:
            return f"{name}[i].{attribute}"
        if roll < 0.5:
            return f"{name}[i-{self.rng.choice([1, 1, 2])}].{attribute}"
        if roll < 0.7:
            over = f"{name}[..i]" if roll > 0.64 else f"{name}[..i-1]"
            return (self._formula if roll < 0.56 else self._aggregate)(over)
        if roll > 0.9:
            return f"{name}[{1 + int(20 * (1.0 - roll))}].{attribute}"
        return self._formula(f"{name}[]") if roll > 0.83 else self._whole(variable)

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
            function = self.rng.choice(OF_NUMBERS)
            return f"{function.format(left)} {self.rng.choice(COMPARISONS)} {right}"
        return text

    def _attribute(self) -> str:
        return self.rng.choice(NUMBERS)

    def _local(self) -> str:
        variable = self.rng.choice(self.variables)
        roll = self.rng.random()
        if roll < 0.5:
            return self._compared(self._taken(variable, self._attribute()), self._number())
        if roll < 0.6:
            attributes = {name: self._taken(variable, name) for name in "xst"}
            return self.rng.choice(OF_ONE_EVENT).format(**attributes)
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
        if one is other or (one.absent and other.absent) or self._too_late(one, other):
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

    def _absent(self) -> str:
        """What must not be there beside any event or list of the match, of those that come later too."""
        one = self.rng.choice([one for one in self.variables if one.absent])
        present = [two for two in self.variables if not two.absent and not (one.loops and two.loops)]
        present = [two for two in present if not one.loops or self._after(one, two)]
        if not present:
            return self._local()
        return self._compared(self._taken(one, self._attribute()), self._ended(self.rng.choice(present)))

    def _too_late(self, one: Variable, other: Variable) -> bool:
        """Whether one of them must not be there, in a repetition, and the other is not known when its gap ends."""
        absent, present = (one, other) if one.absent else (other, one)
        if not absent.absent or not absent.loops or self._after(absent, present):
            return False
        beside = self.variables.index(present) == self.variables.index(absent) + 1
        return not beside or present.loops != absent.loops or present.sides != absent.sides

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
        if function == "count" and self.rng.random() < 0.7:
            return self.rng.choice([f"count({over})", f"count({over}.s)", f"count({over}.t)"])
        return f"{function}({over}.{self._attribute()})"

    def _of_lists(self) -> str:
        """An aggregate over two lists."""
        function, attribute = self.rng.choice(["count", "sum", "avg", "min", "max"]), self._attribute()
        lists = (f"{one.name}[].{attribute}" for one in self.rng.sample(self.lists, 2))
        return f"{function}({', '.join(lists)})"

    def _formula(self, over: str) -> str:
        """An aggregate of a formula of each event."""
        one, sign = f"{over}.{self._attribute()}", self.rng.choice(COMPARISONS)
        forms = [
            f"count({one} {sign} {self._number()})",
            f"count({over}.s = 'a' OR {one} {sign} {over}.k)",
            f"count({over}.s LIKE 'a%' AND {over}.t = {self.rng.choice(['true', 'false'])})",
            f"sum(CASE WHEN {over}.t THEN 1 ELSE 0 END)",
            f"count(CASE WHEN {over}.s LIKE '_%' THEN true ELSE false END)",
            f"{self.rng.choice(['sum', 'avg', 'max', 'min', 'first', 'last'])}({one} * {over}.k)",
            f"sum(abs({one} - {over}.f))",
            f"stddev(min({one}, 2) / {over}.x)",
        ]
        return self.rng.choice(forms)

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
