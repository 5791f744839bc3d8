"""Random conditions, aggregates and HAVING of aggregate queries over the components of a pattern; seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.reference.match.shape import Leaf, Pattern

COMPARISONS = ("<", "<=", ">", ">=", "=", "!=")

OF_ONE_EVENT = (
    "{}.s LIKE '_'", "lower({}.s) = 'a'", "{}.x IS NULL", "{}.f IS NOT NULL", "{0}.x BETWEEN 0 AND 1",
    "coalesce({}.t, true)", "length({}.s) = 1", "CASE WHEN {0}.x > 1 THEN {0}.t ELSE {0}.s = 'a' END",
    "ceil({}.f) > 1", "nullif({}.x, 1) >= 0", "CAST({}.x AS string) = '2'",
)  # fmt: skip
"""Conditions with functions, of any event."""


class Conditions:
    """`edges`: pairs of components of which the second may directly follow the first."""

    def __init__(
        self, rng: random.Random, pattern: Pattern, edges: Sequence[tuple[int, int]], formula: str = ""
    ) -> None:
        """`formula`: what stands behind each value that is aggregated, with {0} for its variable."""
        self.rng = rng
        self.formula = formula
        self.leaves = pattern.leaves
        self.present = pattern.leaves[: pattern.positive]
        self.closures = pattern.closures
        self.edges = [(pattern.leaves[one], pattern.leaves[other]) for one, other in edges]

    def some(self) -> list[str]:
        made = [self._local() for _ in range(self.rng.choice([0, 0, 0, 1]))]
        if self.edges:
            made += [self._edge() for _ in range(self.rng.choice([0, 0, 1, 1, 1, 2]))]
        self.rng.shuffle(made)
        return made

    def _sign(self) -> str:
        return self.rng.choice(COMPARISONS)

    def _local(self) -> str:
        leaf = self.rng.choice(self.leaves)
        name = f"{leaf.variable}[i]" if leaf.loops and self.rng.random() < 0.3 else leaf.variable
        roll = self.rng.random()
        if roll < 0.6:
            return f"{name}.{self.rng.choice('xf')} {self._sign()} {self.rng.choice(['0', '1', '2', '0.5'])}"
        if roll < 0.68:
            return f"{name}.s IN ('a', 'b', 'é')"
        if roll < 0.75:
            return self.rng.choice(OF_ONE_EVENT).format(name)
        if roll < 0.85:
            return f"{name}.t"
        if roll < 0.9:
            return f"{name}.ts {self._sign()} {self.rng.randrange(5)}"
        if roll < 0.91:
            return self.rng.choice(["1 < 2", "2 < 1"])
        return f"({name}.s = 'a' OR NOT {name}.x > 1)"

    def _edge(self) -> str:
        """A condition, or a conjunction of two, on adjacent events."""
        one, other = self.rng.choice(self.edges)
        before, after = one.variable, f"NEXT({other.variable})"
        plain = self._as_match_queries_do(one, other)
        if plain and self.rng.random() < 0.25:
            before, after = plain
        elif one.loops and self.rng.random() < 0.1:
            before = f"{before}[i]"
        forms = (self._inequality, self._inequality, self._inequality, self._equality, self._band, self._mixed)
        return self.rng.choice(forms)(before, after)

    def _as_match_queries_do(self, one: Leaf, other: Leaf) -> tuple[str, str] | None:
        if one is other and one.number in self.closures:
            return f"{one.variable}[i-1]", f"{one.variable}[i]"
        if any(leaf.loops and leaf.number not in self.closures for leaf in (one, other)) or one is other:
            return None
        if {one.number, other.number} - {leaf.number for leaf in self.present} and (one.loops or other.loops):
            return None
        return one.variable + "[last]" * bool(one.loops), other.variable + "[1]" * bool(other.loops)

    def _inequality(self, before: str, after: str) -> str:
        name = self.rng.choice("xxxfs")
        if name == "s":
            return f"{before}.s {self._sign()} {after}.s"
        if self.rng.random() < 0.1:
            return f"{after}.ts - {before}.ts {self.rng.choice(['<=', '>'])} {self.rng.randrange(1, 5)} ms"
        change = self.rng.choice(["{}", "{}", "{} + 1", "{} * 2 - 1", "-{}", "{} / 2", "floor({})", "coalesce({}, 1)"])
        left, right = change.format(f"{before}.{name}"), f"{after}.{name}"
        if self.rng.random() < 0.15:
            right = f"{right} * {self.rng.choice(['1.05', '-1', '0.5'])}"
        if self.rng.random() < 0.3:
            left, right = right, left
        return f"{left} {self._sign()} {right}"

    def _equality(self, before: str, after: str) -> str:
        name = self.rng.choice("kgstx")
        text = f"{before}.{name} {self.rng.choice(['=', '=', '!='])} {after}.{name}"
        return f"{text} AND {self._inequality(before, after)}" if self.rng.random() < 0.4 else text

    def _band(self, before: str, after: str) -> str:
        low, high = sorted(self.rng.sample(range(-2, 4), 2))
        sign = self.rng.choice(["<", "<="])
        return f"{before}.x + {low} {sign} {after}.x AND {after}.x {sign} {before}.x + {high}".replace("+ -", "- ")

    def _mixed(self, before: str, after: str) -> str:
        """Not to be split into a part of the earlier and one of the later event."""
        return self.rng.choice(
            [
                f"abs({before}.x - {after}.x) {self._sign()} 2",
                f"lower({before}.s) {self._sign()} upper({after}.s)",
                f"CASE WHEN {before}.t THEN {before}.x ELSE {after}.x END {self._sign()} 1",
                f"{before}.x * {after}.x > 1",
                f"({before}.x < {after}.x OR {before}.k = {after}.k)",
                f"NOT {before}.x > {after}.x",
                f"max({before}.x, {after}.x) <= 2",
                f"{before}.x + {after}.f {self._sign()} {before}.f + 1",
            ]
        )

    # ------------------------------------------------------------ RETURN and HAVING

    def plain(self) -> str:
        """COUNT(*) and some other aggregates."""
        return ", ".join(["COUNT(*)", *(f"{self._aggregate()} AS r{n}" for n in range(self.rng.choice([1, 2, 3])))])

    def returned(self, group: Sequence[str]) -> tuple[str, str]:
        """The items of RETURN, and HAVING ("" for none)."""
        items = [f"{self._aggregate()} AS r{number}" for number in range(self.rng.choice([0, 1, 1, 2, 3]))]
        if not items or self.rng.random() < 0.6:
            items.insert(self.rng.randrange(len(items) + 1), "COUNT(*)")
        if self.rng.random() < 0.15:
            items.append(f"{self._computed()} AS c")
        items[:0] = [name for name in group if self.rng.random() < 0.3]
        return ", ".join(items), self._having(group) if self.rng.random() < 0.2 else ""

    def _aggregate(self) -> str:
        leaf = self.rng.choice(self.present)
        if self.rng.random() < 0.25:
            return f"COUNT({leaf.variable})"
        function, attribute = self.rng.choice(["MIN", "MAX", "SUM", "AVG"]), self.rng.choice("xxf")
        return f"{function}({leaf.variable}.{attribute}{self.formula.format(leaf.variable)})"

    def _computed(self) -> str:
        one, other = self._aggregate(), self._aggregate()
        return self.rng.choice(
            [
                f"floor({one} / 2)",
                f"CASE WHEN COUNT(*) > 2 THEN {one} ELSE coalesce({other}, 0) END",
                f"{one} / COUNT(*)",
                f"{one} - {other}",
                f"2 * {one} + 1",
                f"abs({one})",
                f"({one} + {other}) / 2",
            ]
        )

    def _having(self, group: Sequence[str]) -> str:
        leaf = self.rng.choice(self.present).variable
        forms = [
            f"COUNT(*) {self._sign()} {self.rng.randrange(1, 6)}",
            f"SUM({leaf}.x) {self._sign()} {self.rng.randrange(-2, 8)}",
            f"MIN({leaf}.f) < 2 AND COUNT(*) > 1",
            f"AVG({leaf}.f) >= 1.5",
            f"NOT MAX({leaf}.x) = 3 OR COUNT({leaf}) > COUNT(*)",
        ]
        if "g" in group:
            forms.append("g = 'a' OR COUNT(*) > 3")
        return self.rng.choice(forms)
