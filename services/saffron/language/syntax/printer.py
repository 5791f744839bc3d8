"""The printer: a syntax tree to its canonical text, with clauses in a fixed order and one spelling for each meaning.

`parse(query_text(tree)) == tree` for every tree that the parser can give.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from saffron.language.syntax.expression_printer import event_name, expression_text, key_attribute_text, number_text
from saffron.language.syntax.lexing.cursor import RESERVED
from saffron.language.syntax.lexing.tokens import name_text, string_text
from saffron.language.syntax.parsing.clauses import CLAUSES
from saffron.language.syntax.parsing.expressions import AND
from saffron.language.syntax.paths import attribute_text
from saffron.language.syntax.tree import (
    AnyOf,
    Conjunction,
    Consume,
    Disjunction,
    Due,
    Event,
    Negation,
    Pattern,
    Publish,
    Query,
    Repeat,
    Returns,
    Sequence,
    Size,
    StrategyUse,
    Within,
    is_repetition,
)

_CLAUSES = frozenset(CLAUSES) - RESERVED
_TYPES = RESERVED | {"any"}
_VARIABLES = RESERVED | {"for", "every"}
_BEHIND_TYPE = _CLAUSES | RESERVED
_CONSUMED = RESERVED | {"none", "all"}
"""Words that need double quotes as a name: as a type, as a variable (of a NOT), behind a type, and behind CONSUME."""


def types_text(types: tuple[str, ...]) -> str:
    """The types of an event as a pattern writes them: A, (A | B), and ANY for ()."""
    names = [name_text(name, taken=_TYPES) for name in types]
    return "ANY" if not names else names[0] if len(names) == 1 else f"({' | '.join(names)})"


def meaning_text(query: Query) -> str:
    """The canonical text that ids of results hash, without clauses that change neither the results nor their values."""
    return query_text(replace(query, emit=None, publish=None))


def query_text(query: Query, *, named: bool = False) -> str:
    """The query in one line. `named`: it begins with QUERY and its name."""
    parts = [
        f"QUERY {query.name}" if named and query.name else "",
        f"FROM {query.stream}" if query.stream else "",
        f"PATTERN {_whole(query.pattern)}",
        _where(query),
        "GROUP BY " + ", ".join(map(key_attribute_text, query.group)) if query.group else "",
        f"HAVING {expression_text(query.having)}" if query.having is not None else "",
        _within(query.within),
        _returns(query.returns) if query.returns else "",
        f"OUTPUT {query.output.mode}" + (" WITH TIMEOUTS" if query.output.timeouts else "") if query.output else "",
        _consume(query.consume) if query.consume else "",
        f"CONFIDENCE >= {number_text(query.confidence.value)}" if query.confidence else "",
        f"TIME {query.time.value}" if query.time else "",
        f"WEIGHT {number_text(query.weight.value)}" if query.weight else "",
        "EXACT" if query.exact else "",
        "EMIT VALUES" if query.emit else "",
        _publish(query.publish) if query.publish else "",
    ]
    return " ".join(part for part in parts if part)


# ---------------------------------------------------------------- patterns


def _whole(pattern: Pattern) -> str:
    """The pattern of the query, in brackets if a variable in it could be read as a clause's keyword."""
    closed = isinstance(pattern, Sequence) or (isinstance(pattern, AnyOf) and pattern.distinct is None)
    clause = any((one.variable or "").lower() in _CLAUSES for one in _events(pattern))
    return f"({pattern_text(pattern)})" if clause and not closed else pattern_text(pattern)


def _events(pattern: Pattern) -> Iterator[Event]:
    """The events of a pattern, at any depth."""
    if isinstance(pattern, Event):
        yield pattern
    parts = (pattern.pattern,) if isinstance(pattern, Repeat | Negation) else getattr(pattern, "parts", ())
    if isinstance(pattern, Repeat) and pattern.until is not None:
        parts = (*parts, pattern.until)
    for part in parts:
        yield from _events(part)


def pattern_text(pattern: Pattern, around: Pattern | None = None) -> str:
    """A pattern with only the brackets that it needs. `around`: the pattern that makes its variables lists, if any."""

    def inner(part: Pattern) -> str:
        return pattern_text(part, around)

    match pattern:
        case Event(types=types, variable=variable, brackets=brackets):
            needed = brackets and isinstance(around, Repeat) and around.high == 1
            return types_text(types) + _variable(variable, brackets=needed)
        case Repeat(until=Event() as until):
            return f"{pattern_text(replace(pattern, until=None), around)} UNTIL {_ending(until)}"
        case Repeat(pattern=body, low=low, high=high):
            mine = is_repetition(pattern, inside=around is not None)
            if isinstance(body, Event):
                return types_text(body.types) + _repeat(low, high) + _variable(body.variable, brackets=mine)
            return _unit(body, pattern if mine else around) + _repeat(low, high)
        case Negation(pattern=body, due=due):
            bare = isinstance(body, Repeat) or (isinstance(body, Negation) and due is None)
            return "NOT " + (inner(body) if bare else _unit(body, around)) + _due(due)
        case Sequence(parts=parts):
            return "SEQ(" + ", ".join(map(inner, parts)) + ")"
        case AnyOf(count=count, parts=parts, distinct=distinct):
            tail = f" DISTINCT {attribute_text(distinct)}" if distinct is not None else ""
            lists = around or (pattern if len(parts) == 1 else None)
            return f"ANY({count}, " + ", ".join(pattern_text(part, lists) for part in parts) + ")" + tail
        case Conjunction(parts=parts):
            return " AND ".join(f"({inner(p)})" if isinstance(p, Disjunction) else inner(p) for p in parts)
        case Disjunction(parts=parts):
            return " OR ".join(map(inner, parts))


def _ending(event: Event) -> str:
    """The event behind UNTIL, its type in double quotes if it is that word."""
    text = pattern_text(event)
    is_word = [name.lower() for name in event.types] == ["until"]
    return f'"{event.types[0]}"{text[len(event.types[0]) :]}' if is_word else text


def _due(due: Due | None) -> str:
    return "" if due is None else f" {'EVERY' if due.every else 'FOR'} {due.amount} ms"


def _variable(name: str | None, *, brackets: bool) -> str:
    return "" if name is None else f" {name_text(name, taken=_VARIABLES)}{'[]' * brackets}"


def _unit(pattern: Pattern, around: Pattern | None) -> str:
    """A pattern that takes a prefix or a repetition: in brackets unless it has its own."""
    text = pattern_text(pattern, around)
    bare = isinstance(pattern, Event | Sequence) or (isinstance(pattern, AnyOf) and not pattern.distinct)
    return text if bare else f"({text})"


def _repeat(low: int, high: int | None) -> str:
    short = {(1, None): "+", (0, None): "*", (0, 1): "?"}.get((low, high))
    return short or (f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}")


# ---------------------------------------------------------------- clauses


def _where(query: Query) -> str:
    strategies = ", ".join(map(_strategy, query.strategies))
    conditions = " AND ".join(expression_text(condition, AND + 1) for condition in query.conditions)
    if strategies:
        return f"WHERE {strategies} {{ {conditions} }}" if conditions else f"WHERE {strategies}"
    return f"WHERE {conditions}" if conditions else ""


def _strategy(strategy: StrategyUse) -> str:
    targets = ", ".join(event_name(target.variable) + ("[i]" if target.current else "") for target in strategy.targets)
    return f"{strategy.name}({targets})" if targets else strategy.name


def _size(size: Size) -> str:
    return f"{size.amount} {'EVENTS' if size.events else 'ms'}"


def _within(within: Within) -> str:
    """The clauses WITHIN, SLIDE and OPEN ON, without the last two where the query has none. Durations are in ms."""
    text = f"WITHIN {_size(within.size)}"
    if within.slide is not None:
        text += f" SLIDE {_size(within.slide)}"
    if within.opening is not None:
        opening = within.opening
        text += f" OPEN ON {event_name(opening.type)}"
        text += f" {name_text(opening.variable, taken=_BEHIND_TYPE)}" if opening.variable is not None else ""
        text += f" WHERE {expression_text(opening.condition)}" if opening.condition is not None else ""
    return text


def _returns(returns: Returns) -> str:
    items = [
        expression_text(item.expression) + ("" if item.alias is None else f" AS {name_text(item.alias)}")
        for item in returns.items
    ]
    return f"RETURN {', '.join(items) or '*'}" + ("" if returns.into is None else f" INTO {event_name(returns.into)}")


def _publish(publish: Publish) -> str:
    if publish.topic is None:
        return "PUBLISH"
    key = "" if publish.key is None else f" KEY {expression_text(publish.key)}"
    form = "" if publish.form is None else f" AS {publish.form}"
    return f"PUBLISH {string_text(publish.topic)}{form}{key}"


def _consume(consume: Consume) -> str:
    variables = ", ".join(name_text(name, taken=_CONSUMED) for name in consume.variables)
    return "CONSUME " + (variables if consume.scope == "variables" else consume.scope.upper())
