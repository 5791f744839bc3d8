"""Longer intervals: the dynamic program against every combination of the times of a match's own events."""

from __future__ import annotations

import random

import pytest

from saffron.schema.schema import Distribution
from tests.reference.uncertain import confidence
from tests.unit.engine.uncertain.streams import answers, columns_of, event, results, runs_of

PATTERNS = (
    ("SEQ(A a, B b, C c)", "", (False, False, False)),
    ("SEQ(A a, B+ b[], C c)", "", (False, True, False)),
    ("SEQ(A a, B+ b[], C c)", "b[last].x >= 0", (False, False, False)),
    ("SEQ(A+ a[], B b)", "", (True, False)),
    ("SEQ(A+ a[], B b)", "a[i].x >= a[i-1].x", (False, False)),
    ("SEQ(A a, B+ b[])", "", (False, True)),
    ("SEQ(A+ a[], B+ b[])", "", (True, True)),
    ("SEQ(A+ a[], B+ b[], C+ c[])", "", (True, True, True)),
)
LAWS: tuple[Distribution, ...] = ("uniform", "triangular", (2.0, 1.0, 0.0, 5.0, 1.0))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("number", range(len(PATTERNS)))
def test_confidence(number: int, law: Distribution) -> None:
    pattern, condition, loose = PATTERNS[number]
    rng = random.Random(number)
    seen = 0
    for _ in range(8):
        needed = [kind for kind in "ABC" if kind in pattern]
        kinds = [*needed, *rng.choices(needed, k=4 - len(needed))]
        gap = rng.choice((3, 9, 14))  # how far apart the components are: overlapping or not
        drafts = sorted((gap * "ABC".index(kind) + rng.randrange(6), rng.randint(1, 9), kind) for kind in kinds)
        events = [event(seq, kind, lo, lo + n - 1, law, x=1) for seq, (lo, n, kind) in enumerate(drafts)]
        within, slide = rng.choice(((50, 0), (rng.randint(3, 30), 0), (rng.randint(8, 24), 0), (22, 5)))
        text = (
            f"PATTERN {pattern} {f'WHERE {condition}' if condition else ''} "
            f"WITHIN {within} ms {f'SLIDE {slide} ms' if slide else ''} CONFIDENCE >= 0"
        )
        for (seqs, window), chance in answers(results(runs_of(text, law), columns_of(events))).items():
            parts = [[events[seq] for seq in part] for part in seqs]
            assert chance == pytest.approx(float(confidence(parts, loose, within=within, window=window)), abs=1e-12)
            seen += 1
    assert seen > 3
