"""What the items of RETURN are called in results."""

from __future__ import annotations

from collections import Counter

from saffron.language.scope.scope import Scope
from saffron.language.syntax.printer import expression_text
from saffron.language.syntax.tree import Item, Reference


def item_names(items: tuple[Item, ...], scope: Scope) -> list[str]:
    """For each item its alias; for a plain attribute its name, if no other item has it; else the item's text."""
    short = [item.alias or _attribute(item) or expression_text(item.expression) for item in items]
    count = Counter(short)
    names = [
        name if item.alias or count[name] == 1 else expression_text(item.expression)
        for item, name in zip(items, short, strict=True)
    ]
    seen: set[str] = set()
    for item, name in zip(items, names, strict=True):
        if name in seen:
            raise scope.wrong(
                f"two items of RETURN are called '{name[:60]}'", item.span, "Name one of them: ... AS name."
            )
        seen.add(name)
    return names


def _attribute(item: Item) -> str | None:
    return item.expression.attribute if isinstance(item.expression, Reference) else None
