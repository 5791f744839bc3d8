"""Names of one query: its components, the stream's types and attributes, and the errors that point at them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from saffron.carets import quoted, render
from saffron.errors import QueryError
from saffron.language.plan.plan import Const
from saffron.language.syntax.hints import known_names, suggestion
from saffron.language.syntax.sql import is_null, null_hint
from saffron.language.syntax.tokens import NAME_QUOTES, name_end, name_text, string_text
from saffron.language.syntax.tree import Event, Name, Span
from saffron.schema.schema import Kind, Schema

OWN: dict[str, tuple[str, Kind]] = {
    "ts": ("ts", Kind.INT),
    "timestamp": ("ts", Kind.INT),
    "type": ("type", Kind.STRING),
}
"""What every event has, beside the attributes of its type: spelling -> name and kind."""

WARNING_LIMIT = 20


@dataclass(frozen=True)
class Place:
    """A component of the pattern: what results call it, its event type, whether it is a closure, where it stands.

    `original`: see Slot.
    """

    variable: str
    type: str
    closure: bool
    span: Span
    original: int | None = None

    @property
    def written(self) -> str:
        """The variable as a query writes it."""
        return name_text(self.variable)


@dataclass(frozen=True)
class Slot:
    """A component to be declared. `original`: the component that this one repeats inside a NOT; no name means it.

    `absent`: it stands in a NOT.
    """

    event: Event
    closure: bool
    original: int | None = None
    absent: bool = False


@dataclass(frozen=True)
class Found:
    """An attribute after look-up. `kind` None: not known (no schema); `null`: no event can have it (lenient)."""

    name: str
    kind: Kind | None
    null: bool = False


NULL = Const(None)


@dataclass
class Scope:
    """`places`: the components in pattern order. `schema` None: nothing is known, every name is let through.

    `unseen`: what an inferred schema lacks may come yet; until then such attributes are null.
    `aggregates`: names of the user-defined ones, in lower case.
    """

    text: str
    schema: Schema | None
    lenient: bool
    aggregates: frozenset[str] = frozenset()
    unseen: bool = False
    places: tuple[Place, ...] = ()
    warnings: list[str] = field(default_factory=list)
    waits: dict[str, None] = field(default_factory=dict)
    unseen_names: dict[str, None] = field(default_factory=dict)

    # -------------------------------------------------------- errors and warnings

    def wrong(self, message: str, span: Span, hint: str = "") -> QueryError:
        """A name or a kind is wrong."""
        return QueryError(message, stage="schema", text=self.text, start=span.start, end=span.end, hint=hint)

    def alone(self, name: Name, hint: str) -> QueryError:
        """A name that is no attribute of anything. `hint`: what to write where it is no null."""
        if is_null(name.name):
            variable = self.places[0].variable if self.places else "a"
            return self.wrong(f"{name.name} is no value to compare with", name.span, null_hint(f"{variable}.x"))
        if self.text[name.span.start] in NAME_QUOTES:
            hint = f"What stands in double quotes is a name; strings stand in single ones: {string_text(name.name)}."
        whole = re.search(r"[\w.$@:/-]*$", self.text[: name.span.end])
        parts = ["", ""] if whole is None else [whole.group(), whole.group().partition(".")[2]]
        for part in parts:
            if self.schema is not None and part in self.schema.kinds and part != name.name:
                hint = f"The attribute {quoted(part)} is written in double quotes: {name_text(part)}."
        return self.wrong(f"{name.name[:40]} stands alone", name.span, hint)

    def refused(self, message: str, span: Span, hint: str = "") -> QueryError:
        """The query is well formed, but cannot be run."""
        return QueryError(message, stage="plan", text=self.text, start=span.start, end=span.end, hint=hint)

    def warn(self, message: str, span: Span, hint: str = "") -> None:
        """Not surely meant so; the first WARNING_LIMIT are kept."""
        if len(self.warnings) == WARNING_LIMIT:
            return
        shown = render(message, text=self.text, start=span.start, end=span.end, hint=hint, label="query warning")
        if shown not in self.warnings:
            self.warnings.append(shown)

    # -------------------------------------------------------- types and components

    def check_type(self, name: str, start: int, *, absent: bool = False) -> None:
        """The stream has events of this type, or may come to have.

        A warning alone where names are lenient, and where the type must be absent and the schema was inferred.
        """
        if self.schema is None or name in self.schema.types:
            return
        if self._grows:
            self.waits[f"event type {quoted(name)}"] = None
        if self._open:
            return
        message, span = f"unknown event type {quoted(name)}", Span(start, name_end(self.text, start, name))
        if self.lenient or (absent and not self.schema.given):
            self.warn(message, span, "NOT of what never comes always holds." if absent else "")
            return
        raise self.wrong(message, span, known_names("The stream has", list(self.schema.types), name))

    def declare(self, slots: Sequence[Slot], limit: int) -> None:
        """Take up the pattern's components, in order; more than `limit` are refused."""
        if len(slots) > limit:
            hint = "Repeat with a plus: A+ a[]."
            message = f"a pattern of this kind has at most {limit} components, this one has {len(slots)}"
            raise self.refused(message, slots[limit].event.span, hint)
        taken: set[str] = set()
        for slot in slots:
            event = slot.event
            if event.variable is not None and event.variable in taken and slot.original is None:
                hint = "Give each component a variable of its own."
                raise self.wrong(f"two components are called {quoted(event.variable)}", event.span, hint)
            taken.add(event.variable or "")
        places: list[Place] = []
        count = dict.fromkeys((slot.event.type for slot in slots), 0)
        for slot in slots:
            event = slot.event
            self.check_type(event.type, event.span.start, absent=slot.absent)
            if event.brackets and not slot.closure:
                hint = f"A closure has a plus: {name_text(event.type)}+ {name_text(event.variable or '')}[]."
                raise self.wrong(f"{event.variable}[] is a list, but one event is asked for", event.span, hint)
            variable = event.variable if slot.original is None else None
            if variable is None:
                base = event.type if slot.original is None else places[slot.original].variable
                variable = _default_name(base, count, taken)
                taken.add(variable)
            places.append(Place(variable, event.type, slot.closure, event.span, slot.original))
        self.places = tuple(places)
        self._by_name = {place.variable: index for index, place in enumerate(places) if place.original is None}

    def component(self, name: str, span: Span) -> int:
        """The component that a variable names, or the one of a type of that name."""
        if name in self._by_name:
            return self._by_name[name]
        typed = self.of_type(name)
        if len(typed) == 1:
            return typed[0]
        variables = [place.variable for place in self.places]
        if typed:
            hint = "Use a variable: " + ", ".join(name_text(variables[index]) for index in typed[:20]) + "."
            raise self.wrong(f"several components have the type {quoted(name)}", span, hint)
        raise self.wrong(f"unknown variable {quoted(name)}", span, known_names("The pattern has", variables, name))

    def of_type(self, name: str) -> list[int]:
        """The components with this event type."""
        return [index for index, place in enumerate(self.places) if place.type == name and place.original is None]

    @property
    def _open(self) -> bool:
        """Whether events may come that the schema does not know of, and the query is to wait for them."""
        return self.unseen and self._grows

    @property
    def _grows(self) -> bool:
        """Whether the schema is one that grows as events bring more."""
        return self.schema is not None and not self.schema.given

    # -------------------------------------------------------- attributes

    def attribute(self, type_name: str, name: str, span: Span) -> Found:
        """An attribute of an event type (lenient: an unknown one is null, with a warning).

        One that may come yet is of kind NULL until it has come: the query is then bound anew.
        """
        if self.schema is None:
            return Found(*OWN[name]) if name in OWN else Found(name, None)
        own = self.schema.attributes_of(type_name)
        kind = self.schema.kinds.get(name, Kind.NULL)
        if name not in own:
            if name in OWN:
                return Found(*OWN[name])
            self._miss(type_name, name, span)
        if self._grows and (name not in own or kind is Kind.NULL):
            self.waits[f"attribute {quoted(name)} of type {type_name}"] = None
        if name not in self.schema.kinds:
            if not self._grows:
                return Found(name, None, null=True)
            self.unseen_names[name] = None
        return Found(name, kind)

    def _miss(self, type_name: str, name: str, span: Span) -> None:
        """An unknown attribute: an error, a warning, or nothing where it may come yet."""
        assert self.schema is not None
        message = f"unknown attribute {quoted(name)} of type {type_name}"
        never = type_name not in self.schema.types and not (self.schema.given or self.unseen)
        may_come = self._open and type_name not in self.schema.derived  # results of a query have what it returns
        if not (self.lenient or never or may_come):
            own = list(self.schema.attributes_of(type_name))
            raise self.wrong(message, span, known_names(f"{type_name} has", own, name))
        if may_come:
            return
        told = "It is null, and comparisons with null are false"
        if name in self.schema.kinds:
            told = "Other types of the stream have it; here it is null until such an event comes"
        self.warn(message, span, f"{told}.")

    def shared(self, name: str, owners: Sequence[Place], span: Span) -> Found:
        """An attribute on which events of all `owners` agree, or by which they are grouped."""
        if name in ("ts", "type") and not (self.schema is not None and name in self.schema.kinds):
            raise self.wrong(f"{quoted(name)} cannot partition the stream", span, "Name an attribute of the events.")
        found = Found(name, None)
        for type_name in dict.fromkeys(place.type for place in owners):
            found = self.attribute(type_name, name, span)
        return found

    def near_function(self, name: str, known: Sequence[str]) -> str:
        return " ".join(filter(None, ["Functions: " + ", ".join(known) + ".", suggestion(name, known)]))


def _default_name(type_name: str, count: dict[str, int], taken: set[str]) -> str:
    """A, then A#2, A#3 (names that no variable can have)."""
    count[type_name] = count.get(type_name, 0) + 1
    if count[type_name] == 1 and type_name not in taken:
        return type_name
    count[type_name] = max(count[type_name], 2)
    while f"{type_name}#{count[type_name]}" in taken:
        count[type_name] += 1
    return f"{type_name}#{count[type_name]}"
