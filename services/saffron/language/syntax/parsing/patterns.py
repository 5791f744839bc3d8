"""The parser of patterns: SEQ, Kleene closure, negation, AND, OR, ANY, events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from saffron.language.syntax.lexing.cursor import RESERVED, Cursor
from saffron.language.syntax.lexing.tokens import Token
from saffron.language.syntax.parsing.sizes import parse_size
from saffron.language.syntax.paths import parse_path
from saffron.language.syntax.sql import HINTS
from saffron.language.syntax.tree import (
    AnyOf,
    Conjunction,
    Disjunction,
    Due,
    Event,
    Negation,
    Pattern,
    Repeat,
    Sequence,
    Span,
)

REPEATS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}
REPEAT_LIMIT = 1000
"""Largest n and m of {n,m}, and largest n of ANY."""

_UNTIL_HINT = "Write it as in A+ a[] UNTIL C c."
_SEQ_HINT = "Write SEQ(A a, B b); [] stands behind the variable of a list, as in B+ b[]."
_REPEAT_HINT = "Write {2} for two, {2,} for two or more, {2,4} for two to four."
_DUE_WORDS = ("for", "every")

IsClause = Callable[[Cursor], bool]
"""A test of whether a clause starts at the cursor."""


def _never(cursor: Cursor) -> bool:
    """The `IsClause` inside brackets, where no clause can start."""
    return False


def parse_pattern(cursor: Cursor, is_clause: IsClause) -> Pattern:
    """A pattern, up to the next clause or bracket. `is_clause` tells a clause's keyword from a variable."""
    parts = [_conjunction(cursor, is_clause)]
    while cursor.accept("|") or cursor.accept_word("or"):
        parts.append(_conjunction(cursor, is_clause))
    return _joined(Disjunction, parts, cursor)


def _conjunction(cursor: Cursor, is_clause: IsClause) -> Pattern:
    """The pattern of unit {AND unit}."""
    parts = [_unit(cursor, is_clause)]
    while cursor.accept("&") or cursor.accept_word("and"):
        parts.append(_unit(cursor, is_clause))
    if _begins_due(cursor):
        hint = "Write it as in SEQ(A a, NOT B FOR 5 minutes)."
        raise cursor.error("a time stands behind a NOT", _due(cursor).span, hint=hint)
    return _joined(Conjunction, parts, cursor)


def _joined(kind: type[Conjunction | Disjunction], parts: list[Pattern], cursor: Cursor) -> Pattern:
    """A pattern of this kind; parts of the same kind are taken apart. A single part is the pattern itself."""
    if len(parts) == 1:
        return parts[0]
    flat = [one for part in parts for one in (part.parts if isinstance(part, kind) else (part,))]
    return kind(tuple(flat), span=Span(parts[0].span.start, cursor.previous_end))


def _unit(cursor: Cursor, is_clause: IsClause) -> Pattern:
    """NOT unit [FOR | EVERY time], or primary {+ | * | ? | {n,m}} [UNTIL event]."""
    start = cursor.token
    if cursor.accept("!") or cursor.accept_word("not"):
        cursor.enter(start)
        inner = _unit(cursor, is_clause)
        cursor.leave()
        _refuse_due_without_time(cursor, inner)
        due = _due(cursor) if _begins_due(cursor) else None
        return Negation(inner, due, span=Span(start.start, inner.span.end if due is None else due.span.end))
    pattern = _primary(cursor, is_clause)
    entered = 0
    while (bounds := _repeat(cursor)) is not None:
        cursor.enter(start)
        entered += 1
        pattern = Repeat(pattern, *bounds, span=cursor.span_from(start.start))
    cursor.depth -= entered
    if entered and _has_variable(cursor, is_clause):
        hint = "A variable stands behind its type or one repetition, as in B+ b[]; components have commas between them."
        cursor.fail("expected the end of the component", hint=hint)
    if cursor.token.lower != "until":
        return pattern
    if not _begins_until(cursor, is_clause):
        cursor.advance()
        cursor.fail("expected an event after UNTIL", hint=_UNTIL_HINT)
    return _until(cursor, pattern, is_clause)


def _begins_until(cursor: Cursor, is_clause: IsClause) -> bool:
    """True if UNTIL with a step follows; alone, or in front of UNTIL, the word is a variable."""
    if cursor.token.lower != "until" or cursor.peek().lower == "until":
        return False
    cursor.index += 1
    begins = cursor.token.is_symbol("(") or _is_name(cursor, is_clause)
    cursor.index -= 1
    return begins


def _until(cursor: Cursor, pattern: Pattern, is_clause: IsClause) -> Pattern:
    """The repetition `pattern` with the event of its UNTIL, from that word on."""
    word = cursor.advance()
    step = _primary(cursor, is_clause)
    whole = cursor.span_from(word.start)
    if not isinstance(pattern, Repeat) or pattern.high == 1:
        raise cursor.error("UNTIL ends a repetition, and stands behind one", whole, hint=_UNTIL_HINT)
    if not isinstance(step, Event) or _repeat(cursor) is not None:
        hint = "Its first event ends the repetition. Write one event there, as in UNTIL C c or UNTIL (C | D) c."
        raise cursor.error("UNTIL takes one event", step.span, hint=hint)
    if _begins_until(cursor, is_clause):
        hint = "Events of several types end a repetition in UNTIL (C | D) c."
        raise cursor.error("a second UNTIL", cursor.token, hint=hint)
    return replace(pattern, until=step, span=Span(pattern.span.start, whole.end))


def _begins_due(cursor: Cursor) -> bool:
    """True if FOR or EVERY with a number follows; alone the word is a variable, but not behind NOT."""
    return cursor.token.lower in _DUE_WORDS and cursor.peek().kind == "number"


def _refuse_due_without_time(cursor: Cursor, absent: Pattern) -> None:
    """Raise QueryError if FOR or EVERY without a time was just taken as the variable of a NOT."""
    word = cursor.tokens[cursor.index - 1]
    if word.lower in _DUE_WORDS and isinstance(absent, Event) and absent.variable == word.value:
        hint = f'Write it as in NOT B FOR 5 minutes. A variable of that name stands in double quotes: "{word.value}".'
        cursor.fail(f"expected a time after {word.value.upper()}", hint=hint)


def _due(cursor: Cursor) -> Due:
    """FOR time or EVERY time, from its word on."""
    word = cursor.advance()
    size = parse_size(cursor, word.value.upper())
    if size.events:
        hint = "Give a duration, as in NOT B FOR 5 minutes."
        raise cursor.error("a NOT lasts for a time, not for a number of events", size.span, hint=hint)
    return Due(size.amount, word.lower == "every", span=cursor.span_from(word.start))


def _repeat(cursor: Cursor) -> tuple[int, int | None] | None:
    """(low, high) of +, *, ?, {n}, {n,} or {n,m} at the cursor; None if there is no repetition."""
    if token := cursor.accept(*REPEATS):
        return REPEATS[token.value]
    if not cursor.token.is_symbol("{"):
        return None
    start = cursor.advance().start
    if cursor.token.is_symbol(","):
        cursor.fail("expected how often the pattern repeats", hint="Write {0,n} for up to n times.")
    low = _count(cursor, "how often the pattern repeats", _REPEAT_HINT)
    high: int | None = low
    if cursor.accept(","):
        high = None if cursor.token.is_symbol("}") else _count(cursor, "how often the pattern repeats at most")
    cursor.expect("}", "after the number of repetitions", hint=_REPEAT_HINT)
    if high is not None and (high < low or high == 0):
        raise cursor.error(
            "the upper bound is too small", cursor.span_from(start), hint="Write {n,m} with n <= m, m > 0."
        )
    return low, high


def _count(cursor: Cursor, what: str, hint: str = "") -> int:
    """A whole number from 0 to REPEAT_LIMIT, of a repetition or ANY. `what` and `hint`: for errors."""
    token, value = cursor.expect_number(what, hint=hint)
    if not isinstance(value, int) or value > REPEAT_LIMIT:
        raise cursor.error(f"expected a whole number up to {REPEAT_LIMIT}", token)
    return value


def _primary(cursor: Cursor, is_clause: IsClause) -> Pattern:
    """SEQ(...), ANY(...), (...), or an event of one type, of several or of any."""
    token, follower = cursor.token, cursor.peek()
    if token.lower == "seq":
        cursor.advance()
        return _sequence(cursor, token)
    if token.lower == "any" and follower.is_symbol("("):
        return _any(cursor)
    if token.is_symbol("("):
        return _of_several(cursor, token.start, _sequence(cursor, token), is_clause)
    return _event(cursor, is_clause)


def _sequence(cursor: Cursor, start: Token) -> Pattern:
    """SEQ(...) behind its keyword, or (...). Brackets around one pattern are that pattern, else a SEQ."""
    opening = cursor.expect("(", "after SEQ", hint=_SEQ_HINT)
    cursor.enter(opening)
    parts = _parts(cursor)
    cursor.expect(")", "or ',' after a component", hint=_hint_of_word(cursor))
    cursor.leave()
    if start.is_symbol("(") and len(parts) == 1:
        return parts[0]
    return Sequence(tuple(parts), span=cursor.span_from(start.start))


def _hint_of_word(cursor: Cursor) -> str:
    """The hint for a word or a sign that follows a component where a comma or the bracket should."""
    if cursor.token.lower in ("within", "where"):
        return HINTS[cursor.token.lower]
    if cursor.token.is_symbol("[", "("):
        return HINTS["where"]
    if cursor.token.is_symbol("="):
        return "A variable stands behind its type: A a."
    if cursor.token.kind != "word" or cursor.token.lower in RESERVED:
        return ""
    if cursor.tokens[cursor.index - 1].lower == "as":
        return HINTS["as"]
    return "Components have commas between them: SEQ(A a, B b)."


def _parts(cursor: Cursor) -> list[Pattern]:
    """Patterns separated by commas; a loop here saves a stack frame for each level of nesting."""
    parts = [parse_pattern(cursor, _never)]
    while cursor.accept(","):
        parts.append(parse_pattern(cursor, _never))
    return parts


def _any(cursor: Cursor) -> Pattern:
    """ANY(n, pattern {, pattern}) [DISTINCT attr]."""
    start = cursor.advance().start
    cursor.enter(cursor.advance())
    token = cursor.token
    hint = "Write ANY(2, A a, B b, C c): how many, then the patterns."
    count = _count(cursor, "how many of the patterns of ANY must occur", hint)
    if count < 1:
        raise cursor.error("ANY asks for at least one", token)
    cursor.expect(",", "after the number of ANY")
    parts = _parts(cursor)
    cursor.expect(")", "or ',' after a component of ANY", hint=_hint_of_word(cursor))
    cursor.leave()
    if 1 < len(parts) < count:
        hint = "To take several events of one type, list it alone: ANY(3, Stock s)."
        raise cursor.error(f"ANY asks for {count} of {len(parts)}", token, hint=hint)
    distinct = parse_path(cursor, "after DISTINCT")[0] if cursor.accept_word("distinct") else None
    return AnyOf(count, tuple(parts), distinct, span=cursor.span_from(start))


def _of_several(cursor: Cursor, start: int, pattern: Pattern, is_clause: IsClause) -> Pattern:
    """The event (A | B) [+ | * | ? | {n,m}] var [[]] if a variable follows the pattern, in brackets from `start` on.

    Without one it is the pattern, with its repetition. QueryError: a variable behind an OR of other things than types.
    """
    if not isinstance(pattern, Disjunction):
        return pattern
    bounds = _repeat(cursor)
    if not _has_variable(cursor, is_clause):
        return pattern if bounds is None else Repeat(pattern, *bounds, span=cursor.span_from(start))
    found: dict[str, int] = {}
    for part in pattern.parts:
        if not isinstance(part, Event) or part.variable is not None or len(part.types) != 1:
            hint = f"Write (A | B) {cursor.token.value[:20]}, or leave that variable out, and give each part its own."
            raise cursor.error("one variable for several events takes types alone", part.span, hint=hint)
        found.setdefault(part.types[0], part.span.start)
    return _bound(cursor, found, bounds, start)


def _event(cursor: Cursor, is_clause: IsClause) -> Pattern:
    """Type [+ | * | ? | {n,m}] [var [[]]], or ANY for Type. `_unit` reads a repetition behind the variable."""
    name = cursor.expect_name("an event type, SEQ, ANY or '('", hint=_hint_of_sign(cursor))
    cursor.refuse_other_signs(name, "an event type", "-", ".")
    _refuse_every(cursor, name, is_clause)
    span = Span(name.start, name.end)
    types = {} if name.lower == "any" else {name.value: name.start}
    bounds = _repeat(cursor)
    if _has_variable(cursor, is_clause):
        return _bound(cursor, types, bounds, span.start)
    event = Event(tuple(types), None, starts=tuple(types.values()), span=span)
    return event if bounds is None else Repeat(event, *bounds, span=cursor.span_from(span.start))


def _refuse_every(cursor: Cursor, name: Token, is_clause: IsClause) -> None:
    """Raise QueryError if `name`, just taken as a type, is the EVERY of other languages: in front of A a or (."""
    if name.lower != "every":
        return
    is_event = cursor.token.is_symbol("(")
    if _is_name(cursor, is_clause):
        cursor.index += 1
        is_event = _is_name(cursor, is_clause)
        cursor.index -= 1
    if is_event:
        raise cursor.error("there is no EVERY in front of an event", name, hint=HINTS["every"])


def _hint_of_sign(cursor: Cursor) -> str:
    """The hint for a sign where a component should begin."""
    if cursor.token.is_symbol(")"):
        after_comma = cursor.tokens[cursor.index - 1].is_symbol(",")
        return "Leave the comma out, or write a component behind it." if after_comma else "Write SEQ(A a, B b)."
    if cursor.token.is_symbol("*", "+", "?"):
        return "A repetition stands behind its type: B+ b[]. ANY b is an event of any type."
    return ""


def _has_variable(cursor: Cursor, is_clause: IsClause) -> bool:
    """True if the word at the cursor is the variable of the types before it."""
    return _is_name(cursor, is_clause) and not _begins_until(cursor, is_clause)


def _is_name(cursor: Cursor, is_clause: IsClause) -> bool:
    """True if the word at the cursor is a name: no AND, OR, WITHIN or WHERE, no clause, no time of a NOT."""
    is_word = cursor.token.kind == "word" and cursor.token.lower not in ("and", "or", "within", "where")
    return is_word and not is_clause(cursor) and not _begins_due(cursor)


def _bound(cursor: Cursor, types: dict[str, int], bounds: tuple[int, int | None] | None, start: int) -> Pattern:
    """An event with the variable at the cursor. `types`: with their offsets. `start`: of the event.

    `bounds`: of the repetition behind the types, None without one.
    """
    variable = cursor.expect_name("a variable").value
    brackets = _brackets(cursor)
    whole = cursor.span_from(start)
    event = Event(tuple(types), variable, brackets, tuple(types.values()), span=whole)
    return event if bounds is None else Repeat(event, *bounds, span=whole)


def _brackets(cursor: Cursor) -> bool:
    """True if [] follows, as after a closure's variable; it is taken."""
    if not cursor.accept("["):
        return False
    cursor.expect("]", "after a closure's variable")
    return True
