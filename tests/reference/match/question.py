"""A match query, taken apart from its syntax tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from saffron.language.syntax import tree
from tests.reference.match.conditions import Condition, Pair, condition, violated
from tests.reference.match.events import Bindings, Event
from tests.reference.match.shape import Leaf, Pattern, shape_of
from tests.reference.match.values import Aggregates, compared
from tests.reference.paths import with_paths

STRICT, PARTITION, NEXT, ANY = (
    "strict-contiguity",
    "partition-contiguity",
    "skip-till-next-match",
    "skip-till-any-match",
)


@dataclass(frozen=True)
class Key:
    """[attr]: the events of `leaves` agree on it, none null."""

    attribute: str
    leaves: frozenset[int]


@dataclass(frozen=True)
class Question:
    """`conditions`: those on positive components; `absent`: those that name a component inside a NOT.

    `partition`: attributes that every positive component is asked to agree on.
    `begins`, `continues`: the strategy while waiting for a component (x), and between its events (x[i]).
    `pairs`: conditions on adjacent events (aggregate queries).
    `loose`: closures whose events have no order among themselves (imprecise time, uncorrelated).
    """

    query: tree.Query
    pattern: Pattern
    conditions: tuple[Condition, ...]
    absent: tuple[Condition, ...]
    keys: tuple[Key, ...]
    partition: tuple[str, ...]
    begins: Mapping[int, str]
    continues: Mapping[int, str]
    strict_time: bool
    functions: Aggregates = field(default_factory=dict)
    loose: frozenset[int] = frozenset()
    pairs: tuple[Pair, ...] = ()


def question(query: tree.Query | str, functions: Aggregates | None = None, *, default: str = NEXT) -> Question:
    """Raises QueryError for what is no query, ValueError for one that has no meaning."""
    parsed = with_paths(query)
    if parsed.group or parsed.having is not None:
        raise ValueError("GROUP BY and HAVING belong to aggregate queries")
    pattern = shape_of(parsed.pattern)
    conditions: list[Condition] = []
    absent: list[Condition] = []
    for conjunct in parsed.conditions:
        if not isinstance(conjunct, tree.Key):
            made = condition(conjunct, pattern)
            inside = any(leaf.number >= pattern.positive for _, leaf in made.references)
            (absent if inside else conditions).append(made)
    keys = tuple(_keys(parsed, pattern))
    everyone = frozenset(range(pattern.positive))
    begins, continues = _strategies(parsed, pattern, default)
    return Question(
        query=parsed,
        pattern=pattern,
        conditions=tuple(conditions),
        absent=tuple(absent),
        keys=keys,
        partition=tuple(dict.fromkeys(key.attribute for key in keys if everyone <= key.leaves)),
        begins=begins,
        continues=continues,
        strict_time=parsed.time is not None and parsed.time.value == "STRICT",
        functions=functions or {},
    )


def _keys(query: tree.Query, pattern: Pattern) -> list[Key]:
    keys = []
    for conjunct in query.conditions:
        if isinstance(conjunct, tree.Key):
            for part in conjunct.attributes:
                keys.append(Key(part.name, _asked(part.owner, pattern)))
    return keys


def _asked(owner: str | None, pattern: Pattern) -> frozenset[int]:
    """The components of which an attribute is asked: all, those of a type, or that of a variable."""
    if owner is None:
        return frozenset(range(len(pattern.leaves)))
    typed = frozenset(leaf.number for leaf in pattern.leaves if leaf.types == (owner,))
    return typed or frozenset([pattern.leaf(owner).number])


def _strategies(query: tree.Query, pattern: Pattern, default: str) -> tuple[dict[int, str], dict[int, str]]:
    everyone = set(range(pattern.positive))
    special = []
    for use in query.strategies:
        named = {pattern.leaf(target.variable).number for target in use.targets}
        if (named >= everyone and not any(target.current for target in use.targets)) or not use.targets:
            default = use.name
        else:
            special.append(use)
    begins, continues = dict.fromkeys(everyone, default), dict.fromkeys(everyone, default)
    for use in special:
        for target in use.targets:
            number = pattern.leaf(target.variable).number
            (continues if target.current else begins)[number] = use.name
    return begins, continues


def keys_agree(asked: Question, bindings: Bindings) -> bool:
    """Whether the events agree on every [attr] that is asked of them."""
    for key in asked.keys:
        values = [bound.event.get(key.attribute) for bound in bindings if bound.leaf in key.leaves]
        if any(not compared("=", one, values[0]) for one in values):
            return False
    return True


def distinct_differ(asked: Question, bindings: Bindings) -> bool:
    """Whether the events of every ANY ... DISTINCT differ, none null."""
    for rule in asked.pattern.distinct:
        seen: dict[tuple[int, ...], list[object]] = {}
        for bound in bindings:
            if bound.leaf in rule.leaves:
                values = seen.setdefault(bound.iterations[: len(rule.loops)], [])
                mine = bound.event.get(rule.attribute)
                if mine is None or any(not compared("!=", mine, other) for other in values):
                    return False
                values.append(mine)
    return True


def complete(asked: Question, bindings: Bindings) -> bool:
    """Whether all conditions hold now that every list is finished."""
    return not any(violated(one, bindings, lambda _: True, asked.functions) for one in asked.conditions)


def adjacent(asked: Question, before: Event, after: Event) -> bool:
    """Whether one event may follow the other in a match."""
    return before.ts < after.ts if asked.strict_time else before.order() < after.order()


def in_order(asked: Question, bindings: Bindings) -> bool:
    """Whether each event may follow the one before it."""
    return all(
        (one.leaf == other.leaf and one.leaf in asked.loose) or adjacent(asked, one.event, other.event)
        for one, other in pairwise(bindings)
    )


def names(asked: Question) -> list[Leaf]:
    """The components that a match binds, by number."""
    return list(asked.pattern.leaves[: asked.pattern.positive])
