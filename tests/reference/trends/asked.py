"""An aggregate query, taken apart from its syntax tree: every name is a component's, every default is spelled out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import expression_text
from saffron.language.syntax.tree import Index
from tests.reference.match.conditions import Pair
from tests.reference.match.question import ANY, Question, question
from tests.reference.match.shape import Leaf, Loop, Pattern, Seq, Shape, Take, leaves_of, names_of, shape_of
from tests.reference.paths import with_paths
from tests.reference.rewritten import rewritten

FUNCTIONS = ("count", "min", "max", "sum", "avg")


@dataclass(frozen=True)
class Asked:
    """`sides`: the match query whose matches are the trends; of AND, one for each side.

    `items`: what RETURN computes, by its name in results (group attributes stand in a result's group).
    """

    query: tree.Query
    sides: tuple[Question, ...]
    group: tuple[str, ...]
    items: tuple[tuple[str, tree.Expression], ...]


def ask(text: str | tree.Query) -> Asked:
    """Raises QueryError for what is no query, ValueError for one that has no meaning as an aggregate query."""
    written = with_paths(text)
    query = _named(written)
    whole = shape_of(query.pattern)
    if whole.distinct:
        raise ValueError("DISTINCT compares events that are not adjacent")
    parts = query.pattern.parts if isinstance(query.pattern, tree.Conjunction) else (query.pattern,)
    if len(parts) > 2 or any(isinstance(node, tree.Conjunction) for part in parts for node in _nodes(part)):
        raise ValueError("AND stands between two patterns, outermost")
    group = tuple(attribute.name for attribute in query.group)
    assert written.returns is not None
    items = tuple(
        (item.alias or expression_text(shown.expression), item.expression)
        for item, shown in zip(query.returns.items if query.returns else (), written.returns.items, strict=True)
        if not _is_group(item.expression, group)
    )
    sides = tuple(_side(query, part, whole) for part in parts)
    if len(sides) > 1 and any(not _counts_all(call) for call in _calls(query)):
        raise ValueError("of a pair of trends only COUNT(*) is known")
    return Asked(query, sides, group, items)


def leaves(expression: tree.Expression) -> Iterator[tree.Expression]:
    if not tree.operands(expression):
        yield expression
    for operand in tree.operands(expression):
        yield from leaves(operand)


def _is_group(expression: tree.Expression, group: tuple[str, ...]) -> bool:
    if isinstance(expression, tree.Name):
        return expression.name in group
    return isinstance(expression, tree.Reference) and expression.attribute in group


def _calls(query: tree.Query) -> Iterator[tree.Call]:
    """The aggregates of RETURN and HAVING."""
    stack = [item.expression for item in query.returns.items] if query.returns else []
    stack += [query.having] if query.having is not None else []
    while stack:
        expression = stack.pop()
        if isinstance(expression, tree.Call) and expression.function in FUNCTIONS:
            yield expression
        else:
            stack.extend(tree.operands(expression))


def _counts_all(call: tree.Call) -> bool:
    return isinstance(call.arguments[0], tree.Star)


# ---------------------------------------------------------------- names


def _nodes(pattern: tree.Pattern) -> Iterator[tree.Pattern]:
    yield pattern
    if isinstance(pattern, tree.Repeat | tree.Negation):
        yield from _nodes(pattern.pattern)
    elif not isinstance(pattern, tree.Event):
        for part in pattern.parts:
            yield from _nodes(part)


def _named(query: tree.Query) -> tree.Query:
    """The query with a variable for each component, by which everything calls it."""
    names = {node: name.replace("#", "__") for node, (_, name) in names_of(query.pattern).items()}

    def named(pattern: tree.Pattern) -> tree.Pattern:
        match pattern:
            case tree.Event():
                return replace(pattern, variable=names[id(pattern)])
            case tree.Repeat(pattern=inner) | tree.Negation(pattern=inner):
                return replace(pattern, pattern=named(inner))
        return replace(pattern, parts=tuple(map(named, pattern.parts)))

    pattern = named(query.pattern)
    shape = shape_of(pattern)
    group = [attribute.name for attribute in query.group]

    def of_component(leaf: tree.Expression) -> tree.Expression:
        if isinstance(leaf, tree.Reference | tree.Next):
            return replace(leaf, variable=shape.leaf(leaf.variable).variable)
        if isinstance(leaf, tree.Name) and leaf.name not in group:
            return replace(leaf, name=shape.leaf(leaf.name).variable)
        return leaf

    def targets(use: tree.StrategyUse) -> tree.StrategyUse:
        found = (replace(one, variable=shape.leaf(one.variable).variable) for one in use.targets)
        return replace(use, targets=tuple(found))

    assert query.returns is not None
    items = tuple(replace(item, expression=rewritten(item.expression, of_component)) for item in query.returns.items)
    return replace(
        query,
        pattern=pattern,
        strategies=tuple(map(targets, query.strategies)),
        conditions=tuple(rewritten(one, of_component) for one in query.conditions),
        having=None if query.having is None else rewritten(query.having, of_component),
        returns=replace(query.returns, items=items),
    )


# ---------------------------------------------------------------- the match query of a side


def _side(query: tree.Query, part: tree.Pattern, whole: Pattern) -> Question:
    """What the trends of (a side of) the pattern are the matches of; NEXT stands apart, in `pairs`."""
    pattern = shape_of(part)
    mine = {leaf.variable for leaf in pattern.leaves}
    conditions: list[tree.Expression] = []
    pairs = []
    for condition in query.conditions:
        named = {leaf.variable for leaf in leaves(condition) if isinstance(leaf, tree.Reference | tree.Next)}
        if named and not named & mine:
            continue
        if named - mine:
            raise ValueError("a condition on both sides of an AND")
        if isinstance(condition, tree.Key):
            conditions.extend(_keys(condition, pattern))
        elif any(isinstance(leaf, tree.Next) for leaf in leaves(condition)):
            pairs.append(_pair(condition, pattern))
        else:
            conditions.append(_of_each(condition, pattern))
    conditions += [tree.Key((tree.KeyAttribute(None, attribute.name),)) for attribute in query.group]
    within = query.within
    if within.slide is None and within.opening is None:
        within = replace(within, slide=within.size)
    twin = tree.Query(
        pattern=part,
        within=within,
        strategies=_strategies(query, whole) if part is query.pattern else (),
        conditions=tuple(conditions),
        time=query.time or tree.Setting("ORDERED"),
    )
    begins, continues = _by_variable(query)
    made = question(twin)
    _check(made, pairs)
    return replace(
        made,
        pairs=tuple(pairs),
        begins={leaf.number: begins[leaf.variable] for leaf in pattern.leaves[: pattern.positive]},
        continues={leaf.number: continues[leaf.variable] for leaf in pattern.leaves[: pattern.positive]},
    )


def _check(asked: Question, pairs: list[Pair]) -> None:
    """What compares events of a NOT with events outside of it has no meaning: they are not adjacent."""
    everyone = frozenset(range(len(asked.pattern.leaves)))
    together = [frozenset(leaf.number for _, leaf in one.references) for one in (*asked.conditions, *asked.absent)]
    together += [frozenset([pair.earlier, pair.later]) for pair in pairs]
    together += [key.leaves for key in asked.keys if key.leaves != everyone]
    places = [frozenset(leaf.number for leaf in leaves_of(shape)) for shape in absences(asked.pattern.root)]
    if any(part & place and not part <= place for part in together for place in places):
        raise ValueError("a NOT's events compared with others")


def absences(shape: Shape) -> Iterator[Shape]:
    """The patterns inside NOTs, those inside one another too."""
    if isinstance(shape, Loop):
        yield from absences(shape.body)
    elif not isinstance(shape, Take):
        for part in shape.parts:
            yield from absences(part)
        for _, absent in shape.absent if isinstance(shape, Seq) else ():
            yield absent
            yield from absences(absent)


def _keys(key: tree.Key, pattern: Pattern) -> Iterator[tree.Key]:
    """Of a side, only what is asked of something in it."""
    known = pattern.owners
    for attribute in key.attributes:
        if attribute.owner is None or attribute.owner in known:
            yield tree.Key((attribute,))


def _by_variable(query: tree.Query) -> tuple[dict[str, str], dict[str, str]]:
    """The strategy while waiting for a component, and between its events."""
    bare = question(tree.Query(query.pattern, query.within, strategies=query.strategies), default=ANY)
    names = {leaf.number: leaf.variable for leaf in bare.pattern.leaves}
    begins = {names[number]: strategy for number, strategy in bare.begins.items()}
    return begins, {names[number]: strategy for number, strategy in bare.continues.items()}


def _strategies(query: tree.Query, whole: Pattern) -> tuple[tree.StrategyUse, ...]:
    """With the default spelled out."""
    everyone = {leaf.variable for leaf in whole.leaves[: whole.positive]}
    for use in query.strategies:
        if not use.targets or (
            everyone <= {one.variable for one in use.targets} and not any(one.current for one in use.targets)
        ):
            return query.strategies
    return (tree.StrategyUse(ANY, ()), *query.strategies)


def _pair(condition: tree.Expression, pattern: Pattern) -> Pair:
    """A.x op NEXT(B).x."""
    read = list(leaves(condition))
    later = {pattern.leaf(leaf.variable).number for leaf in read if isinstance(leaf, tree.Next)}
    references = [leaf for leaf in read if isinstance(leaf, tree.Reference)]
    earlier = {pattern.leaf(leaf.variable).number for leaf in references}
    plain = all(leaf.index in (Index.NONE, Index.CURRENT) for leaf in references)
    if len(earlier) != 1 or len(later) != 1 or not plain:
        raise ValueError("NEXT is about two adjacent events")
    return Pair(condition, earlier.pop(), later.pop())


def _of_each(condition: tree.Expression, pattern: Pattern) -> tree.Expression:
    """A.x of a component that is a list, alone in its condition: asked of each of its events, a[i].x."""
    references = [leaf for leaf in leaves(condition) if isinstance(leaf, tree.Reference)]
    named: set[Leaf] = {pattern.leaf(leaf.variable) for leaf in references}
    forms = {leaf.index for leaf in references}
    if len(named) != 1 or not forms <= {Index.NONE, Index.CURRENT} or not next(iter(named)).loops:
        return condition

    def each(leaf: tree.Expression) -> tree.Expression:
        return replace(leaf, index=Index.CURRENT) if isinstance(leaf, tree.Reference) else leaf

    return rewritten(condition, each)
