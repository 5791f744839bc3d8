"""Values that are computed from the attributes of one event: a tree of functions and operators over them.

A plan reads them as attributes, under names that no event can have. Engines add them to the columns of a block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from saffron.schema.constants import OfConstant
from saffron.schema.event_types import EventTypes
from saffron.schema.functions.arrays import Step, element
from saffron.schema.functions.built_in import BUILT_IN
from saffron.schema.functions.operators import OPERATORS, applied
from saffron.schema.functions.own import require
from saffron.schema.numbers import number_of
from saffron.schema.schema import COMPUTED_MARK, Kind

ELEMENT = "element"
"""The function that reads what lies in an array: its arguments are the array, then the steps to it."""


@dataclass(frozen=True)
class Read:
    """The value of an attribute."""

    attribute: str


@dataclass(frozen=True)
class Constant(OfConstant):
    """A value that stands in the query; None is null."""


@dataclass(frozen=True)
class Applied:
    """A function of the language, or an operator (`functions.operators`), of arguments."""

    function: str
    arguments: tuple[Tree, ...]


Tree = Read | Constant | Applied
Values = Callable[[str], Any]
"""Attribute -> its value in an event, arrays parsed; None: null."""


@dataclass(frozen=True)
class Computed:
    """A value computed from attributes. `kind`: of the value; another one is null. ARRAY stands for any JSON value."""

    tree: Tree
    kind: Kind

    @property
    def name(self) -> str:
        """The name under which a plan reads it."""
        return COMPUTED_MARK + json.dumps([self.kind.value, _record(self.tree)], separators=(",", ":"))

    @classmethod
    def of_name(cls, name: str) -> Self | None:
        """The computed attribute of this name; None if the name is a plain attribute's."""
        return cls._of_name(name) if name.startswith(COMPUTED_MARK) else None

    @classmethod
    @lru_cache(maxsize=1024)
    def _of_name(cls, name: str) -> Self:
        kind, record = json.loads(name.removeprefix(COMPUTED_MARK))
        return cls(_tree(record), Kind(kind))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it is computed from, each once."""
        return tuple(dict.fromkeys(_reads(self.tree)))

    @property
    def calls_own(self) -> bool:
        """True if it calls a function of the user's own, which may fail on an event."""
        return _calls_own(self.tree)

    @property
    def reads_element(self) -> bool:
        """True if it reads what lies in an array."""
        return _reads_element(self.tree)

    def of(self, values: Values) -> Any:
        """The value in an event; None for null."""
        return of_kind(evaluated(self.tree, values), self.kind)


@dataclass(frozen=True)
class ComputedRead:
    """A computed value that a query reads. `types`: it is read of events of any of these sets of types."""

    name: str
    types: tuple[EventTypes, ...]


def without_kind(name: str) -> Tree | str:
    """The value that a name stands for, whatever its kind: the name of a computed number changes as a schema grows."""
    one = Computed.of_name(name)
    return name if one is None or not one.kind.is_number else one.tree


def attributes_of_name(name: str) -> tuple[str, ...]:
    """The attributes of an event that a plan reads under a name: those of a computed value, or the attribute itself."""
    one = Computed.of_name(name)
    return (name,) if one is None else one.attributes


def evaluated(tree: Tree, values: Values) -> Any:
    """The value of a tree, of whatever kind it is."""
    return evaluator(tree)(values)


@lru_cache(maxsize=1024)
def evaluator(tree: Tree) -> Callable[[Values], Any]:
    """A tree as a function of the attributes' values."""
    match tree:
        case Read(attribute=attribute):
            return lambda values: values(attribute)
        case Constant(value=constant):
            return lambda _: constant
        case Applied(function=function, arguments=arguments):
            call = _called(function)
            parts = [evaluator(one) for one in arguments]
    if len(parts) == 1:
        (only,) = parts
        return lambda values: call([only(values)])
    return lambda values: call([part(values) for part in parts])


def applied_to(function: str, values: list[Any]) -> Any:
    """A function or an operator of values. FunctionError: this process does not know it."""
    return _called(function)(values)


def _called(function: str) -> Callable[[list[Any]], Any]:
    if function == ELEMENT:
        return lambda values: element(*values)
    if function in OPERATORS:
        return lambda values: applied(function, values)
    if (row := BUILT_IN.get(function)) is not None:
        return row.of
    return lambda values: require(function).of(values)  # one of a user's may be replaced


def of_kind(value: Any, kind: Kind) -> Any:
    """The value if it is of the kind, else None."""
    if kind is Kind.ARRAY:
        return value
    if kind.is_number:
        return number_of(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if isinstance(value, str if kind is Kind.STRING else bool) else None


def where_true(condition: Tree) -> Tree:
    """1 where a condition holds, else null: what `count` of a condition counts."""
    return Applied("case", (condition, Constant(1), Constant(None)))


def element_of(array: Tree, steps: tuple[Step, ...]) -> Tree:
    """The element at `steps` in an array; the array itself for no steps."""
    return Applied(ELEMENT, (array, *map(Constant, steps))) if steps else array


def _reads(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Read):
        yield tree.attribute
    elif isinstance(tree, Applied):
        for one in tree.arguments:
            yield from _reads(one)


def _calls_own(tree: Tree) -> bool:
    if not isinstance(tree, Applied):
        return False
    known = tree.function == ELEMENT or tree.function in OPERATORS or tree.function in BUILT_IN
    return not known or any(map(_calls_own, tree.arguments))


def _reads_element(tree: Tree) -> bool:
    return isinstance(tree, Applied) and (tree.function == ELEMENT or any(map(_reads_element, tree.arguments)))


def _record(tree: Tree) -> Any:
    """A tree as JSON: an attribute as an object, a function as a list, a constant as itself."""
    match tree:
        case Read(attribute=attribute):
            return {"of": attribute}
        case Constant(value=value):
            return value
        case Applied(function=function, arguments=arguments):
            return [function, *map(_record, arguments)]


def _tree(record: Any) -> Tree:
    if isinstance(record, dict):
        return Read(record["of"])
    if isinstance(record, list):
        return Applied(record[0], tuple(map(_tree, record[1:])))
    return Constant(record)
