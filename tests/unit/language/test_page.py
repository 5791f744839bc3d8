"""Every example of docs/language.md and docs/coming-from: it binds, and finds what the page says (by the reference)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from saffron.errors import QueryError
from saffron.language import bind, compile_query
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.numbers import shown
from tests.reference.match.answers import answers, returned
from tests.reference.match.events import events_of as stream_of
from tests.reference.match.matches import Match
from tests.reference.match.output import Parts, timeouts
from tests.reference.match.question import Question, names, question
from tests.reference.trends import results as trends

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "language.md").read_text()
PAGES = [
    TEXT,
    (DOCS / "sinks.md").read_text(),
    *(page.read_text() for page in sorted((DOCS / "coming-from").glob("*.md"))),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [block for page in PAGES for block in BLOCK.findall(page)]
EXAMPLES = [block for kind, block in BLOCKS if kind == ""]
SPOKEN = [(kind, block) for kind, block in BLOCKS if kind in ("error", "warning")]
EVENT = re.compile(r"(?P<type>[A-Za-z]+)(?P<ts>\d+)(?:\((?P<attributes>[^)]*)\))?")


def events_of(line: str) -> list[dict[str, Any]]:
    """A1 B2(x=5, host='p')."""
    events = []
    for seq, found in enumerate(EVENT.finditer(line)):
        event: dict[str, Any] = {"seq": seq, "ts": int(found["ts"]), "type": found["type"]}
        for pair in filter(None, (found["attributes"] or "").split(",")):
            name, _, value = pair.strip().partition("=")
            event[name] = json.loads(value.replace("'", '"'))
        events.append(event)
    return events


def bound(asked: Question, parts: Parts) -> str:
    """a=1 b=2,3."""
    pairs = zip(names(asked), parts, strict=True)
    return " ".join(f"{leaf.variable}={','.join(str(event.ts) for event in part)}" for leaf, part in pairs if part)


def timed_out(asked: Question, events: list[dict[str, Any]]) -> list[str]:
    """Of a query WITH TIMEOUTS: timed out a=1."""
    if asked.query.output is None or not asked.query.output.timeouts:
        return []
    return sorted(f"timed out {bound(asked, one.parts)}" for one in timeouts(asked, stream_of(events)))


def said(asked: Question, match: Match) -> str:
    """a=1 b=2,3 {name: value}."""
    values = returned(asked, match)
    return bound(asked, match.parts) + (
        " {" + ", ".join(f"{name}: {json.dumps(shown(one))}" for name, one in values.items()) + "}" if values else ""
    )


def counted(answer: trends.Answer) -> str:
    """[low,high) group {name: value}."""
    group = "".join(f" {name}={value}" for name, value in answer.group.items())
    values = {name: int(one) if one == int(one) else float(one) for name, one in answer.returned.items()}
    shown = ", ".join(f"{name}: {json.dumps(one)}" for name, one in values.items())
    return f"[{answer.low},{answer.high}){group} {{{shown}}}"


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: " ".join(block.split())[:60])
def test_examples_give_what_the_page_says(block: str) -> None:
    plan = compile_query(block, None)
    if "-- over" not in block:
        return
    stream = re.search(r"-- over +(.*)", block)
    given = re.search(r"-- gives +(.*)", block, re.DOTALL)
    assert stream is not None
    assert given is not None
    expected = [line.removeprefix("--").strip() for line in given[1].splitlines()]
    if isinstance(plan, TrendPlan):
        assert [counted(answer) for answer in trends.answers(block, events_of(stream[1]))] == expected
        return
    asked, events = question(block), events_of(stream[1])
    assert [said(asked, match) for match in answers(asked, events)] + timed_out(asked, events) == expected


@pytest.mark.parametrize(("kind", "block"), SPOKEN)
def test_errors_and_warnings_are_those_of_the_page(kind: str, block: str) -> None:
    text, _, expected = block.partition("\n\n")
    if kind == "warning":
        assert bind(text, None, name="q").warnings == (expected.strip(),)
        return
    with pytest.raises(QueryError) as caught:
        compile_query(text, None)
    assert str(caught.value) == expected.strip()


def test_links_lead_to_sections() -> None:
    sections = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).strip().replace(" ", "-")
        for line in re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)
    }
    assert set(re.findall(r"\(#([^)]+)\)", TEXT)) <= sections
    assert len(EXAMPLES) > 35
