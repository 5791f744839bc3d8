"""Random queries of every kind for compiled kernels: their results beside the definition's, or an error with carets.

Machine code depends on what a query is made of, not on its numbers: queries that differ in these alone (`varied`) are
asked of one kernel, which is compiled once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.trend_plan import TrendPlan
from tests.reference.match import generate
from tests.reference.match.answers import answers
from tests.reference.match.question import ANY, Question, question
from tests.reference.match.random_patterns import SETS, TYPES
from tests.reference.trends import generate as trends
from tests.reference.trends.asked import ask
from tests.unit.engine.match import cases, test_general
from tests.unit.engine.match.near import close
from tests.unit.engine.match.selection import test_selection
from tests.unit.engine.trends import language
from tests.unit.engine.trends.test_random_language import check
from tests.unit.engine.uncertain import streams as imprecise

VARIANTS, STREAMS = 10, 2
"""Queries of one kernel, and streams for each."""

_SIZE = re.compile(r"(?<=WITHIN )\d+|(?<=SLIDE )\d+")
_NUMBER = re.compile(r"(?<=[<>=] )-?\d+(?:\.\d+)?(?![\w.])")
_KINDS = (
    "match", "match", "match", "match", "chosen", "chosen", "timed", "timed", "until", "until", "trend", "trend",
    "imprecise",
)  # fmt: skip
_RETURN = re.compile(r" RETURN .*$")


@dataclass(frozen=True)
class Refused:
    """A query that gives an error with carets. `text`: the query."""

    text: str


def asked(seed: int) -> int | Refused:
    """Ask a random query, and others of the same kernel; how many there were. AssertionError: a wrong answer."""
    rng = random.Random(seed)
    kind = rng.choice(_KINDS)
    text, check_one = _TEXTS[kind](rng), _ASK[kind]
    for number in range(VARIANTS):
        one = text if number == 0 else varied(rng, text)
        refused = _refused(check_one, rng, one, f"seed {seed}: {one}")
        if refused is not None:
            assert "^" in str(refused), (seed, one, refused)
            return Refused(text)
    return VARIANTS


def _refused(
    check_one: Callable[[random.Random, str], None], rng: random.Random, text: str, note: str
) -> QueryError | None:
    """The error of a query that is refused; None: it gave the right answers. `note`: what any other error is told."""
    try:
        for _ in range(STREAMS):
            check_one(rng, text)
    except QueryError as error:
        return error
    except Exception as error:
        error.add_note(note)
        raise
    return None


def varied(rng: random.Random, text: str) -> str:
    """The same query with other numbers, of the same kinds."""
    text = _SIZE.sub(lambda found: str(max(1, int(found[0]) + rng.randrange(-2, 4))), text)
    return _NUMBER.sub(lambda found: str(rng.choice([-0.5, 0.5, 1.5] if "." in found[0] else [0, 1, 2, 3])), text)


# ---------------------------------------------------------------- matches


def _match(rng: random.Random) -> str:
    types = rng.choice([TYPES, SETS])
    plain = rng.random() < 0.5
    return generate.query(rng, mixed=rng.random() < 0.7, plain=plain, most=rng.choice([2, 3, 4]), types=types)


def _chosen(rng: random.Random) -> str:
    """With graphs, timed-out runs, and all choices among matches."""
    types, strategy = rng.choice([TYPES, SETS]), rng.choice([ANY, None])
    text = generate.query(rng, mixed=rng.random() < 0.5, plain=True, most=3, strategy=strategy, types=types)
    mode = rng.choice(test_selection.MODES)
    text = _RETURN.sub("", text) if mode == "COMPRESSED" else text
    timeouts = " WITH TIMEOUTS" if rng.random() < 0.3 else ""
    return f"{text} OUTPUT {mode}{timeouts}" + (" CONSUME ALL" if rng.random() < 0.3 else "")


def _timed(rng: random.Random) -> str:
    """With NOTs that last for a time."""
    return generate.query(rng, timed=True, plain=rng.random() < 0.6, most=rng.choice([2, 3, 4]))


def _until(rng: random.Random) -> str:
    """With repetitions that an event ends."""
    plain, strategy = rng.random() < 0.6, rng.choice([ANY, None, None])
    return generate.query(rng, until=True, plain=plain, strategy=strategy, most=rng.choice([2, 3, 4]))


def _ask_match(rng: random.Random, text: str) -> None:
    plan = cases.plan_of(text)
    events = generate.stream(rng, rng.randrange(5, 9 if ANY in text else 12), rng.choice(["AABBC", "ABC", "AAB"]))
    wanted = question(text)
    texts = _results(wanted, plan, events, rng)
    if plan.timeouts or plan.output is Output.COMPRESSED:
        found: list[Any] = test_selection.rows(plan, texts)
        expected: list[Any] = test_selection.wanted(wanted, plan, events)
    else:
        found = cases.parsed(texts)
        expected = [test_general.described(plan, wanted, match) for match in answers(wanted, events)]
    same = close(_known(sorted(found, key=_place)), _known(sorted(expected, key=_place)))
    assert same, (text, events)


def _known(found: Any) -> Any:
    """The results without attributes of events that are null, which may be left out."""
    if isinstance(found, list):
        return [_known(one) for one in found]
    if not isinstance(found, dict):
        return found
    is_event = "seq" in found
    return {name: _known(value) for name, value in found.items() if not is_event or value is not None}


def _place(found: Any) -> str:
    """What tells results apart: their windows and events, of which numbers may be written in two ways."""
    if not isinstance(found, dict):
        return repr(found)
    bound = [one if isinstance(one, list) else [one or {}] for one in found["events"].values()]
    return repr((found["window"], found.get("end"), [[event.get("seq") for event in part] for part in bound]))


def _results(wanted: Question, plan: MatchPlan, events: list[dict[str, Any]], rng: random.Random) -> list[bytes]:
    """By runs or, where the query can have them, by graphs."""
    shed = rng.choice([cases.RUNS, "none"])
    controls = (cases.schema_control(), cases.query_control("add", shed=shed))
    cuts = test_general.cut(rng, events)
    run = MatchOperator(partition=3, compiled=True, compiler=lambda *_: plan)
    texts = cases.results(run, cases.blocks(events, cuts, test_selection.openers(wanted, plan, events), controls))
    status = run.statuses()["q"]
    assert status.state == "active", status
    return texts


# ---------------------------------------------------------------- trends, imprecise time


def _trend(rng: random.Random) -> str:
    return trends.query(rng, types=rng.choice([(), SETS]), formula=rng.choice(["", " * {0}.k", " - {0}.f"]))


def _imprecise(rng: random.Random) -> str:
    text = imprecise.random_query(rng)
    return re.sub(r"\bB(\+?) b", rng.choice([r"(B | C)\1 b", r"ANY\1 b"]), text) if rng.random() < 0.5 else text


def _ask_trend(rng: random.Random, text: str) -> None:
    plan = compile_query(text, language.SCHEMA, name="q")
    assert isinstance(plan, TrendPlan)
    made = language.Case(0, text, ask(text), plan, trends.stream(rng, text, rng.randrange(5, 9)), rng)
    check(made, language.run(made, language.blocks(made, [rng.randrange(len(made.events))]), compiled=True))


def _ask_imprecise(rng: random.Random, text: str) -> None:
    events = imprecise.random_events(rng)
    found = imprecise.answers(imprecise.results(imprecise.runs_of(text, compiled=True), imprecise.columns_of(events)))
    wanted = imprecise.expected(text, events)
    assert found.keys() == wanted.keys()
    assert all(abs(found[one] - wanted[one]) < 1e-12 for one in wanted)


_TEXTS: dict[str, Callable[[random.Random], str]] = {
    "match": _match,
    "chosen": _chosen,
    "timed": _timed,
    "until": _until,
    "trend": _trend,
    "imprecise": _imprecise,
}
_ASK: dict[str, Callable[[random.Random, str], None]] = {
    "match": _ask_match,
    "chosen": _ask_match,
    "timed": _ask_match,
    "until": _ask_match,
    "trend": _ask_trend,
    "imprecise": _ask_imprecise,
}
