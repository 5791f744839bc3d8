"""What of a query can be shed, and which queries have partial matches at all."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
import yaml

from saffron.engine.events.strings import Strings
from saffron.engine.match.compressed.slots import Slots
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.runs.graph import Linking
from saffron.language import compile_query, explain_json, explain_text
from saffron.language.cost.shedders import AUTO, BY_EVENTS, BY_PARTIAL_MATCHES, NONE, SHEDDERS, refusal
from saffron.language.cost.shedding import cannot_act, partial_matches
from saffron.language.plan.consistency import is_collapsible
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.plan import Plan
from saffron.records.query import SUCCESSORS
from tests.unit.engine.match import cases
from tests.unit.engine.match.texts import text_of

ROOT = Path(__file__).resolve().parents[4]
LISTS = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match { a.x < c.x } WITHIN 9 ms"
PAIRS = "PATTERN SEQ(A a, B b) WHERE skip-till-any-match WITHIN 9 ms"
SUMS = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match { c.x > sum(b[].x) } WITHIN 9 ms"


@pytest.mark.parametrize("topic", ["queries", "windows", "admitted"])
def test_names_are_those_of_the_schema(topic: str) -> None:
    text = (ROOT / "schemas" / f"{topic}.yaml").read_text()
    assert f"[{', '.join(SHEDDERS)}]" in text
    assert yaml.safe_load(text)


def test_another_name_is_refused_with_what_may_be_meant() -> None:
    assert not any(map(refusal, SHEDDERS))
    assert refusal("pspise").startswith("there is no shedder 'pspise'; there are none, auto, pspice, ")
    assert refusal("pspise").endswith("Did you mean 'pspice'?")
    assert refusal(None).startswith("there is no shedder None")


@pytest.mark.parametrize(("name", "instead"), SUCCESSORS.items())
def test_a_baseline_is_refused_with_what_to_choose_instead(name: str, instead: str) -> None:
    assert refusal(name) == f"'{name}' is a baseline of experiments, no shedder: choose {instead}"
    assert instead in SHEDDERS


@pytest.mark.parametrize(
    ("text", "with_runs"),
    [
        (LISTS, {"gspice-h", "pspice"}),
        (f"{LISTS} OUTPUT COMPRESSED", set()),
        (f"{LISTS} CONSUME b OUTPUT COMPRESSED", {"gspice-h", "pspice"}),
        (f"{LISTS} OUTPUT ALL WITH TIMEOUTS", {NONE, AUTO, "gspice-h", "pspice"}),
        (PAIRS, {AUTO, "gspice-h", "pspice"}),
        (SUMS, {NONE, AUTO, "gspice-h", "pspice"}),
        (LISTS.replace("skip-till-any-match", "skip-till-next-match"), {NONE, AUTO, "gspice-h", "pspice"}),
    ],
)
def test_runs_are_kept_where_they_may_be_shed(text: str, with_runs: set[str]) -> None:
    plan = cases.plan_of(text)
    for shed in (NONE, AUTO, "gspice-h", "pspice"):
        found = fastest(plan, cases.SCHEMA, Strings(), compiled=False, shed=shed)
        assert isinstance(found.source, Linking) is (shed not in with_runs)
        assert partial_matches(plan, shed).kept is (shed in with_runs)


LIKELY = f"{PAIRS} CONFIDENCE >= 0.5"
GRAPHS = f"{LISTS} OUTPUT COMPRESSED"


@pytest.mark.parametrize(
    ("text", "why", "able"),
    [
        ("RETURN COUNT(*) PATTERN A+ WITHIN 9 ms", "query q has none, for it aggregates", BY_EVENTS),
        (GRAPHS, "query q has none, graphs, which are its results", (AUTO, *BY_EVENTS)),
        (LIKELY, "query q has none, events with intervals of time", (AUTO, *BY_EVENTS)),
    ],
)
def test_a_shedder_of_partial_matches_cannot_act_where_there_are_none(
    text: str, why: str, able: tuple[str, ...]
) -> None:
    plan: Plan = compile_query(text, cases.SCHEMA, name="q")
    for shedder in BY_PARTIAL_MATCHES:
        told = cannot_act(plan, shedder)
        assert told.startswith(f"{shedder} drops partial matches, of which {why}; sheds events only. ")
        assert told.endswith(f"can act on it are {', '.join(able)}")
    assert not any(cannot_act(plan, shedder) for shedder in (NONE, AUTO, *BY_EVENTS))


def test_over_imprecise_time_it_cannot_act_either() -> None:
    assert cannot_act(cases.plan_of(PAIRS), "pspice") == ""
    assert "events with intervals of time" in cannot_act(cases.plan_of(PAIRS), "pspice", imprecise=True)


def test_explanations_say_so() -> None:
    assert "\n  partial matches: none, graphs; sheds events only, for " in explain_text(cases.plan_of(LISTS))
    assert "\n  partial matches: runs; with --shed none, " in explain_text(cases.plan_of(LISTS), "pspice")
    assert "\n  partial matches: none, graphs; nothing is shed\n" in explain_text(cases.plan_of(PAIRS), NONE)
    found = explain_json(cases.plan_of(SUMS), NONE)["partial_matches"]
    assert found == {"shed": NONE, "kept": True, "reason": "runs"}
    likely = cases.plan_of(f"{PAIRS} CONFIDENCE >= 0.5")
    assert "partial matches: none, events with intervals" in explain_text(likely)


def test_what_can_be_a_graph_is_what_the_engine_takes() -> None:
    rng, seen = random.Random(11), Counter[tuple[bool, bool]]()
    while len(seen) < 4 or min(seen.values()) < 2:
        plan = cases.plan_of(text_of(cases.plan(rng, Strategy.ANY)))
        slots, closures = Slots(plan), any(component.closure for component in plan.components)
        taken = slots.possible and (closures or not slots.most)
        assert is_collapsible(plan) is taken, plan.text
        seen[closures, taken] += 1
