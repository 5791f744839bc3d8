"""Random syntax trees, as the parser can give them (canonical: flat rows of AND and OR, folded minus signs)."""

from __future__ import annotations

from hypothesis import strategies as st

from saffron.durations import UNITS
from saffron.language.syntax import tree
from saffron.language.syntax.lexing.cursor import RESERVED
from saffron.language.syntax.parsing.clauses import CLAUSES
from saffron.schema.table_names import Lookup

KEYWORDS = {*RESERVED, *CLAUSES, *UNITS, "by", "slide", "open", "on", "into", "as", "any", "next", "true", "false",
            "distinct", "events", "event", "with"}  # fmt: skip
words = st.from_regex(r"[A-Za-z_äж][A-Za-z0-9_é]{0,5}", fullmatch=True).filter(
    lambda name: name.lower() not in KEYWORDS
)
others = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=6)
"""Names that are written in double quotes, nearly all of them."""
names = st.one_of(
    words,
    words,
    others,
    st.sampled_from(["user-id", "com.acme.paid", '"', "where", "true", "all", "$x", "for", "every", "until"]),
)
paths = st.sampled_from(["order.id", "a.where.b", "id.orig-h", "$.type", "$.ts", "$.type.x", "$offset", "x."])
attributes = st.one_of(
    names, paths, st.sampled_from(["from", "to", "type", "where", "and", "in", "len", "group", "ts"])
)
dotted = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,6}(-[a-z0-9]{1,3})?", fullmatch=True)

numbers = st.one_of(
    st.integers(0, 2**63 - 1), st.floats(0, allow_nan=False, allow_infinity=False), st.sampled_from([0, 1, 0.8, 1e300])
)
literals = st.builds(
    tree.Literal,
    st.one_of(
        numbers,
        numbers.map(lambda number: -number),
        st.booleans(),
        st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=6),
    ),
)
texts = st.builds(tree.Literal, st.sampled_from(["a%", "_", "'", ""]))
steps = st.tuples(st.integers(1, 10**6), st.one_of(st.integers(1, 9), attributes), attributes)
indices = st.sampled_from([one for one in tree.Index if one not in (tree.Index.PREVIOUS, tree.Index.NTH)])
tables = names.filter(lambda name: ":" not in name)
lookups = st.builds(lambda table, one: Lookup(table, one).name, tables, attributes.filter(lambda one: one != "len"))
references = st.one_of(
    st.builds(tree.Reference, names, indices, attributes),
    st.builds(tree.Reference, names, st.just(tree.Index.NONE), st.just("$.len")),
    st.builds(tree.Reference, names, st.just(tree.Index.NONE), attributes, st.just(0), steps),
    st.builds(tree.Reference, names, st.just(tree.Index.PREVIOUS), attributes, st.integers(1, 9)),
    st.builds(tree.Reference, names, st.just(tree.Index.NTH), attributes, st.integers(2, 9)),
    st.builds(tree.Reference, names, indices.filter(lambda index: index is not tree.Index.NONE), st.none()),
)
key_attributes = st.builds(tree.KeyAttribute, st.one_of(st.none(), attributes), attributes)
keys = st.builds(tree.Key, st.lists(key_attributes, min_size=1, max_size=3).map(tuple))
atoms = st.one_of(
    literals,
    references,
    st.builds(tree.Next, names, attributes, st.one_of(st.just(()), steps)),
    st.builds(tree.Reference, names, indices, lookups),
    st.builds(tree.Next, names, lookups),
    st.builds(tree.Name, names),
)


def _logic(operator: str, parts: list[tree.Expression]) -> tree.Expression:
    flat: list[tree.Expression] = []
    for part in parts:
        flat.extend(part.operands if isinstance(part, tree.Logic) and part.operator == operator else [part])
    return tree.Logic(operator, tuple(flat))


def _minus(operand: tree.Expression) -> tree.Expression:
    if isinstance(operand, tree.Literal) and not isinstance(operand.value, bool | str):
        return tree.Literal(-operand.value)
    return tree.Prefix("-", operand)


def _case(parts: list[tuple[tree.Expression, tree.Expression]], otherwise: tree.Expression | None) -> tree.Expression:
    flat = [one for pair in parts for one in pair]
    return tree.Call("case", (*flat, tree.Name("null") if otherwise is None else otherwise))


def _compound(inner: st.SearchStrategy[tree.Expression]) -> st.SearchStrategy[tree.Expression]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">="])
    functions = st.sampled_from(["abs", "sqrt", "avg", "sum", "first", "stddev"])
    return st.one_of(
        st.builds(tree.Operation, operators, inner, inner),
        st.builds(_logic, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
        st.builds(tree.Prefix, st.just("not"), inner),
        st.builds(_minus, inner),
        st.builds(tree.Membership, inner, st.lists(literals, min_size=1, max_size=3).map(tuple)),
        st.builds(tree.Call, functions, inner.map(lambda argument: (argument,))),
        st.builds(tree.Call, st.sampled_from(["least", "greatest", "concat", "coalesce"]), st.tuples(inner, inner)),
        st.builds(_case, st.lists(st.tuples(inner, inner), min_size=1, max_size=2), st.one_of(st.none(), inner)),
        st.builds(tree.Call, st.sampled_from(["is_null", "to_number", "to_string"]), st.tuples(inner)),
        st.builds(tree.Call, st.sampled_from(["like", "regexp"]), st.tuples(inner, texts)),
        st.builds(tree.Call, st.just("like"), st.tuples(inner, texts, texts)),
    )


expressions = st.recursive(atoms, _compound, max_leaves=12)

types = st.lists(names, max_size=3, unique=True).map(tuple)
events = st.one_of(
    st.builds(tree.Event, st.one_of(st.just(()), names.map(lambda name: (name,))), st.one_of(st.none(), names)),
    st.builds(tree.Event, types, names),
)


def _flat(kind: type, parts: list[tree.Pattern]) -> tree.Pattern:
    flat: list[tree.Pattern] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, kind) else [part])  # type: ignore[union-attr]
    return tree.Conjunction(tuple(flat)) if kind is tree.Conjunction else tree.Disjunction(tuple(flat))


def _compound_pattern(inner: st.SearchStrategy[tree.Pattern]) -> st.SearchStrategy[tree.Pattern]:
    many = [(1, None), (0, None), (3, 3), (2, None), (2, 4)]
    bounds = st.sampled_from([*many, (0, 1)])
    several = st.lists(inner, min_size=2, max_size=3)
    dues = st.builds(tree.Due, st.integers(1, 2**53), st.booleans())
    return st.one_of(
        st.builds(lambda part, bound: tree.Repeat(part, *bound), inner, bounds),
        st.builds(
            lambda part, many, end: tree.Repeat(part, many[0], many[1], end), inner, st.sampled_from(many), events
        ),
        st.builds(tree.Negation, inner, st.one_of(st.none(), dues)),
        st.builds(tree.Sequence, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(tree.AnyOf, st.integers(1, 2), several.map(tuple), st.one_of(st.none(), attributes)),
        st.builds(_flat, st.just(tree.Conjunction), several),
        st.builds(_flat, st.just(tree.Disjunction), several),
    )


patterns = st.recursive(events, _compound_pattern, max_leaves=8)

targets = st.builds(tree.Target, names, st.booleans())
strategy_uses = st.builds(
    tree.StrategyUse,
    st.sampled_from(["strict-contiguity", "partition-contiguity", "skip-till-next-match", "skip-till-any-match"]),
    st.lists(targets, max_size=2).map(tuple),
)


@st.composite
def withins(draw: st.DrawFn) -> tree.Within:
    counts_events = draw(st.booleans())
    sizes = st.builds(tree.Size, st.integers(1, 2**53), st.just(counts_events))
    openings = st.builds(tree.Opening, names, st.one_of(st.none(), names), st.one_of(st.none(), expressions))
    return tree.Within(draw(sizes), draw(st.one_of(st.none(), sizes)), draw(st.one_of(st.none(), openings)))


def _conjuncts(parts: list[tree.Expression]) -> tuple[tree.Expression, ...]:
    flat: list[tree.Expression] = []
    for part in parts:
        flat.extend(part.operands if isinstance(part, tree.Logic) and part.operator == "and" else [part])
    return tuple(flat)


items = st.builds(
    tree.Item, st.one_of(expressions, st.just(tree.Call("count", (tree.Star(),)))), st.one_of(st.none(), attributes)
)
queries = st.builds(
    tree.Query,
    pattern=patterns,
    within=withins(),
    name=st.one_of(st.none(), dotted),
    stream=st.one_of(st.none(), dotted),
    strategies=st.lists(strategy_uses, max_size=2).map(tuple),
    conditions=st.lists(st.one_of(keys, expressions), max_size=3).map(_conjuncts),
    group=st.lists(key_attributes, max_size=2).map(tuple),
    having=st.one_of(st.none(), expressions),
    returns=st.one_of(
        st.none(), st.builds(tree.Returns, st.lists(items, max_size=3).map(tuple), st.one_of(st.none(), names))
    ),
    output=st.one_of(
        st.none(),
        st.builds(
            tree.Output, st.sampled_from(["ALL", "NON-OVERLAP", "COMPRESSED", "FIRST", "LONGEST"]), st.booleans()
        ),
    ),
    consume=st.one_of(
        st.none(),
        st.just(tree.Consume("none", ())),
        st.just(tree.Consume("all", ())),
        st.builds(tree.Consume, st.just("variables"), st.lists(names, min_size=1, max_size=2).map(tuple)),
    ),
    confidence=st.one_of(st.none(), st.builds(tree.Setting, st.floats(0, 1))),
    time=st.one_of(st.none(), st.builds(tree.Setting, st.sampled_from(["ORDERED", "STRICT"]))),
    weight=st.one_of(st.none(), st.builds(tree.Setting, numbers)),
    exact=st.sampled_from([None, tree.Setting("EXACT")]),
    emit=st.sampled_from([None, tree.Setting("VALUES")]),
    publish=st.one_of(
        st.sampled_from([None, tree.Publish(None), tree.Publish("alerts.of-it")]),
        st.builds(tree.Publish, st.just("t"), st.sampled_from([None, "AVRO", "JSON SCHEMA"]), expressions),
    ),
)
