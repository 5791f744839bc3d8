"""Computed values: a tree is evaluated as written, whatever other trees were evaluated before in the process."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from saffron.language.plan.expressions import Const
from saffron.language.syntax.tree import Literal
from saffron.schema.computed import Applied, Constant, Read, Tree, applied_to, evaluated

_VALUES = (1, 0, True, False, None, 2, 0.5, "a")
_LEAVES = st.sampled_from([*map(Constant, _VALUES), Read("x"), Read("t")])
_EVENT = {"x": 1, "t": True}


def _calls(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    def of(function: str, count: int) -> st.SearchStrategy[Tree]:
        return st.tuples(*[parts] * count).map(lambda arguments: Applied(function, arguments))

    return st.one_of(of("and", 2), of("=", 2), of("+", 2), of("not", 1), of("case", 3), of("coalesce", 2), of("in", 3))


def _plainly(tree: Tree) -> object:
    """The value by the definition, without what is kept."""
    match tree:
        case Read(attribute=attribute):
            return _EVENT[attribute]
        case Constant(value=value):
            return value
        case Applied(function=function, arguments=arguments):
            return applied_to(function, [_plainly(one) for one in arguments])


def _exchanged(tree: Tree) -> Tree:
    """The tree with 1 for true, 0 for false, and the reverse: Python takes their values for equal."""
    match tree:
        case Constant(value=bool(value)):
            return Constant(int(value))
        case Constant(value=int(value)) if value in (0, 1):
            return Constant(bool(value))
        case Applied(arguments=arguments):
            return replace(tree, arguments=tuple(map(_exchanged, arguments)))
    return tree


@given(st.recursive(_LEAVES, _calls, max_leaves=8))
def test_truth_values_are_not_taken_for_numbers_of_trees_evaluated_before(tree: Tree) -> None:
    for one in (_exchanged(tree), tree):
        found, wanted = evaluated(one, _EVENT.__getitem__), _plainly(one)
        assert (type(found), found) == (type(wanted), wanted)


def test_constants_of_all_trees_tell_truth_values_from_numbers() -> None:
    for node in (Constant, Const, Literal):
        assert node(True) != node(1)
        assert node(False) != node(0)
        assert node(1) == node(1.0)
        assert len({node(True), node(1), node(False), node(0)}) == 4
