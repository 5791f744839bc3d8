"""The binding of keys: the attributes of [attr] and GROUP BY, of which the events have equal values."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.scope.scope import Found, Scope
from saffron.language.syntax.lexing.tokens import name_text
from saffron.language.syntax.paths import attribute_text
from saffron.language.syntax.tree import Expression, Key, KeyAttribute


@dataclass(frozen=True)
class PartialKey:
    """A key of some components only, such as [P.vehicle]: their events have equal values of the attribute."""

    attribute: Found
    components: tuple[int, ...]
    written: KeyAttribute
    text: str


@dataclass(frozen=True)
class Keys:
    """The keys of a query. `whole`: attributes of all components, in order, each once.

    `impossible`: (text, components) of keys that can never hold, as no event has the attribute.
    """

    whole: tuple[str, ...]
    partial: tuple[PartialKey, ...]
    impossible: tuple[tuple[str, tuple[int, ...]], ...]


def bind_keys(conditions: tuple[Expression, ...], group: tuple[KeyAttribute, ...], scope: Scope) -> Keys:
    """The keys of all [attr] conditions, then those of GROUP BY; QueryError for an unknown attribute."""
    written = [part for condition in conditions if isinstance(condition, Key) for part in condition.attributes]
    whole: dict[str, None] = {}
    partial: list[PartialKey] = []
    impossible: list[tuple[str, tuple[int, ...]]] = []
    for part in (*written, *group):
        components = _components(part, scope)
        found = scope.shared(part.name, [scope.places[index] for index in components], part.span)
        if found.null:
            impossible.append((f"[{attribute_text(part.name)}]", components))
        elif len(components) == len(scope.places):
            whole[found.name] = None
        else:
            owner = f"{name_text(part.owner)}." if part.owner else ""
            partial.append(PartialKey(found, components, part, f"[{owner}{attribute_text(part.name)}]"))
    return Keys(tuple(whole), tuple(partial), tuple(impossible))


def _components(part: KeyAttribute, scope: Scope) -> tuple[int, ...]:
    """The components of a key's attribute: all, those of a type, or the one of a variable."""
    if part.owner is None:
        return tuple(range(len(scope.places)))
    named = scope.of_type(part.owner) or [scope.component(part.owner, part.span)]
    return tuple(index for index, place in enumerate(scope.places) if index in named or place.original in named)
