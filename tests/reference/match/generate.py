"""Random queries over the whole grammar, as text, and streams for them; seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.reference.match.question import ANY, NEXT, PARTITION, STRICT
from tests.reference.match.random_conditions import Conditions
from tests.reference.match.random_patterns import TYPES, Patterns, Variable
from tests.reference.match.worlds import Vague

WORDS = ("a", "b", "ba", "é", "z")
STRATEGIES = (STRICT, PARTITION, NEXT, ANY)


def stream(rng: random.Random, size: int, types: str = "AABBC", *, nulls: float = 0.05) -> list[dict[str, Any]]:
    """Events with ties in time, gaps in seq, and nulls. `nulls`: how likely an attribute is one."""
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
            if rng.random() < nulls:
                event[name] = None
        events.append(event)
        ts += rng.choice([0, 1, 1, 2, 3])
        seq += 1 if rng.random() < 0.9 else 3
    return events


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


def window(rng: random.Random, *, timed: bool = False) -> str:
    unit = "ms" if timed else rng.choice(["ms", "ms", "EVENTS"])
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


def _owner(variable: Variable) -> str:
    """What a key calls the component by: its type, if that is one."""
    return variable.type if variable.type in TYPES else variable.name


def query(
    rng: random.Random,
    *,
    strategy: str | None = None,
    functions: Sequence[str] = (),
    most: int = 5,
    plain: bool = False,
    types: Sequence[str] = TYPES,
    into: str = "",
    timeouts: bool = False,
    mixed: bool = False,
    timed: bool = False,
    until: bool = False,
) -> str:
    """The text of a match query that has a meaning.

    `strategy`: for all components. `functions`: user-defined aggregates that it may call. `most`: about how many
    components. `plain`: without OUTPUT, CONSUME and TIME. `types`: of its events. `into`: the type of its results,
    which then have all attributes. `timeouts`: with OUTPUT ALL WITH TIMEOUTS. `mixed`: with conditions of all kinds of
    references together, which may have no meaning. `timed`: with NOTs that last for a time. `until`: with UNTIL, and
    conditions on what ends a list beside what it took.
    """
    made = Patterns(rng, rng.randrange(1, most + 1), types, timed=timed, until=until)
    pattern = made.root(rng.choice([0, 1, 1, 2, 2]))
    owner = _owner(made.variables[0])
    keys = rng.choice(["", "", "", "", "[k]", "[g]", "[g, k]", "[upper(s)]", "[floor(f), k]", f"[{owner}.k]"])
    conditions = Conditions(rng, made.variables, functions)
    conjuncts = conditions.some() + (conditions.mixed() if mixed else []) + (conditions.ended() if until else [])
    chosen = strategies(rng, made.variables, strategy)
    if PARTITION in chosen and any(variable.absent for variable in made.variables):
        keys = keys.replace(f"{_owner(made.variables[0])}.", "")  # what is next is told by a key of all types
    where = " AND ".join(filter(None, [keys, *conjuncts]))
    braces = f"{{ {where} }}" if where else ""
    parts = ["PATTERN", pattern, f"WHERE {chosen} {braces}" if chosen or braces else "", window(rng, timed=timed)]
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
