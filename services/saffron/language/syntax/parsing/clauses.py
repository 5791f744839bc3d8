"""Parsers of the clauses of a query except PATTERN: one function for each, called behind the clause's keyword."""

from __future__ import annotations

import re

from saffron.carets import quoted
from saffron.language.syntax.hints import suggestion
from saffron.language.syntax.lexing.cursor import RESERVED, Cursor
from saffron.language.syntax.lexing.tokens import Token
from saffron.language.syntax.parsing.expressions import parse_expression, parse_key_attribute
from saffron.language.syntax.parsing.sizes import parse_size
from saffron.language.syntax.tree import (
    Consume,
    Expression,
    Index,
    Item,
    Key,
    KeyAttribute,
    Literal,
    Logic,
    Opening,
    Output,
    Reference,
    Returns,
    Setting,
    Span,
    StrategyUse,
    Target,
    Within,
)

CLAUSES = (
    "query", "from", "pattern", "where", "group", "group-by", "having", "within", "return", "output", "consume",
    "confidence", "time", "weight", "exact", "emit", "publish",
)  # fmt: skip
STRATEGIES = ("strict-contiguity", "partition-contiguity", "skip-till-next-match", "skip-till-any-match")
MODES = ("ALL", "NON-OVERLAP", "COMPRESSED", "FIRST", "LONGEST")

NAME_LIMIT = 200
"""Longest name of a query or stream, in characters: a record key, a metric label, a part of topic names."""

_NAME = re.compile(r"[A-Za-z_](?:(?!--)[A-Za-z0-9_.-])*")
_UNTIL_SPACE = re.compile(r"\S*")
_STRATEGY_NAME = re.compile(r"(?P<name>[A-Za-z]\w*(?:[-_\u2010\u2011]\w+)*)")
_MISSPELT = re.compile(_STRATEGY_NAME.pattern + r"\s*(?:\([^(){}]*\)\s*)?\{")


def is_clause(cursor: Cursor) -> bool:
    """True if a clause starts at the cursor."""
    return cursor.token.lower in CLAUSES


def is_name(name: str) -> bool:
    """True if `name` can be the name of a query or of a stream."""
    return len(name) <= NAME_LIMIT and _NAME.fullmatch(name) is not None


def parse_name(cursor: Cursor, what: str) -> str:
    """A name of a query or stream. `what`: "the query" or "the stream", for errors.

    It is read from the text, not from the tokens, because it may hold dots and hyphens.
    """
    token = cursor.token
    if token.kind == "end":
        cursor.fail(f"expected the name of {what}")
    written = _UNTIL_SPACE.match(cursor.text, token.start)
    found = _NAME.match(cursor.text, token.start)
    assert written is not None
    end = max(token.end, written.end() if found is None or written.end() != found.end() else found.end())
    if found is not None and cursor.text.startswith("--", found.end()):
        end = found.end()
    if found is not None and what == "the stream" and cursor.text.startswith(",", found.end()):
        hint = (
            "A definition makes one stream of several topics: saffron stream infer TOPIC TOPIC --name NAME proposes it."
        )
        raise cursor.error("a query reads one stream", Span(found.end(), end), hint=hint)
    if found is None or found.end() != end:
        hint = "A name has letters, digits, '_', '.' and '-', and starts with a letter or '_'."
        raise cursor.error(f"the name of {what} is malformed", Span(token.start, end), hint=hint)
    if len(found.group()) > NAME_LIMIT:
        message = f"the name of {what} is longer than {NAME_LIMIT} characters"
        raise cursor.error(message, Span(token.start, end))
    while cursor.token.kind != "end" and cursor.token.start < end:
        cursor.advance()
    _refuse_words_behind(cursor, token, found.group(), what)
    return found.group()


def _refuse_words_behind(cursor: Cursor, first: Token, name: str, what: str) -> None:
    """Raise QueryError for a clause in the place of a name, or a word behind it, as in my query. `first`: its token."""
    word = cursor.token
    again = what == "the query" and word.lower == "query"
    if word.kind == "end" or (is_clause(cursor) and not again):
        return
    if name.lower() in CLAUSES:
        hint = f"A name stands there: {name.upper()} is a clause."
        raise cursor.error(f"expected the name of {what}, found {quoted(name)}", first, hint=hint)
    if word.kind != "word" or word.lower in RESERVED:
        return
    of_query = f"Write it in one word: {name}_{word.value}."
    hint = of_query if what == "the query" else "It has no other name: A a names events."
    raise cursor.error(f"the name of {what} is one word", Span(first.start, word.end), hint=hint)


# ---------------------------------------------------------------- WHERE


def parse_where(cursor: Cursor) -> tuple[tuple[StrategyUse, ...], tuple[Expression, ...]]:
    """The selection strategies and the conjuncts of WHERE."""
    strategies: list[StrategyUse] = []
    while cursor.token.lower in STRATEGIES:
        strategies.append(_strategy(cursor))
        if not cursor.accept(","):
            break
        _refuse_unknown_strategy(cursor, behind=True)
    if strategies:
        if cursor.token.kind == "end" or is_clause(cursor):
            return tuple(strategies), ()
        cursor.accept("&") or cursor.accept_word("and")
    else:
        _refuse_unknown_strategy(cursor)
    brace = cursor.accept("{")
    if brace and strategies and cursor.accept("}"):
        return tuple(strategies), ()
    condition = parse_expression(cursor)
    if brace:
        cursor.expect("}", "or AND after a condition")
    conjunction = isinstance(condition, Logic) and condition.operator == "and"
    conjuncts = condition.operands if conjunction and isinstance(condition, Logic) else (condition,)
    return tuple(strategies), tuple(_plain_key(cursor, conjunct) for conjunct in conjuncts)


def _refuse_unknown_strategy(cursor: Cursor, *, behind: bool = False) -> None:
    """Raise QueryError for a misspelt strategy: a word with hyphens in front of a brace, any `behind` another one."""
    start = cursor.token.start
    if behind and cursor.token.lower in STRATEGIES:
        return
    found = (_STRATEGY_NAME if behind else _MISSPELT).match(cursor.text, start)
    if found is None:
        return
    written = found.group("name")
    hint = suggestion(written, STRATEGIES) or f"Strategies: {', '.join(STRATEGIES)}."
    raise cursor.error(f"unknown strategy {quoted(written)}", Span(start, found.end("name")), hint=hint)


def _plain_key(cursor: Cursor, condition: Expression) -> Expression:
    """The condition, with a.(x, y) rewritten as [x, y]; other conditions stay as they are."""
    if not isinstance(condition, Key) or cursor.text[condition.span.start] == "[":
        return condition
    attributes = tuple(KeyAttribute(None, part.name, span=part.span) for part in condition.attributes)
    return Key(attributes, span=condition.span)


def _strategy(cursor: Cursor) -> StrategyUse:
    token = cursor.advance()
    targets: list[Target] = []
    if cursor.accept("("):
        targets = cursor.separated(_target)
        cursor.expect(")", "after the variables of the strategy")
    return StrategyUse(token.lower, tuple(targets), span=cursor.span_from(token.start))


def _target(cursor: Cursor) -> Target:
    """A variable in a strategy's brackets: b, b[] or b[i]."""
    token = cursor.expect_name("a variable")
    current = False
    if cursor.accept("["):
        current = cursor.accept_word("i") is not None
        cursor.expect("]", "after the variable: write b, b[] or b[i]")
    return Target(token.value, current, span=cursor.span_from(token.start))


# ---------------------------------------------------------------- WITHIN


def parse_within(cursor: Cursor) -> Within:
    """WITHIN size [SLIDE size] [OPEN ON ...], behind its keyword."""
    start = cursor.tokens[cursor.index - 1].start
    size = parse_size(cursor, "WITHIN")
    slide = parse_size(cursor, "SLIDE") if cursor.accept_word("slide") else None
    if slide is not None and slide.events != size.events:
        hint = "Give WITHIN and SLIDE both as durations or both in EVENTS."
        raise cursor.error("SLIDE counts in another unit than WITHIN", slide.span, hint=hint)
    opening = _opening(cursor) if cursor.token.lower == "open" else None
    return Within(size, slide, opening, span=cursor.span_from(start))


def _opening(cursor: Cursor) -> Opening:
    """OPEN ON Type [var] [WHERE expr], from OPEN on."""
    start = cursor.advance().start
    cursor.expect_word("ON", "after OPEN")
    name = cursor.expect_name("an event type after OPEN ON")
    variable = None
    if cursor.token.kind == "word" and not is_clause(cursor):
        variable = cursor.expect_name("a variable").value
    condition = parse_expression(cursor) if cursor.accept_word("where") else None
    return Opening(name.value, variable, condition, name.start, span=cursor.span_from(start))


# ---------------------------------------------------------------- GROUP BY, RETURN and the small ones


def parse_group(cursor: Cursor) -> tuple[KeyAttribute, ...]:
    if cursor.tokens[cursor.index - 1].lower == "group":
        cursor.expect_word("BY", "after GROUP")
    return tuple(cursor.separated(parse_key_attribute))


def parse_returns(cursor: Cursor) -> Returns:
    start = cursor.tokens[cursor.index - 1].start
    items: list[Item] = []
    if not cursor.accept("*"):
        items = [item for some in cursor.separated(_items) for item in some]
    if not cursor.accept_word("into"):
        return Returns(tuple(items), None, span=cursor.span_from(start))
    into = cursor.expect_name("an event type after INTO")
    return Returns(tuple(items), into.value, Span(into.start, into.end), span=cursor.span_from(start))


def _items(cursor: Cursor) -> list[Item]:
    """The items of one expression of RETURN: one, or several for a.(x, y)."""
    expression = parse_expression(cursor)
    alias = _alias(cursor) if cursor.accept_word("as") else None
    span = cursor.span_from(expression.span.start)
    if not isinstance(expression, Key) or cursor.text[expression.span.start] == "[":
        return [Item(expression, alias, span=span)]
    if alias is not None:
        raise cursor.error("one name for several items", span, hint="Write them one by one: a.x AS p, a.y AS q.")
    return [
        Item(Reference(str(part.owner), Index.NONE, part.name, span=part.span), None, span=part.span)
        for part in expression.attributes
    ]


def _alias(cursor: Cursor) -> str:
    """The name of a value, behind AS."""
    name = cursor.expect_attribute("name after AS")
    cursor.refuse_other_signs(name, "a name", "-")
    return name.value


def parse_output(cursor: Cursor) -> Output:
    """The mode of OUTPUT, and if WITH TIMEOUTS follows. QueryError: another word stands there."""
    token = cursor.token
    mode = cursor.accept_word(*(name.lower() for name in MODES))
    if mode is None:
        near = suggestion(token.value, MODES) if token.kind == "word" else ""
        cursor.fail("expected " + ", ".join(MODES[:-1]) + " or " + MODES[-1] + " after OUTPUT", hint=near)
    timeouts = cursor.accept_word("with") is not None
    if timeouts:
        cursor.expect_word("TIMEOUTS", "after WITH")
    return Output(mode.value.upper(), timeouts, span=cursor.span_from(token.start))


def parse_consume(cursor: Cursor) -> Consume:
    start = cursor.token.start
    if cursor.token.lower in ("none", "all"):
        return Consume(cursor.advance().lower, (), span=cursor.span_from(start))
    variables = tuple(target.variable for target in cursor.separated(_target))
    return Consume("variables", variables, span=cursor.span_from(start))


def parse_confidence(cursor: Cursor) -> Setting:
    cursor.expect(">=", "after CONFIDENCE")
    start = cursor.token
    value = parse_expression(cursor)
    if not isinstance(value, Literal) or isinstance(value.value, str | bool) or not 0 <= value.value <= 1:
        raise cursor.error("CONFIDENCE is a number from 0 to 1", cursor.span_from(start.start))
    return Setting(value.value, span=cursor.span_from(start.start))


def parse_time(cursor: Cursor) -> Setting:
    token = cursor.accept_word("ordered", "strict")
    if token is None:
        cursor.fail("expected ORDERED or STRICT after TIME")
    return Setting(token.value.upper(), span=Span(token.start, token.end))


def parse_exact(cursor: Cursor) -> Setting:
    """The setting of EXACT, whose keyword is the whole clause."""
    token = cursor.tokens[cursor.index - 1]
    return Setting("EXACT", span=Span(token.start, token.end))


def parse_weight(cursor: Cursor) -> Setting:
    token: Token
    token, value = cursor.expect_number("a number after WEIGHT")
    return Setting(value, span=Span(token.start, token.end))
