"""Conditions of a single event (`plan.Expr`), evaluated on all events of a block at once."""

from __future__ import annotations

import numpy as np

from saffron.engine.events.columns import Columns
from saffron.engine.events.computed_columns import with_computed
from saffron.engine.events.event_expressions import Bools, truths
from saffron.language.plan.expressions import Attribute, Expr
from saffron.language.plan.pairs import exact, rest_of_name
from saffron.language.plan.rewrite import reads
from saffron.schema.computed import Computed, ComputedRead
from saffron.schema.event_types import ANY_TYPE


def holds(expr: Expr, columns: Columns) -> Bools:
    """bool [n]: whether the condition holds of each event; `Attribute`s are those of the one event (component 0).

    Raises SchemaError for an expression that reads more than one event, or an attribute that the columns do not have.
    """
    expr = exact(expr, whole=False)
    names = [leaf.name for leaf in reads(expr) if isinstance(leaf, Attribute)]
    wholes = [name if (whole := rest_of_name(name)) is None else whole for name in names]
    computed = [ComputedRead(name, (ANY_TYPE,)) for name in wholes if Computed.of_name(name) is not None]
    with np.errstate(all="ignore"):
        return truths(expr, with_computed(columns, computed))
