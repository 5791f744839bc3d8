"""Small streams and queries over imprecise time, and what the engine says of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import orjson

from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.strings import Strings
from saffron.engine.match.core.stream import Range
from saffron.engine.match.uncertain.program import compile_uncertain
from saffron.engine.match.uncertain.render import LikelyMatches
from saffron.engine.match.uncertain.runs import UncertainRuns
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import NULL_INT, Distribution, Kind, Schema
from tests.reference.match.question import question
from tests.reference.match.worlds import Vague, likely_matches

TYPES = ("A", "B", "C")
ATTRIBUTES = ("k", "x")


def schema_of(law: Distribution = "uniform") -> Schema:
    return Schema(
        {"k": Kind.STRING, "x": Kind.INT},
        dict.fromkeys(TYPES, ATTRIBUTES),
        dict.fromkeys(TYPES, frozenset()),
        given=True,
        times=dict.fromkeys(TYPES, law),
    )


def chances(law: Distribution, n: int) -> tuple[Fraction, ...]:
    """The probability of each of n instants, from the definition of `Distribution`."""

    def below(part: Fraction) -> Fraction:
        if law == "uniform":
            return part
        if law == "triangular":
            return 2 * part**2 if 2 * part <= 1 else 1 - 2 * (1 - part) ** 2
        weights = [Fraction(weight) for weight in law]
        full = part * len(weights)
        done = int(full)
        rest = (full - done) * weights[done] if done < len(weights) else Fraction(0)
        return (sum(weights[:done], Fraction(0)) + rest) / sum(weights)

    return tuple(below(Fraction(i + 1, n)) - below(Fraction(i, n)) for i in range(n))


def event(seq: int, kind: str, lo: int, hi: int, law: Distribution = "uniform", **attributes: Any) -> Vague:
    return Vague(seq, lo, hi, kind, attributes, chances(law, hi - lo + 1))


def columns_of(events: Sequence[Vague]) -> Columns:
    keys = tuple(dict.fromkeys(str(e.attributes["k"]) for e in events if e.attributes.get("k") is not None))
    code = [-1 if e.attributes.get("k") is None else keys.index(e.attributes["k"]) for e in events]
    x = [NULL_INT if e.attributes.get("x") is None else e.attributes["x"] for e in events]
    return Columns(
        seq=np.array([e.seq for e in events], np.int64),
        ts=np.array([e.lo for e in events], np.int64),
        time=np.zeros(len(events), np.int64),
        type=Column(Kind.STRING, np.array([TYPES.index(e.type) for e in events], np.int32), TYPES),
        attributes={
            "k": Column(Kind.STRING, np.array(code, np.int32), keys),
            "x": Column(Kind.INT, np.array(x, np.int64)),
        },
        latest=np.array([e.hi for e in events], np.int64),
    )


def runs_of(text: str, law: Distribution = "uniform", *, compiled: bool = False) -> UncertainRuns:
    schema = schema_of(law)
    plan = compile_query(text, schema, name="q")
    assert isinstance(plan, MatchPlan)
    return UncertainRuns(compile_uncertain(plan, compiled=compiled), schema, Strings())


def block(runs: UncertainRuns, columns: Columns, low: int, high: int) -> list[bytes]:
    """The results of events low..high-1, as one block."""
    if low == high:
        return []
    runs.begin_block(int(columns.ts[low]))
    runs.advance(Range(columns, low, high), None)
    matches = LikelyMatches(runs, runs.work, "q", 0)
    return matches.json(np.arange(len(matches)))


def results(runs: UncertainRuns, columns: Columns, cuts: Sequence[int] = ()) -> list[bytes]:
    """All results, the stream being cut into blocks at these places."""
    bounds = [0, *cuts, len(columns)]
    return [text for low, high in itertools.pairwise(bounds) for text in block(runs, columns, low, high)]


Answer = tuple[tuple[tuple[int, ...], ...], tuple[int, int] | None]


def answers(found: Sequence[bytes]) -> dict[Answer, float]:
    """Confidence by (seqs by component, window)."""
    made: dict[Answer, float] = {}
    for text in found:
        body = orjson.loads(text)
        seqs = tuple(
            tuple(one["seq"] for one in (part if isinstance(part, list) else [part]))
            for part in body["events"].values()
        )
        key = (seqs, None if body["window"] is None else tuple(body["window"]))
        assert key not in made
        made[key] = body["confidence"]
    return made


def expected(text: str, events: Sequence[Vague]) -> dict[Answer, Fraction]:
    """The same by possible worlds."""
    return {
        (tuple(tuple(seq for seq, _ in part) for part in one.parts), one.window): one.confidence
        for one in likely_matches(question(text), events)
    }


# ---------------------------------------------------------------- random ones

PATTERNS = (
    ("SEQ(A a, B b)", ()),
    ("SEQ(A a, B b, C c)", ()),
    ("SEQ(A+ a[], B b)", ("a",)),
    ("SEQ(A a, B+ b[])", ("b",)),
    ("SEQ(A a, B+ b[], C c)", ("b",)),
    ("SEQ(A a, A+ b[])", ("b",)),
    ("SEQ(A+ a[], A+ b[])", ("a", "b")),
    ("SEQ(A+ a[], B+ b[], C c)", ("a", "b")),
    ("A+ a[]", ("a",)),
    ("A a", ()),
)


def random_query(rng: random.Random) -> str:
    pattern, closures = rng.choice(PATTERNS)
    conditions = [rng.choice(_conditions(rng, pattern, closures)) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    key = ["[k]"] if rng.random() < 0.3 else []
    where = " AND ".join([*key, *dict.fromkeys(conditions)])
    size = rng.choice((1, 2, 3, 4, 6, 9, 30))
    slide = f" SLIDE {rng.choice((1, 2, 3, 7))} ms" if rng.random() < 0.25 else ""
    least = rng.choice(("0", "0", "0.1", "0.25", "0.5", "0.9", "1"))
    return (
        f"PATTERN {pattern} "
        + (f"WHERE skip-till-any-match {{ {where} }} " if where else "")
        + f"WITHIN {size} ms{slide} CONFIDENCE >= {least}"
    )


def _conditions(rng: random.Random, pattern: str, closures: Sequence[str]) -> list[str]:
    number = rng.choice((1, 2, 3))
    found = [f"a{'[i]' if 'a' in closures else ''}.x > {number - 1}"]
    for name in closures:
        found += [
            f"{name}[i].x >= {name}[i-1].x",
            f"{name}[i].x > avg({name}[..i-1].x)",
            f"{name}[1].x < {number + 1}",
            f"{name}[last].x != {number}",
            f"sum({name}[].x) > {number}",
            f"{name}.len <= {number}",
            f"max({name}[].x) > {number}",
            f"{name}[i].x != {name}[i-2].x",
            f"stddev({name}[].x) < {number}",
            f"count({name}[].k) = {number}",
            f"count({name}[..i-1].k) < {number}",
        ]
    if "a" not in closures and "b" in pattern:
        found.append(f"b{'[i]' if 'b' in closures else ''}.x >= a.x")
    if len(closures) == 2:
        found += ["b[1].x = a[last].x", "b[1].x > sum(a[].x)", "b[i].x != max(a[].x)", f"b[1].x > a.len - {number}"]
        found += ["a[i].x > a[i-1].x AND b[1].x = a[last].x"] * 2
    if "c" in pattern:
        found.append("c.x > a[1].x" if "a" in closures else "c.x > a.x")
        found.append("c.x < avg(b[].x)" if "b" in closures else "c.x > b.x")
    return found


def random_events(rng: random.Random, law: Distribution = "uniform", most: int = 6) -> list[Vague]:
    drafts = []
    for _ in range(rng.randint(1, most)):
        lo = rng.randint(0, 8)
        length = rng.choice((1, 1, 2, 3, 3, 4))
        attributes = {"k": rng.choice(("u", "u", "v", None)), "x": rng.choice((0, 1, 2, 3, None))}
        drafts.append((lo, lo + length - 1, rng.choice("AAABBBC"), attributes))
    drafts.sort(key=lambda draft: draft[0])
    return [event(n, kind, lo, hi, law, **attributes) for n, (lo, hi, kind, attributes) in enumerate(drafts)]
