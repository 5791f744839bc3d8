"""The nodes of a YAML text with their places, so that an error shows the line that it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn, TypeVar

import yaml

from saffron.carets import render
from saffron.durations import read_duration
from saffron.errors import SaffronError
from saffron.language.syntax.hints import known_names
from saffron.mapping.paths import PATH_FORM, Path, PathError

_E = TypeVar("_E", bound=Enum)
_BRACKETS = 'Within { } a path with brackets stands in quotes: "items[1].sku".'
_TRUTHS = {"true": True, "false": False}


_YAML = {
    "'\\t' that cannot": "YAML is indented by spaces, not by tabs.",
    "that cannot start": "A value that begins with such a sign stands in quotes.",
    "undefined alias": "A value that begins with * stands in quotes.",
    "comment or a line break": "A value that begins with ! or > stands in quotes.",
    "mapping values": "NAME: VALUE stands on a line of its own; a value with a colon in it stands in quotes.",
    "found '<block": "The names of a mapping begin in one column, and so do the dashes of a list.",
    "found '<scalar>'": "Nothing follows a closed quote; one inside single quotes is written twice: 'it''s'.",
    "or '}'": "What begins with { ends with }.",
    "or ']'": "What begins with [ ends with ].",
}
"""What YAML's parser says, in part -> what to write."""


def _place_and_hint(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str]:
    """Where a text that is no YAML went wrong, and what to write there."""
    unclosed = error.problem == "found unexpected end of stream"
    mark = (error.context_mark if unclosed else None) or error.problem_mark or error.context_mark
    at = mark.index if mark is not None else 0
    if text[at : at + 1] in ("[", "]"):
        return at, _BRACKETS
    if unclosed:
        return at, "This quote is not closed."
    return at, next((hint for part, hint in _YAML.items() if part in str(error.problem)), "")


class DefinitionError(SaffronError):
    """A definition's text is wrong; `str` shows the place with carets."""


@dataclass(frozen=True)
class Node:
    """A value of a YAML text. `what`: how sentences name it."""

    text: str
    node: yaml.Node
    what: str

    @classmethod
    def root(cls, text: str) -> Node:
        """The whole document. DefinitionError: it is no YAML, or empty."""
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            at, hint = _place_and_hint(error, text)
            raise DefinitionError(_rendered(f"this is no YAML: {error.problem}", text, at, at + 1, hint)) from None
        except yaml.YAMLError as error:
            raise DefinitionError(f"definition error: this is no YAML: {error}") from None
        except RecursionError:
            raise DefinitionError("definition error: it is nested too deep: brackets within brackets") from None
        if node is None:
            raise DefinitionError("definition error: the text is empty\nIt begins with the line: stream: NAME")
        return cls(text, node, "the definition")

    def error(self, message: str, hint: str = "", *, start: int = 0, stop: int | None = None) -> NoReturn:
        """Raises a DefinitionError about this value; `start`, `stop`: about a part of its text, by offsets in it."""
        begin, end = self.node.start_mark.index, self.node.end_mark.index
        value = str(self.node.value) if isinstance(self.node, yaml.ScalarNode) else ""
        place = self.text.find(value, begin, end) if value else -1
        if place >= 0:  # else it has escapes or line breaks, and is shown whole
            begin, end = place + min(start, len(value)), place + min(len(value) if stop is None else stop, len(value))
        raise DefinitionError(_rendered(message, self.text, begin, max(end, begin + 1), hint))

    @property
    def is_text(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode)

    @property
    def is_null(self) -> bool:
        return isinstance(self.node, yaml.ScalarNode) and self.node.tag == "tag:yaml.org,2002:null"

    def scalar(self) -> str:
        """The text of a single value, as it is written."""
        if not isinstance(self.node, yaml.ScalarNode) or self.is_null:
            self.error(f"{self.what} should be a text", "")
        return str(self.node.value)

    def flag(self) -> bool:
        """The truth value of the node."""
        found = _TRUTHS.get(self.scalar().lower())
        if found is None:
            self.error(f"{self.what} should be true or false")
        return found

    def whole(self, least: int, most: int) -> int:
        """A whole number within bounds."""
        found = self.scalar()
        if not re.fullmatch(r"\d{1,9}", found, re.ASCII) or not least <= int(found) <= most:
            self.error(f"{self.what} should be a whole number from {least} to {most}")
        return int(found)

    def milliseconds(self) -> int:
        """A duration: 500ms, 5s, 2m, 1h, 1d; or 0."""
        try:
            return read_duration(self.scalar())
        except ValueError as error:
            self.error(f"{self.what} should be a duration", str(error))

    def choice(self, among: type[_E]) -> _E:
        """A member of an enumeration by its value."""
        found, known = self.scalar(), [str(one.value) for one in among]
        if found not in known:
            self.error(f"{self.what} cannot be {found!r}", known_names("There are", known, found))
        return among(found)

    def items(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.error(f"{self.what} should be a list", "Each line of a list begins with a dash.")
        return [
            Node(self.text, one, f"element {number} of {self.what}") for number, one in enumerate(self.node.value, 1)
        ]

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Keys and values of a mapping, each key once."""
        if not isinstance(self.node, yaml.MappingNode):
            self.error(f"{self.what} should be a mapping", "Write NAME: VALUE, one on a line.")
        seen: set[str] = set()
        for key, value in self.node.value:
            named = Node(self.text, key, f"a name in {self.what}")
            name = named.scalar()
            if name in seen:
                named.error(f"{name} stands twice in {self.what}")
            seen.add(name)
            yield named, Node(self.text, value, f"`{name}`")

    def fields(self, known: Collection[str], needed: Collection[str] = ()) -> dict[str, Node]:
        """The values of a mapping by name; none but those that are known."""
        found: dict[str, Node] = {}
        for key, value in self.pairs():
            name = key.scalar()
            if name not in known:
                key.error(f"{self.what} has no `{name}`", known_names("There are", list(known), name))
            found[name] = value
        for name in needed:
            if name not in found:
                self.error(f"{self.what} needs `{name}`")
        return found


def optional(fields: dict[str, Node], name: str, read: Callable[[Node], _T]) -> _T | None:
    """A field's value; None where it is not there."""
    return read(fields[name]) if name in fields else None


def path_of(node: Node) -> Path:
    """The path in a node."""
    text = node.scalar()
    try:
        return Path.parse(text)
    except PathError as error:
        node.error(str(error), f"Paths are {PATH_FORM}.", start=error.place)


_T = TypeVar("_T")


def _rendered(message: str, text: str, start: int, end: int, hint: str = "") -> str:
    return render(message, text=text, start=start, end=end, hint=hint, label="definition error")
