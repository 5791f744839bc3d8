"""The results of an aggregate query by either reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from saffron.language.syntax import tree
from tests.reference.match.events import Event, events_of
from tests.reference.match.question import Question
from tests.reference.trends import definition, twin
from tests.reference.trends.asked import Asked, ask
from tests.reference.trends.sums import aggregate, computed
from tests.reference.trends.windows import Trend, Window

Reading = Callable[[Question, Sequence[Event]], Iterator[tuple[Window, set[Trend]]]]
DEFINITION: Reading = definition.trends
TWIN: Reading = twin.trends


class Answer(NamedTuple):
    """What a window has for a group; `opener`: the seq of the event that opened the window, else -1.

    `returned`: ints for counts, else Fractions, None for null.
    """

    low: int
    high: int
    opener: int
    group: dict[str, Any]
    returned: dict[str, Any]


def answers(
    text: str | tree.Query | Asked, events: Sequence[Mapping[str, Any]] | Sequence[Event], reading: Reading = DEFINITION
) -> list[Answer]:
    """All results, windows in the order in which they end; the groups of a window in no particular order."""
    asked = text if isinstance(text, Asked) else ask(text)
    stream = events_of(events)
    found: list[dict[Window, set[Trend]]] = [
        {window._replace(events=()): trends for window, trends in reading(side, stream) if trends}
        for side in asked.sides
    ]
    result = []
    for window in found[0]:
        sides = [side.get(window, set()) for side in found]
        result += list(_answers(asked, window, sides))
    return sorted(result, key=lambda answer: (answer.high, answer.opener))


def of_window(asked: Asked, window: Window, trends: set[Trend]) -> Iterator[Answer]:
    """What RETURN and HAVING make of the trends of a window (not of AND)."""
    return _answers(asked, window, [trends])


def _answers(asked: Asked, window: Window, sides: list[set[Trend]]) -> Iterator[Answer]:
    groups = [_by(asked.group, trends) for trends in sides]
    for key in groups[0]:
        mine = [side.get(key, set()) for side in groups]
        group = dict(zip(asked.group, key, strict=True))

        def known(expression: tree.Expression, mine: list[set[Trend]] = mine, group: Any = group) -> Any:
            if isinstance(expression, tree.Call):
                return _value(asked, expression, mine)
            name = expression.name if isinstance(expression, tree.Name) else getattr(expression, "attribute", None)
            return group[name]

        if len(mine) > 1 and not _pairs(asked, mine):
            continue
        if asked.query.having is None or computed(asked.query.having, known) is True:
            returned = {name: computed(expression, known) for name, expression in asked.items}
            opener = -1 if window.opener is None else window.opener.seq
            yield Answer(window.low, window.high, opener, group, returned)


def _by(names: Sequence[str], trends: set[Trend]) -> dict[tuple[Any, ...], set[Trend]]:
    found: dict[tuple[Any, ...], set[Trend]] = {}
    for trend in trends:
        found.setdefault(tuple(key_value(trend[0][1], name) for name in names), set()).add(trend)
    return found


def key_value(event: Event, name: str) -> Any:
    """-0.0 is 0.0."""
    found = event.get(name)
    return found + 0.0 if isinstance(found, float) else found


def _value(asked: Asked, call: tree.Call, sides: list[set[Trend]]) -> Any:
    if len(sides) > 1:
        return _pairs(asked, sides)
    return aggregate(call, asked.sides[0].pattern, sides[0])


def _pairs(asked: Asked, sides: list[set[Trend]]) -> int:
    """AND: pairs of different trends of one key, as sequences of events, one of each side, in no order (section 9)."""
    names = [key.attribute for key in asked.sides[0].keys if len(key.leaves) == len(asked.sides[0].pattern.leaves)]
    left, right = (
        {key: {tuple(event for _, event in trend) for trend in trends} for key, trends in _by(names, side).items()}
        for side in sides
    )
    total = 0
    for key in left.keys() & right.keys():
        different = {frozenset((one, two)) for one in left[key] for two in right[key] if one != two}
        assert len(different) == pairs(len(left[key]), len(right[key]), len(left[key] & right[key]))
        total += len(different)
    return total


def pairs(left: int, right: int, common: int) -> int:
    """AND of so many trends of each side and of both."""
    one, other = left - common, right - common
    return one * other + one * common + other * common + common * (common - 1) // 2
