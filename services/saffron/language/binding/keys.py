"""[attr] and GROUP BY: the attributes on which all events agree."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.scope.scope import Found, Scope
from saffron.language.syntax.tree import Expression, Key, KeyAttribute


@dataclass(frozen=True)
class Partial:
    """[P.vehicle]: an attribute on which only the events of some components agree."""

    attribute: Found
    components: tuple[int, ...]
    written: KeyAttribute
    text: str


@dataclass(frozen=True)
class Keys:
    """`whole`: attributes asked of all components, in order, each once.

    `impossible`: components of which an attribute is asked that no event has, by the text that asks for it.
    """

    whole: tuple[str, ...]
    partial: tuple[Partial, ...]
    impossible: tuple[tuple[str, tuple[int, ...]], ...]


def bind_keys(conditions: tuple[Expression, ...], group: tuple[KeyAttribute, ...], scope: Scope) -> Keys:
    """The attributes of all [attr] conditions, then those of GROUP BY."""
    written = [part for condition in conditions if isinstance(condition, Key) for part in condition.attributes]
    whole: dict[str, None] = {}
    partial: list[Partial] = []
    impossible: list[tuple[str, tuple[int, ...]]] = []
    for part in (*written, *group):
        components = _components(part, scope)
        found = scope.shared(part.name, [scope.places[index] for index in components], part.span)
        if found.null:
            impossible.append((f"[{part.name}]", components))
        elif len(components) == len(scope.places):
            whole[found.name] = None
        else:
            owner = f"{part.owner}." if part.owner else ""
            partial.append(Partial(found, components, part, f"[{owner}{part.name}]"))
    return Keys(tuple(whole), tuple(partial), tuple(impossible))


def _components(part: KeyAttribute, scope: Scope) -> tuple[int, ...]:
    """The components of which an attribute is asked: all, those of a type, or the one of a variable."""
    if part.owner is None:
        return tuple(range(len(scope.places)))
    named = scope.of_type(part.owner) or [scope.component(part.owner, part.span)]
    return tuple(index for index, place in enumerate(scope.places) if index in named or place.original in named)
