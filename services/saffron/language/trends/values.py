"""The binding of an aggregate query's RETURN and HAVING: aggregates over the trends of a window and group (T1, T9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from saffron.language.binding.aggregates import aggregated
from saffron.language.plan.clauses import ReturnItem
from saffron.language.plan.expressions import Const, Expr, GroupValue, TrendValue
from saffron.language.plan.formulas import attribute_shown, attribute_written
from saffron.language.plan.trend_plan import TrendAggregate
from saffron.language.scope.dotted_names import path_of
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import SORTS, Sort, Typed
from saffron.language.scope.typed import bind_condition, bind_value, kind_or_guess
from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import TREND_FUNCTIONS, expression_text
from saffron.language.syntax.lexing.tokens import name_text
from saffron.language.syntax.sql import is_null
from saffron.language.trends.edges import MATCH_INSTEAD
from saffron.language.trends.layout import TrendLayout
from saffron.schema.schema import Kind


@dataclass(frozen=True)
class Values:
    """The bound RETURN, HAVING and KEY of PUBLISH, and the aggregates that they read.

    `groups`: the attributes of GROUP BY as results show them, and their kinds.
    """

    aggregates: tuple[TrendAggregate, ...]
    returns: tuple[ReturnItem, ...]
    having: Expr | None
    key: Expr | None
    groups: tuple[tuple[str, Kind], ...]


def is_trend_aggregate(expression: tree.Expression) -> bool:
    """True if an expression is an aggregate over all trends: COUNT(*), COUNT(A), SUM(A.x), ... without []."""
    if not isinstance(expression, tree.Call) or expression.function not in TREND_FUNCTIONS:
        return False
    if len(expression.arguments) != 1:
        return False
    argument = expression.arguments[0]
    if isinstance(argument, tree.Star | tree.Name):
        return True
    found = list(tree.references(argument))
    return bool(found) and all(one.index is tree.Index.NONE for one in found)


def bind_values(query: tree.Query, layout: TrendLayout, scope: Scope) -> Values:
    """The bound RETURN and HAVING. Group attributes are left out of RETURN, as results have them under "group"."""
    assert query.returns is not None
    binder = _Binder(query, layout, scope)
    found: dict[str, ReturnItem] = {}
    for item in query.returns.items:
        if binder.is_group(item):
            continue
        name = expression_text(item.expression) if item.alias is None else item.alias
        if name in found:
            raise scope.schema_error(
                f"two items of RETURN are called '{name[:60]}'", item.span, "Name one: ... AS name."
            )
        found[name] = ReturnItem(name, bind_value(binder.grouped(item.expression), scope, binder.leaf).expr)
    written = query.having
    having = None if written is None else bind_condition(binder.grouped(written), scope, binder.leaf, returned=True)
    asked = None if query.publish is None else query.publish.key
    key = None if asked is None else bind_value(binder.grouped(asked), scope, binder.leaf).expr
    return Values(tuple(binder.aggregates), tuple(found.values()), having, key, tuple(binder.groups()))


@dataclass
class _Binder:
    """The binder of RETURN and HAVING, which collects each aggregate once."""

    query: tree.Query
    layout: TrendLayout
    scope: Scope
    aggregates: dict[TrendAggregate, int] = field(default_factory=dict)

    def is_group(self, item: tree.Item) -> bool:
        """True if an item is a group attribute by itself. QueryError if it has an alias (AS)."""
        name = path_of(self.grouped(item.expression), self.scope)
        if name is None or name not in self._group():
            return False
        if item.alias is not None:
            raise self.scope.plan_error("group attributes keep their names in results", item.span, "Leave AS out.")
        return True

    def grouped(self, expression: tree.Expression) -> tree.Expression:
        """The expression with each function by which trends are grouped replaced by the name of its value."""
        names = {expression_text(one.expression): one.name for one in self.query.group if one.expression is not None}
        if not names:
            return expression
        return tree.mapped(
            expression,
            lambda one: tree.Name(names[text], span=one.span) if (text := expression_text(one)) in names else None,
        )

    def groups(self) -> Iterator[tuple[str, Kind]]:
        """Each attribute by which trends are grouped, as results show it, and its kind."""
        for one in self.query.group:
            found = self.scope.shared(one.name, self.scope.places, one.span)
            yield attribute_shown(one.name), kind_or_guess(found)

    def _group(self) -> list[str]:
        return [attribute.name for attribute in self.query.group]

    def leaf(self, expression: tree.Expression) -> Typed:
        """A bound aggregate or group attribute."""
        if isinstance(expression, tree.Call):
            return self._aggregate(expression)
        if isinstance(expression, tree.Next):
            raise self.scope.schema_error("NEXT stands in WHERE only", expression.span)
        name = path_of(expression, self.scope)
        group = self._group()
        if name is None or name not in group:
            if isinstance(expression, tree.Name) and is_null(expression.name):
                raise self.scope.bare_name_error(expression, "")
            shown = attribute_written(name or "this")
            what = f"{shown} is no attribute by which trends are grouped"
            raise self.scope.plan_error(what, expression.span, self._instead_of(expression, name))
        span = self.query.group[group.index(name)].span
        found = self.scope.shared(name, self.scope.places, span)
        sort = Sort.UNKNOWN if found.kind is None else SORTS[found.kind]
        return Typed(GroupValue(group.index(name), kind_or_guess(found)), sort)

    def _instead_of(self, expression: tree.Expression, name: str | None) -> str:
        """The hint for what is neither an aggregate nor a group attribute. `name`: as an attribute, or None."""
        assert self.query.returns is not None
        named = {item.alias: item.expression for item in self.query.returns.items if item.alias is not None}
        if isinstance(expression, tree.Name) and expression.name in named:
            return f"Write again what it names: {expression_text(named[expression.name])}."
        if not name or name.lower() in TREND_FUNCTIONS:
            return "Write COUNT(*), SUM(A.x), ..."
        shown = attribute_written(name)
        hint = f"Write GROUP BY {shown} to have a result for each {shown}, or aggregate it, as in MAX(A.x)."
        return f"{hint} {MATCH_INSTEAD}" if isinstance(expression, tree.Reference) else hint

    def _aggregate(self, call: tree.Call) -> Typed:
        """A bound aggregate; QueryError for other calls, and with AND for all but COUNT(*)."""
        if not is_trend_aggregate(call):
            hint = "Over all trends: COUNT(*), COUNT(A), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x)."
            message = f"{call.function} is no aggregate over trends, or lacks what it runs over"
            if len(call.arguments) == 1 and isinstance(call.arguments[0], tree.Reference):
                message = "brackets mean the list of one match, and trends are never built"
            raise self.scope.plan_error(message, call.span, hint)
        argument = call.arguments[0]
        if isinstance(argument, tree.Star):
            return self._of(TrendAggregate("count", None, None, None), Kind.INT)
        if len(self.layout.sides) > 1:
            hint = "Return COUNT(*); or write a query for each side, and aggregate there."
            raise self.scope.plan_error("AND counts pairs of trends, and has no other aggregate", call.span, hint)
        component = self._component(call)
        if isinstance(argument, tree.Name):
            if call.function != "count":
                hint = f"Write {call.function.upper()}({name_text(argument.name)}.x)."
                raise self.scope.schema_error(f"{call.function} needs an attribute", call.span, hint)
            return self._of(TrendAggregate("count", component, None, None), Kind.INT)
        return self._of_values(call, component)

    def _component(self, call: tree.Call) -> int:
        """The component of an aggregate's argument; QueryError for several, and for one inside a NOT."""
        (argument,) = call.arguments
        named = [argument] if isinstance(argument, tree.Name) else list(tree.references(argument))
        found = {}
        for one in named:
            name = one.name if isinstance(one, tree.Name) else one.variable
            found[self.scope.component(name, one.span)] = name
            if len(found) > 1:
                hint = "Write one for each, and compute with them: SUM(A.x) + SUM(B.x)."
                raise self.scope.schema_error(f"{call.function} runs over the events of one variable", one.span, hint)
        ((component, name),) = found.items()
        if self.layout.layout.leaves[component].absence is not None:
            hint = "A NOT rules events out: there is none of them in a trend."
            raise self.scope.plan_error(f"{name} stands inside a NOT", named[0].span, hint)
        return component

    def _of_values(self, call: tree.Call, component: int) -> Typed:
        """A bound aggregate of an attribute or a formula of the component's events."""
        found = aggregated(call, self.scope.places[component], self.scope)
        if found.null:
            return Typed(Const(0 if call.function in ("sum", "count") else None), Sort.NUMBER)
        kind = kind_or_guess(found)
        aggregate = TrendAggregate(call.function, component, found.name, kind)
        return self._of(aggregate, {"avg": Kind.FLOAT, "count": Kind.INT}.get(call.function, kind))

    def _of(self, aggregate: TrendAggregate, kind: Kind) -> Typed:
        """The reference to an aggregate, which is registered once."""
        index = self.aggregates.setdefault(aggregate, len(self.aggregates))
        return Typed(TrendValue(index, kind), Sort.NUMBER)
