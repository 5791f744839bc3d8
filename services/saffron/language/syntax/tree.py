"""The syntax tree of a query, before names are looked up.

Every node has its `span` in the text, which comparisons ignore: two trees are equal if they mean the same.
Spellings are canonical: `Stock+ a[]`, `Stock a+` and `(Stock a)+` are one tree, as are `5 s` and `5000`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from saffron.schema.constants import OfConstant


class Span(NamedTuple):
    """Character offsets into the text, end exclusive."""

    start: int
    end: int


NOWHERE = Span(0, 0)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node with its place in the text."""

    span: Span = field(default=NOWHERE, compare=False)


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True)
class Event(Node):
    """A single event: Type [var [[]]], (A | B) var [[]] or ANY [var [[]]]. `types`: () for ANY.

    `brackets`: whether [] follows the variable. `starts`: offsets of the types in the text.
    """

    types: tuple[str, ...]
    variable: str | None
    brackets: bool = field(default=False, compare=False)
    starts: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Repeat(Node):
    """A repetition, `low` to `high` times (None: any number). + is (1, None), * (0, None), ? (0, 1), {n,m} (n, m).

    `until`: the event of UNTIL, which ends it.
    """

    pattern: Pattern
    low: int
    high: int | None
    until: Event | None = None


@dataclass(frozen=True)
class Due(Node):
    """FOR amount, or EVERY amount (`every`), behind a NOT: the time in ms that the NOT lasts."""

    amount: int
    every: bool


@dataclass(frozen=True)
class Negation(Node):
    """NOT pattern [FOR | EVERY time]. `due` None: it lasts up to the next event, or the window's end."""

    pattern: Pattern
    due: Due | None = None


@dataclass(frozen=True)
class Sequence(Node):
    """A sequence SEQ(...), of at least one part."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class AnyOf(Node):
    """ANY(count, parts) [DISTINCT attr]."""

    count: int
    parts: tuple[Pattern, ...]
    distinct: str | None


@dataclass(frozen=True)
class Conjunction(Node):
    """P AND Q ...: two parts or more, none of them a Conjunction."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Disjunction(Node):
    """P OR Q ...: two parts or more, none of them a Disjunction."""

    parts: tuple[Pattern, ...]


def is_repetition(repeat: Repeat, *, inside: bool) -> bool:
    """True if a repetition makes its variables lists: it can take several events, or [] says so, as in A{1} a[].

    `inside`: another repetition around it makes them lists already.
    """
    return repeat.high != 1 or (not inside and _writes_lists(repeat.pattern))


def _writes_lists(pattern: Pattern) -> bool:
    """True if a variable has [] although no repetition inside the pattern makes it a list."""
    match pattern:
        case Event(brackets=brackets):
            return brackets
        case Repeat() | Negation() | AnyOf(parts=(_,)):
            return False
        case Sequence(parts=parts) | AnyOf(parts=parts) | Conjunction(parts=parts) | Disjunction(parts=parts):
            return any(map(_writes_lists, parts))


Pattern = Event | Repeat | Negation | Sequence | AnyOf | Conjunction | Disjunction

# ---------------------------------------------------------------- expressions


class Index(Enum):
    """The content of a reference's brackets."""

    NONE = ""  # a.x
    CURRENT = "i"  # b[i].x
    PREVIOUS = "i-k"  # b[i-k].x
    FIRST = "1"  # b[1].x, b[first].x
    NTH = "n"  # b[n].x, n > 1
    LAST = "last"  # b[last].x, b[b.len].x
    BEFORE = "..i-1"  # b[..i-1].x, b[1..i-1].x
    THROUGH = "..i"  # b[..i].x, b[1..i].x
    ALL = "[]"  # b[].x


@dataclass(frozen=True)
class Literal(Node, OfConstant):
    """A number (durations in ms), a string or a truth value."""

    value: int | float | str | bool


@dataclass(frozen=True)
class Name(Node):
    """A bare word, such as a group attribute in RETURN or a variable in COUNT(A)."""

    name: str


@dataclass(frozen=True)
class Star(Node):
    """The * of COUNT(*)."""


@dataclass(frozen=True)
class Reference(Node):
    """variable[index].attribute. `attribute` is None in count(b[]); `back` is k of b[i-k], or n of b[n].

    An attribute's name has dots where a query writes several words: customer.tier (see `paths`). `steps`: from an array
    to what is read in it, numbers of elements (from 1) and names of fields: (1, "sku") for .items[1].sku.
    """

    variable: str
    index: Index
    attribute: str | None
    back: int = 0
    steps: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Next(Node):
    """NEXT(variable).attribute. `steps`: as of a Reference."""

    variable: str
    attribute: str
    steps: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Key(Node):
    """[attr, Type.attr]: the condition that all events of a match have equal values of these attributes."""

    attributes: tuple[KeyAttribute, ...]


@dataclass(frozen=True)
class KeyAttribute(Node):
    """An attribute of a key. `owner`: the type or variable whose events must agree; None: all.

    An owner that is neither is the first word of a path, and all events must agree. `expression`: a function of
    attributes instead, which are References without an attribute: their variable is the whole dotted name.
    """

    owner: str | None
    name: str
    expression: Expression | None = None


@dataclass(frozen=True)
class Prefix(Node):
    """A prefix operation; the operator is "-" or "not"."""

    operator: str
    operand: Expression


@dataclass(frozen=True)
class Operation(Node):
    """A binary operation; the operator is one of + - * / %  = != < <= > >=."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logic(Node):
    """Operands joined by "and" or "or": at least two, and none is a Logic with the same operator."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Membership(Node):
    """The test operand IN (choices)."""

    operand: Expression
    choices: tuple[Literal, ...]


@dataclass(frozen=True)
class Call(Node):
    """A call function(arguments), the name in lower case. min and max of several arguments are least and greatest."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Literal | Name | Star | Reference | Next | Key | Prefix | Operation | Logic | Membership | Call


def operands(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression."""
    match expression:
        case Prefix(operand=operand):
            return (operand,)
        case Operation(left=left, right=right):
            return (left, right)
        case Logic(operands=parts):
            return parts
        case Membership(operand=operand, choices=choices):
            return (operand, *choices)
        case Call(arguments=arguments):
            return arguments
    return ()


def mapped(expression: Expression, other: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with every part for which `other` has another one replaced by it, the outermost first."""
    if (found := other(expression)) is not None:
        return found
    match expression:
        case Prefix(operand=operand) | Membership(operand=operand):
            return replace(expression, operand=mapped(operand, other))
        case Operation(left=left, right=right):
            return replace(expression, left=mapped(left, other), right=mapped(right, other))
        case Logic(operands=parts):
            return replace(expression, operands=tuple(mapped(part, other) for part in parts))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(mapped(argument, other) for argument in arguments))
    return expression


def references(expression: Expression) -> Iterator[Reference]:
    """The references in an expression, left to right."""
    if isinstance(expression, Reference):
        yield expression
    for operand in operands(expression):
        yield from references(operand)


# ---------------------------------------------------------------- clauses


@dataclass(frozen=True)
class Target(Node):
    """A variable in a strategy's brackets: `b`, `b[]` (both with `current` False) or `b[i]`."""

    variable: str
    current: bool


@dataclass(frozen=True)
class StrategyUse(Node):
    """A selection strategy by its canonical name, with the variables in its brackets (none: for all)."""

    name: str
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Size(Node):
    """A window's size or slide: a number of ms, or of events."""

    amount: int
    events: bool


@dataclass(frozen=True)
class Opening(Node):
    """OPEN ON Type [var] [WHERE expr]."""

    type: str
    variable: str | None
    condition: Expression | None
    type_start: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Within(Node):
    """WITHIN size [SLIDE slide] [OPEN ON ...]."""

    size: Size
    slide: Size | None
    opening: Opening | None


@dataclass(frozen=True)
class Item(Node):
    """An item of RETURN: expr [AS alias]."""

    expression: Expression
    alias: str | None


@dataclass(frozen=True)
class Returns(Node):
    """RETURN items [INTO type]; no items stands for RETURN *. `into_span`: of the type."""

    items: tuple[Item, ...]
    into: str | None
    into_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Output(Node):
    """OUTPUT mode [WITH TIMEOUTS]; the mode in capitals."""

    mode: str
    timeouts: bool


@dataclass(frozen=True)
class Consume(Node):
    """CONSUME NONE | ALL | variables: `scope` is "none", "all" or "variables"."""

    scope: str
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Publish(Node):
    """PUBLISH ['topic' [AS form] [KEY expr]]; without a topic, to the topic of all results.

    `form`: "JSON SCHEMA" or "AVRO"; None without AS.
    """

    topic: str | None
    form: str | None = None
    key: Expression | None = None


@dataclass(frozen=True)
class Setting(Node):
    """The value of CONFIDENCE or WEIGHT (a number), of TIME ("ORDERED", "STRICT"), of EXACT or EMIT (the word)."""

    value: int | float | str


@dataclass(frozen=True)
class Query(Node):
    """A whole query. An absent clause is None; absent conditions, strategies and groups are ()."""

    pattern: Pattern
    within: Within
    name: str | None = None
    stream: str | None = None
    strategies: tuple[StrategyUse, ...] = ()
    conditions: tuple[Expression, ...] = ()
    group: tuple[KeyAttribute, ...] = ()
    having: Expression | None = None
    returns: Returns | None = None
    output: Output | None = None
    consume: Consume | None = None
    confidence: Setting | None = None
    time: Setting | None = None
    weight: Setting | None = None
    exact: Setting | None = None
    emit: Setting | None = None
    publish: Publish | None = None
    text: str = field(default="", compare=False)
