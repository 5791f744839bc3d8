"""Dotted names of attributes, the paths of nested fields: how a query writes them, and their parser.

An attribute has one name, such as `order.id`, whether its message had a nested object or a flat field of that name.
"""

from __future__ import annotations

from saffron.language.syntax.lexing.cursor import RESERVED, Cursor
from saffron.language.syntax.lexing.tokens import Token, is_word, name_text
from saffron.language.syntax.tree import Span
from saffron.schema.table_names import Lookup

OWN = "$."
"""The prefix of an attribute whose name an event has for something of its own: $.type is the field `type` of the
message that became the event."""
BUILT_IN = ("type", "ts")
"""Words that, without quotes, name something of every event."""
OF_VARIABLE = (*BUILT_IN, "len")
"""Such words behind a variable that may be a list, where `len` is one too."""


def attribute_text(name: str, built_in: tuple[str, ...] = BUILT_IN) -> str:
    """An attribute as a query writes it: order.id, "user-id", and "type" for the field $.type.

    `built_in`: see `parse_path`, which reads this text.
    """
    own = name.removeprefix(OWN)
    if own != name and own in built_in:
        return name_text(own, taken=frozenset(built_in))
    return name if all(map(is_word, name.split("."))) else name_text(name)


def own_name(name: str) -> str:
    """The name as messages have it: `type` for `$.type`, `ip IN blocked` for a look-up."""
    if (one := Lookup.of_name(name)) is not None:
        return one.shown
    own = name.removeprefix(OWN)
    return own if own in OF_VARIABLE else name


def forces_path(token: Token) -> bool:
    """True if a word begins a path, whatever the pattern has: one in quotes that it does not need."""
    return token.kind == "word" and not token.lower and is_word(token.value) and token.value.lower() not in RESERVED


def parse_path(cursor: Cursor, where: str, built_in: tuple[str, ...] = BUILT_IN) -> tuple[str, Span]:
    """The name of an attribute, word by word, and its place. `where`: for errors, "of a".

    A single word in quotes that is one of `built_in` is the field of that name, `OWN` before it.
    """
    first = cursor.expect_attribute(where)
    name, span = rest_of_path(cursor, first)
    if name == first.value and name in built_in and not first.lower:
        name = OWN + name
    return name, span


ELEMENT_LIMIT = 1_000_000
"""Largest number of an array's element."""


def parse_steps(cursor: Cursor) -> tuple[str | int, ...]:
    """The steps behind an attribute that is an array: [1].sku as (1, "sku"); () where none follow."""
    steps: list[str | int] = []
    while True:
        if cursor.accept("["):
            token, number = cursor.expect_number("the number of an element")
            if not isinstance(number, int) or not 1 <= number <= ELEMENT_LIMIT:
                hint = f"Elements are counted from 1, up to {ELEMENT_LIMIT:,}."
                raise cursor.error(f"no element of an array has the number {token.value}", token, hint=hint)
            cursor.expect("]", "after the number of an element")
            steps.append(number)
        elif steps and cursor.token.is_symbol(".") and cursor.peek().kind == "word":
            cursor.advance()
            steps.append(cursor.advance().value)
        else:
            return tuple(steps)


def steps_text(steps: tuple[str | int, ...]) -> str:
    """Steps as a query writes them."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{name_text(step)}" for step in steps)


def rest_of_path(cursor: Cursor, first: Token) -> tuple[str, Span]:
    """The path after its first word, which is `first`; see `parse_path`."""
    words = [first.value]
    while cursor.token.is_symbol(".") and cursor.peek().kind == "word":
        cursor.advance()
        words.append(cursor.advance().value)
    return ".".join(words), cursor.span_from(first.start)
