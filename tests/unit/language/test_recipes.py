"""Every recipe of docs/recipes.md gives what the page says: by a replay, fed by hand, and by the reference."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import saffron
from saffron.api.result import Result
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.numbers import shown
from tests.reference.match.answers import answers, returned
from tests.reference.match.question import question
from tests.reference.trends import results as trends

PAGE = Path(__file__).parents[3] / "docs" / "recipes.md"
TEXT = PAGE.read_text("utf-8")
RECIPE = re.compile(
    r"^### (?P<title>.*?)\n.*?^```json events\n(?P<events>.*?)^```\n\n"
    r"^```saf\n(?P<query>.*?)^```\n\n^```json results\n(?P<results>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

Values = dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """A recipe on the page."""

    title: str
    query: str
    events: list[Values]
    results: list[Values]


def lines(text: str) -> list[Values]:
    return [json.loads(line) for line in text.splitlines()]


RECIPES = [
    Recipe(found["title"], found["query"], lines(found["events"]), lines(found["results"]))
    for found in RECIPE.finditer(TEXT)
]
each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)


def values(result: Result) -> Values:
    return {**(result.group if isinstance(result, saffron.Trend) else {}), **result.returns}


def test_the_page_has_twenty_recipes_or_more() -> None:
    assert len(RECIPES) == TEXT.count("\n### ") >= 20


@each_recipe
def test_a_replay_gives_what_the_page_says(recipe: Recipe) -> None:
    assert [values(one) for one in saffron.replay(recipe.query, recipe.events)] == recipe.results


@each_recipe
def test_events_fed_by_hand_give_the_same(recipe: Recipe) -> None:
    known = saffron.replay(recipe.query, recipe.events)
    list(known)
    assert known._replay is not None
    live = saffron.open(recipe.query, known._replay.schema)
    found = [values(one) for event in recipe.events for one in live.feed(event)]
    assert [*found, *map(values, live.flush())] == recipe.results


@each_recipe
def test_so_says_the_reference(recipe: Recipe) -> None:
    events = [
        {**event, "seq": seq, "ts": round(datetime.fromisoformat(event["ts"]).timestamp() * 1000)}
        for seq, event in enumerate(recipe.events)
    ]
    found: list[Values]
    if isinstance(compile_query(recipe.query, None), TrendPlan):
        found = [{**one.group, **one.returned} for one in trends.answers(recipe.query, events)]
    else:
        asked = question(recipe.query)
        found = [returned(asked, match) for match in answers(asked, events)]
    assert sorted(map(place, found)) == sorted(map(place, recipe.results))


def place(found: Values) -> str:
    """Values that can be compared, whatever their numbers are made of."""
    return repr({name: number(shown(value)) for name, value in found.items()})


def number(value: Any) -> Any:
    return value if isinstance(value, str) or value is None else round(float(value), 6)
