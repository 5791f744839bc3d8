"""Names of the items of RETURN in results."""

from __future__ import annotations

from collections import Counter

from saffron.language.scope.scope import Scope
from saffron.language.syntax.expression_printer import expression_text
from saffron.language.syntax.paths import own_name, steps_text
from saffron.language.syntax.tree import Item, Reference


def item_names(items: tuple[Item, ...], scope: Scope) -> list[str]:
    """The name of each item: its alias; else an attribute's name, if only this item has it; else the item's text.

    Raises QueryError for two items with one name.
    """
    short = [_short(item) for item in items]
    count = Counter(short)
    names = [
        name if item.alias is not None or count[name] == 1 else expression_text(item.expression)
        for item, name in zip(items, short, strict=True)
    ]
    seen: set[str] = set()
    for item, name in zip(items, names, strict=True):
        if name in seen:
            raise scope.schema_error(
                f"two items of RETURN are called '{name[:60]}'", item.span, "Name one of them: ... AS name."
            )
        seen.add(name)
    return names


def _short(item: Item) -> str:
    """The alias, even the empty one; else the attribute's name; else the text."""
    found = item.expression
    if item.alias is not None:
        return item.alias
    if not isinstance(found, Reference) or found.attribute is None:
        return expression_text(found)
    return own_name(found.attribute) + steps_text(found.steps)
