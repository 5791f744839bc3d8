"""The results of a query: its matches after CONSUME and OUTPUT, what RETURN makes of them, and INTO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import expression_text
from saffron.language.syntax.paths import steps_text
from saffron.language.syntax.tree import Index
from tests.reference.match.conditions import is_length, read, references
from tests.reference.match.deadlines import deadline
from tests.reference.match.events import Bound, Event, events_of
from tests.reference.match.matches import Match, all_matches
from tests.reference.match.output import chosen
from tests.reference.match.question import Question, question
from tests.reference.match.shape import Leaf
from tests.reference.match.values import Aggregates, value
from tests.reference.match.windows import clock


def answers(
    query: Question | tree.Query | str,
    events: Sequence[Mapping[str, Any] | Event],
    functions: Aggregates | None = None,
) -> list[Match]:
    """The matches that a query reports over the events of one partition, in the order of results.

    `events`: dicts of seq, ts, type and attributes. `functions`: user-defined aggregates by name.
    """
    asked = query if isinstance(query, Question) else question(query, functions)
    stream = events_of(events)
    return chosen(asked, all_matches(asked, stream))


def returned(asked: Question, match: Match) -> dict[str, Any]:
    """The "return" object of a result."""
    items = asked.query.returns.items if asked.query.returns else ()
    return {name: _item(asked, match, item.expression) for name, item in zip(_item_names(items), items, strict=True)}


def _item_names(items: Sequence[tree.Item]) -> list[str]:
    """The alias; else the attribute, if no other item is called so; else the text."""
    texts = [expression_text(item.expression) for item in items]
    short = [item.alias or _path(item.expression) or text for item, text in zip(items, texts, strict=True)]
    count = Counter(short)
    return [
        name if item.alias or count[name] == 1 else text for item, name, text in zip(items, short, texts, strict=True)
    ]


def _path(expression: tree.Expression) -> str | None:
    if not isinstance(expression, tree.Reference) or expression.attribute is None:
        return None
    return expression.attribute + steps_text(expression.steps)


def _item(asked: Question, match: Match, expression: tree.Expression) -> Any:
    def find(reference: tree.Reference) -> tuple[Leaf, list[Bound], int]:
        leaf = asked.pattern.leaf(reference.variable)
        return leaf, [one for one in match.bindings if one.leaf == leaf.number], 0

    def look(part: tree.Reference | tree.Call) -> Any:
        reference = next(references(part))
        leaf, bound, _ = find(reference)
        whole = reference.index is Index.ALL or is_length(reference, leaf)
        return read(part, find, asked.functions) if bound or whole else None

    return value(expression, look)


def composed(asked: Question, events: Sequence[Event]) -> list[Event]:
    """The stream with the results of a query with INTO among its events, as other queries see it (N11)."""
    assert asked.query.returns is not None
    assert asked.query.returns.into is not None
    placed = sorted(
        (_placed(asked, match, events), number, match) for number, match in enumerate(answers(asked, events))
    )
    counters: Counter[int] = Counter(event.seq for event in events if event.counter)
    made = []
    for (seq, ts), _, match in placed:
        counters[seq] += 1
        made.append(Event(seq, ts, asked.query.returns.into, returned(asked, match), counters[seq]))
    return events_of([*events, *made])


def _placed(asked: Question, match: Match, events: Sequence[Event]) -> tuple[int, int]:
    """Position and time of a result."""
    last = match.events()[-1]
    end = deadline(asked, match, events)
    if end is None:
        return last.seq, last.ts
    behind = [event for event in events if clock(asked, event) <= end][-1]
    return behind.seq, behind.ts if asked.query.within.size.events else end
