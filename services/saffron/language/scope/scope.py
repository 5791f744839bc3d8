"""Look-up of one query's names (components, event types, attributes), and errors that point at them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from saffron.carets import quoted, render
from saffron.errors import QueryError
from saffron.language.plan.expressions import Const
from saffron.language.scope.places import Place, Slot, default_name, name_of
from saffron.language.syntax.hints import known_attributes, known_names, near_attribute, structure, suggestion
from saffron.language.syntax.lexing.tokens import NAME_QUOTES, name_end, name_text, string_text
from saffron.language.syntax.paths import OWN as OWN_FIELD
from saffron.language.syntax.paths import attribute_text, own_name
from saffron.language.syntax.printer import types_text
from saffron.language.syntax.sql import is_null, null_hint
from saffron.language.syntax.tree import Event, Name, Span
from saffron.schema.computed import Computed
from saffron.schema.event_types import EventTypes, is_type, one_type
from saffron.schema.schema import Kind, Schema
from saffron.schema.table_names import Lookup

TIMESTAMP = "timestamp"
"""What the papers write for ts (X, figure 6). Unlike ts, it can be the name of an attribute, which comes first."""
OWN: dict[str, tuple[str, Kind]] = {
    "ts": ("ts", Kind.INT),
    TIMESTAMP: ("ts", Kind.INT),
    "type": ("type", Kind.STRING),
}
"""Fields of every event, whatever its type: spelling -> name and kind."""

QUOTED_LEN = f"{OWN_FIELD}len"
"""The attribute of a."len"."""

WARNING_LIMIT = 20
"""Most warnings that are kept for a query."""

_NEVER = "If none comes, NOT of it holds, and UNTIL of it ends nothing."


@dataclass(frozen=True)
class Found:
    """A resolved attribute. `kind`: None without a schema. `null`: no event can have it (lenient)."""

    name: str
    kind: Kind | None
    null: bool = False


NULL = Const(None)
ANY = "ANY"
"""The name of a step of any type in errors."""


@dataclass
class Scope:
    """The names of one query, and its warnings.

    `schema`: None accepts every name. `lenient`: unknown names are warnings. `aggregates`: names of user-defined
    aggregates, in lower case. `unseen`: names that an inferred schema lacks may come later, and are null until then.
    `places`: the components in pattern order. `waits`, `unseen_names`: ordered sets, see plan.MatchPlan. `computed`:
    the computed values that the query reads, each with the types of whose events it reads it. `timestamps`: see
    plan.MatchPlan.
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
    computed: dict[str, dict[EventTypes, None]] = field(default_factory=dict)
    timestamps: dict[str, None] = field(default_factory=dict)

    # -------------------------------------------------------- errors and warnings

    def schema_error(self, message: str, span: Span, hint: str = "", *, unknown: bool = False) -> QueryError:
        """The error of an unknown name or a wrong kind. `unknown`: of a type or an attribute that the schema lacks."""
        start, end = span
        return QueryError(message, stage="schema", text=self.text, start=start, end=end, hint=hint, unknown=unknown)

    def bare_name_error(self, name: Name, hint: str, of_event: str = "") -> QueryError:
        """The error of a name without a variable. `hint`: used unless the name is null, quoted, or an attribute.

        `of_event`: used instead of it for a variable of the pattern; else the variable's attributes are named.
        """
        if is_null(name.name):
            variable = self.places[0].variable if self.places else "a"
            return self.schema_error(f"{name.name} is no value to compare with", name.span, null_hint(f"{variable}.x"))
        place = next((place for place in self.places if place.variable == name.name), None)
        if place is not None:
            shown = place.written
            list_hint = f"It is a list of events, as {shown}.len, max({shown}[].x) or {shown}[last].x reads it."
            event_hint = f"It is an event: write {shown}.x for an attribute of it."
            hint = of_event or (list_hint if place.closure else event_hint)
        start, end = name.span
        if self.text[start] in NAME_QUOTES and name_end(self.text, start, name.name) == end:
            hint = f"What stands in double quotes is a name; strings stand in single ones: {string_text(name.name)}."
        whole = re.search(r"[\w.$@:/-]*$", self.text[: name.span.end])
        parts = ["", ""] if whole is None else [whole.group(), whole.group().partition(".")[2]]
        for part in parts:
            if self.schema is not None and part in self.schema.kinds and part != name.name:
                hint = f"The attribute {quoted(part)} is written in double quotes: {attribute_text(part)}."
        return self.schema_error(f"{name.name[:40]} stands alone", name.span, hint)

    def plan_error(self, message: str, span: Span, hint: str = "") -> QueryError:
        """The error of a query that is well formed but cannot be run."""
        return QueryError(message, stage="plan", text=self.text, start=span.start, end=span.end, hint=hint)

    def warn(self, message: str, span: Span, hint: str = "") -> None:
        """Add a warning, unless there are WARNING_LIMIT already."""
        if len(self.warnings) == WARNING_LIMIT:
            return
        shown = render(message, text=self.text, start=span.start, end=span.end, hint=hint, label="query warning")
        if shown not in self.warnings:
            self.warnings.append(shown)

    def note_computed(self, name: str, types: Iterable[EventTypes]) -> None:
        """Note that the query reads a computed value of events of these types."""
        self.computed.setdefault(name, {}).update(dict.fromkeys(types))

    # -------------------------------------------------------- types and components

    def check_type(self, name: str, start: int, *, absent: bool = False) -> None:
        """Check that the stream has events of this type, or may come to have some; else raise QueryError.

        It is only a warning in lenient mode, and for a type inside a NOT (`absent`) if the schema was inferred.
        """
        if self.schema is not None and name in self.schema.types:
            return
        self.check_type_name(name, Span(start, name_end(self.text, start, name)))
        if self.schema is None:
            return
        if self._grows:
            self.waits[f"event type {quoted(name)}"] = None
        message, span = f"unknown event type {quoted(name)}", Span(start, name_end(self.text, start, name))
        if self._open:
            if hint := suggestion(name, self.schema.types, name_text):
                self.warn(f"no event has had the type {quoted(name)} yet", span, hint)
            return
        if self.lenient or (absent and not self.schema.given):
            near = suggestion(name, self.schema.types, name_text)
            self.warn(message, span, " ".join(filter(None, [_NEVER if absent else "", near])))
            return
        raise self.schema_error(
            message, span, known_names("The stream has", list(self.schema.types), name), unknown=True
        )

    def check_type_name(self, name: str, span: Span) -> None:
        """Check that events can be of this type at all; else raise QueryError."""
        if not is_type(name):
            hint = "A type is not empty, and does not begin with $, as Saffron's own do."
            raise self.schema_error(f"no event is of type {quoted(name)}", span, hint)

    def declare(self, slots: Sequence[Slot], limit: int) -> None:
        """Declare the pattern's components, in order. QueryError: more than `limit`, equal or unknown names."""
        if len(slots) > limit:
            hint = "Repeat with a plus: A+ a[]."
            message = f"a pattern of this kind has at most {limit} components, this one has {len(slots)}"
            raise self.plan_error(message, slots[limit].event.span, hint)
        taken: set[str] = set()
        for slot in slots:
            event = slot.event
            if event.variable is not None and event.variable in taken and slot.original is None:
                hint = "Give each component a variable of its own."
                raise self.schema_error(f"two components are called {quoted(event.variable)}", event.span, hint)
            taken.add(event.variable or "")
        places: list[Place] = []
        count = dict.fromkeys((name_of(slot.event) for slot in slots), 0)
        for slot in slots:
            event = slot.event
            for name, start in zip(event.types, event.starts, strict=True):
                self.check_type(name, start, absent=slot.absent)
            if event.brackets and not slot.closure:
                hint = f"A closure has a plus: {types_text(event.types)}+ {name_text(event.variable or '')}[]."
                raise self.schema_error(
                    f"{event.variable}[] is a list, but the pattern takes one event", event.span, hint
                )
            variable = event.variable if slot.original is None else None
            if variable is None:
                base = name_of(event) if slot.original is None else places[slot.original].variable
                variable = default_name(base, count, taken)
                taken.add(variable)
            places.append(Place(variable, self._types(event), slot.closure, slot.original))
        self.places = tuple(places)
        self._by_name = {place.variable: index for index, place in enumerate(places) if place.original is None}

    def _types(self, event: Event) -> EventTypes:
        """The types of an event; ANY is every type of the stream, but no result of another query."""
        if event.types:
            return EventTypes(event.types)
        return EventTypes(() if self.schema is None else tuple(sorted(self.schema.derived)), others=True)

    def component(self, name: str, span: Span) -> int:
        """The index of the component with this variable, or of the only one with this type; else QueryError."""
        if name in self._by_name:
            return self._by_name[name]
        typed = self.of_type(name)
        if len(typed) == 1:
            return typed[0]
        variables = [place.variable for place in self.places]
        if typed:
            hint = "Use a variable: " + ", ".join(name_text(variables[index]) for index in typed[:20]) + "."
            raise self.schema_error(f"several components have the type {quoted(name)}", span, hint)
        raise self.schema_error(
            f"unknown variable {quoted(name)}", span, known_names("The pattern has", variables, name)
        )

    def owns(self, name: str) -> bool:
        """True if a name is a variable or a type of the pattern; else it begins a path."""
        return name in self._by_name or bool(self.of_type(name))

    def of_type(self, name: str) -> list[int]:
        """Indices of the components with this event type alone."""
        wanted = one_type(name)
        return [index for index, place in enumerate(self.places) if place.types == wanted and place.original is None]

    @property
    def _open(self) -> bool:
        """True if the query waits for types and attributes that the schema lacks."""
        return self.unseen and self._grows

    @property
    def _grows(self) -> bool:
        """True if the schema is inferred, so that events extend it."""
        return self.schema is not None and not self.schema.given

    # -------------------------------------------------------- attributes

    @property
    def _arrays(self) -> Collection[str]:
        kinds = {} if self.schema is None else self.schema.kinds
        return {name for name, kind in kinds.items() if kind is Kind.ARRAY}

    def attribute(self, types: EventTypes, name: str, span: Span) -> Found:
        """An attribute that all the types have; of ANY, one that any type of the stream has.

        An unknown one raises QueryError; in lenient mode it is null with a warning. An attribute that may come later
        has kind NULL; the query is bound again once it has come.
        """
        name = "len" if name == QUOTED_LEN else name  # an event has no len of its own, only a list has
        if self.schema is None:
            return Found(*OWN[name]) if name in OWN else Found(name, None)
        if types.others:
            return self._attribute(ANY, self.schema.attributes_of_any(types), name, span)
        found = [self._attribute(one, self.schema.attributes_of(one), name, span) for one in types.named]
        return found[0]

    def _attribute(self, type_name: str, own: tuple[str, ...], name: str, span: Span) -> Found:
        """An attribute of one type, or of ANY, which has the attributes `own`."""
        assert self.schema is not None
        kind = self.schema.kinds.get(name, Kind.NULL)
        if name not in own:
            if name in OWN:
                if name == TIMESTAMP:
                    self.timestamps[type_name] = None
                return Found(*OWN[name])
            self._miss(type_name, own, name, span)
        looked_up = Lookup.of_name(name) is not None  # such a query begins where all events are looked up
        if self._grows and (name not in own or kind is Kind.NULL) and not looked_up:
            self.waits[f"attribute {quoted(own_name(name))} of type {type_name}"] = None
        if name not in self.schema.kinds:
            if not self._grows:
                return Found(name, None, null=True)
            self.unseen_names[name] = None
        return Found(name, kind)

    def _miss(self, type_name: str, own: tuple[str, ...], name: str, span: Span) -> None:
        """Report an unknown attribute: raise QueryError, warn, or do nothing if it may come later."""
        assert self.schema is not None
        message = f"unknown attribute {quoted(own_name(name))} of type {type_name}"
        never = type_name not in self.schema.types and not (self.schema.given or self.unseen) and type_name != ANY
        may_come = self._open and type_name not in self.schema.derived  # a query's results have those of RETURN
        if not (self.lenient or never or may_come):
            known = known_attributes(f"{type_name} has", list(own), self._arrays, name)
            if (lookup := Lookup.of_name(name)) is not None:
                message = f"there is no table {quoted(lookup.table)}"
                known = "Only streams of a definition have tables. Values stand in brackets: a.x IN ('p', 'q')."
            raise self.schema_error(message, span, known, unknown=True)
        if may_come:
            hint = structure(own, self._arrays, name) or near_attribute(own, name)
            if hint:
                self.warn(f"no event of type {type_name} has had {quoted(own_name(name))} yet", span, hint)
            return
        hint = "It is null, and comparisons with null are false."
        if name in self.schema.kinds:
            hint = "Other types of the stream have it; here it is null until such an event comes."
        self.warn(message, span, hint)

    def shared(self, name: str, owners: Sequence[Place], span: Span) -> Found:
        """An attribute that events of all `owners` have, for [attr] or GROUP BY; else QueryError.

        It may be a computed one, whose attributes have been looked up (see `paths`).
        """
        if (one := Computed.of_name(name)) is not None:
            return Found(name, one.kind)
        if name in ("ts", "type") and not (self.schema is not None and name in self.schema.kinds):
            raise self.schema_error(
                f"{quoted(name)} cannot partition the stream", span, "Name an attribute of the events."
            )
        found = Found(name, None)
        for types in dict.fromkeys(place.types for place in owners):
            found = self.attribute(types, name, span)
        if found.kind is Kind.ARRAY:
            hint = "Name an attribute that is a number, a string or a truth value."
            raise self.schema_error(f"{quoted(name)} is an array, by which events cannot agree", span, hint)
        return found
