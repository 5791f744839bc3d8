"""The binding of WITHIN, SLIDE and OPEN ON."""

from __future__ import annotations

from saffron.language.plan.clauses import OpenOn, Window
from saffron.language.plan.expressions import Which
from saffron.language.plan.limits import MAX_WINDOWS
from saffron.language.scope.functions import refuse_own
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import Typed
from saffron.language.scope.typed import attribute, bind_condition
from saffron.language.syntax import tree
from saffron.language.syntax.lexing.tokens import name_text
from saffron.language.syntax.sql import is_null
from saffron.schema.event_types import one_type


def bind_window(query: tree.Query, scope: Scope, *, tumbling: bool) -> Window:
    """The window of a query; QueryError if it cannot be run. `tumbling`: WITHIN alone slides by its own size."""
    within = query.within
    if within.slide is not None and within.opening is not None:
        hint = "OPEN ON opens a window at each event that fits; leave SLIDE out."
        raise scope.plan_error("a window either slides or opens on events", within.slide.span, hint)
    slide = None if within.slide is None else within.slide.amount
    if slide is not None and slide > within.size.amount and within.slide is not None:
        scope.warn("SLIDE is longer than WITHIN: events between two windows are never looked at", within.slide.span)
    if tumbling and slide is None and within.opening is None:
        slide = within.size.amount
    opens = None if within.opening is None else _opening(within.opening, scope)
    window = Window(within.size.amount, within.size.events, slide, opens)
    if (window.overlapping or 0) > MAX_WINDOWS:
        per = "Each event keeps a count for" if tumbling else "A match is a result of"
        hint = f"{per} each of its windows, at most {MAX_WINDOWS}: slide by more."
        raise scope.plan_error(f"{window.overlapping} windows overlap", within.span, hint)
    return window


def _opening(opening: tree.Opening, scope: Scope) -> OpenOn:
    """The bound OPEN ON, whose condition reads the opening event only."""
    scope.check_type(opening.type, opening.type_start)
    if opening.condition is None:
        return OpenOn(opening.type, None)
    names = (opening.type if opening.variable is None else opening.variable, opening.type)

    def leaf(expression: tree.Expression) -> Typed:
        read = expression if isinstance(expression, tree.Reference) and expression.index is tree.Index.NONE else None
        if read is not None and read.variable in names and read.attribute is not None:
            found = scope.attribute(one_type(opening.type), read.attribute, read.span)
            return attribute(found, 0, Which.SINGLE)
        if isinstance(expression, tree.Name) and is_null(expression.name):
            raise scope.bare_name_error(expression, "")
        hint = f"Write {name_text(names[0])}.x for an attribute of the event that opens the window."
        raise scope.schema_error("a condition of OPEN ON reads that one event only", expression.span, hint)

    condition = bind_condition(opening.condition, scope, leaf)
    refuse_own(opening.condition, scope)
    return OpenOn(opening.type, condition)
