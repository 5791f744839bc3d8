"""The canonical text of a tree parses back to the tree, and is a fixed point."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from saffron.errors import QueryError
from saffron.language import parse
from saffron.language.syntax import tree
from saffron.language.syntax.printer import query_text
from tests.unit.language.syntax.trees import queries


@settings(max_examples=150, deadline=None)
@given(queries)
def test_printing_and_parsing_give_the_same_tree(query: tree.Query) -> None:
    text = query_text(query, named=True)
    again = parse(text)
    assert again == query
    assert query_text(again, named=True) == text
    assert "\n" not in text


@settings(max_examples=50, deadline=None)
@given(queries)
def test_every_node_knows_its_place_within_its_parent(query: tree.Query) -> None:
    parsed = parse(query_text(query))
    for condition in parsed.conditions:
        stack = [condition]
        while stack:
            node = stack.pop()
            assert parsed.span.start <= node.span.start < node.span.end <= parsed.span.end
            for part in tree.operands(node):
                assert node.span.start <= part.span.start
                assert part.span.end <= node.span.end
                stack.append(part)


@pytest.mark.parametrize(
    ("pattern", "canonical"),
    [
        ("A+ a[] until C c", "A+ a[] UNTIL C c"),
        ("(A a, B b)+ UNTIL (C or D) c", "SEQ(A a, B b)+ UNTIL (C | D) c"),
        ("(A+ UNTIL C)+ UNTIL ANY", "(A+ UNTIL C)+ UNTIL ANY"),
        ('A+ until[] UNTIL "until" c', 'A+ until[] UNTIL "until" c'),
        ("A+ until UNTIL C until", "A+ until[] UNTIL C until"),
        ("A+ until", "A+ until[]"),
        ("SEQ(A until, B b)", "SEQ(A until, B b)"),
        ("A until AND B b", "A until AND B b"),
        ("SEQ(A a, NOT B until FOR 5 ms)", "SEQ(A a, NOT B until FOR 5 ms)"),
    ],
)
def test_until_is_a_word_of_the_language_only_before_a_step(pattern: str, canonical: str) -> None:
    query = parse(f"PATTERN {pattern} WITHIN 5 ms")
    assert query_text(query) == f"PATTERN {canonical} WITHIN 5 ms"
    assert parse(query_text(query)) == query


def test_a_row_of_the_word_until_is_refused_at_once() -> None:
    with pytest.raises(QueryError, match="until"):
        parse(f"PATTERN A+ {'until ' * 4_000}C c WITHIN 5 ms")
