"""RETURN items of many matches at once: whole columns where an item allows it, match by match where it does not."""

from __future__ import annotations

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import is_null
from saffron.engine.events.json_pieces import Pieces, cut
from saffron.engine.match.core.held import kind_in, stored_values
from saffron.engine.match.output.returns import Value, evaluator
from saffron.engine.match.output.values import Stored
from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Const, Expr, Length, Unary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.numbers import shown
from saffron.schema.schema import Kind

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}


def closing_of(plan: MatchPlan) -> bytes:
    """The JSON that closes the events of a result, where it has them."""
    return b"" if plan.delivery.values else b"}"


class Tails:
    """Texts of the "return" objects of n matches.

    `counts`: [n, components] events by component; `places`: all their places in the ring of rows, match by match.
    """

    def __init__(self, runs: Stored, counts: Ints, places: Ints, value: Value) -> None:
        self._runs = runs
        self._counts = counts
        self._places = places
        self._value = value
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).reshape(counts.shape)

    def texts(self, **behind: Floats) -> tuple[NDArray[np.uint8], Ints]:
        """The text after the events of each result, one after another, and the end of each text.

        `behind`: numbers [n] that stand behind the "return" object, by name.
        """
        pieces = Pieces()
        order: list[Ints | int] = []
        opening = closing_of(self._runs.plan) + b',"return":{'
        for item in self._runs.plan.returns:
            order.append(pieces.literal(opening + orjson.dumps(item.name) + b":"))
            order.append(self._item(item.expr, pieces))
            opening = b","
        closing = b"}" if self._runs.plan.returns else opening + b"}"
        for name, numbers in behind.items():
            order += [pieces.literal(closing + b"," + orjson.dumps(name) + b":"), pieces.numbers(numbers)]
            closing = b""
        order.append(pieces.literal(closing + b"}"))
        rows = [np.broadcast_to(np.asarray(column), len(self._counts)) for column in order]
        return pieces.join(np.stack(rows, axis=1))

    def values(self, expr: Expr) -> list[bytes]:
        """The value of an expression in each match, as JSON."""
        pieces = Pieces()
        return cut(*pieces.join(np.stack([self._item(expr, pieces)], axis=1)))

    def _item(self, expr: Expr, pieces: Pieces) -> Ints:
        """[n] the piece of each match's value."""
        if isinstance(expr, Const):
            return np.full(len(self._counts), pieces.literals([orjson.dumps(shown(expr.value))]))
        if (leaf := _leaf(expr)) is not None and self._bound_always(leaf):
            kind, values = self._column(leaf)
            return pieces.column(kind, values, self._runs.strings.values)
        if (lengths := self._lengths(expr)) is not None:
            return pieces.numbers(lengths)
        if (numbers := self._numbers(expr)) is not None:
            return pieces.numbers(numbers)
        evaluate = evaluator(expr, self._value)
        found = [orjson.dumps(shown(evaluate(bound))) for bound in self._bound()]
        return np.arange(len(found)) + pieces.literals(found)

    def _bound_always(self, leaf: Attribute) -> bool:
        least = leaf.back if leaf.which is Which.NTH else 1
        return bool((self._counts[:, leaf.component] >= least).all())

    def _column(self, leaf: Attribute) -> tuple[Kind, NDArray[np.generic]]:
        """The values of an attribute, one a match, with its kind."""
        begin = self._starts[:, leaf.component]
        if leaf.which is Which.LAST:
            begin = begin + self._counts[:, leaf.component] - 1
        elif leaf.which is Which.NTH:
            begin = begin + leaf.back - 1
        place = self._places[begin]
        kind = kind_in(self._runs.schema, leaf.name)
        values = stored_values(self._runs.rows, kind, leaf.name, place)
        return kind, values.astype(np.int64) if kind is Kind.INT else values

    def _lengths(self, expr: Expr) -> Ints | None:
        if isinstance(expr, Length) or (isinstance(expr, Aggregate) and expr.name is None):
            lengths = self._counts[:, expr.component].copy()
            return lengths if lengths.all() else None  # the value of an unbound component is null
        return None

    def _numbers(self, expr: Expr) -> Floats | None:
        """Arithmetic over whole columns as float64, null as NaN; None where an operand is of another form."""
        if isinstance(expr, Binary):
            compute = _ARITHMETIC.get(expr.operator)
            left = self._numbers(expr.left) if compute else None
            right = self._numbers(expr.right) if left is not None else None
            if compute is None or left is None or right is None:
                return None
            with np.errstate(all="ignore"):  # values that overflow or are undefined are null, as match by match
                return compute(left, right)  # type: ignore[no-any-return]
        if isinstance(expr, Unary) and expr.operator == "-":
            operand = self._numbers(expr.operand)
            return None if operand is None else -operand
        if isinstance(expr, Const) and isinstance(expr.value, int | float) and not isinstance(expr.value, bool):
            return np.full(len(self._counts), float(expr.value))
        if (leaf := _leaf(expr)) is not None and self._bound_always(leaf):
            kind, values = self._column(leaf)
            if not kind.is_number:
                return None
            numbers = values.real.astype(np.float64)
            return np.where(is_null(kind, values), np.nan, numbers)
        lengths = self._lengths(expr)
        return None if lengths is None else lengths.astype(np.float64)

    def _bound(self) -> list[list[list[int]]]:
        """Places by match and component."""
        places = self._places.tolist()
        begins, counts = self._starts.tolist(), self._counts.tolist()
        return [
            [places[begin : begin + count] for begin, count in zip(*row, strict=True)]
            for row in zip(begins, counts, strict=True)
        ]


def _leaf(expr: Expr) -> Attribute | None:
    """An attribute of one event: itself, or first() and last() of a closure."""
    if isinstance(expr, Attribute):
        return expr
    if isinstance(expr, Aggregate) and expr.function in ("first", "last") and expr.name and expr.kind:
        which = Which.FIRST if expr.function == "first" else Which.LAST
        return Attribute(expr.component, which, expr.name, expr.kind)
    return None
