"""What a new definition changes, in sentences."""

from __future__ import annotations

import pytest

from saffron.mapping.changes import changes_of
from saffron.mapping.definition_reader import read_definition

HEAD = "stream: s\nsources:\n- topic: a\n"
MAPPED = "  type: {field: k, map: {x: X, y: Y}}\n"


def said(before: str, after: str) -> list[str]:
    return list(changes_of(read_definition(HEAD + before), read_definition(HEAD + after)))


@pytest.mark.parametrize(
    ("start", "where"),
    [
        ("", "from its beginning"),
        ("  start: earliest\n", "from its beginning"),
        ("  start: latest\n", "from its end on"),
        ("  start: 2026-05-01T12:00:00+02:00\n", "from 2026-05-01T10:00:00"),
    ],
)
def test_a_new_source_is_read_from_its_start(start: str, where: str) -> None:
    (sentence,) = said("", f"- topic: b\n{start}")
    assert sentence.startswith("source b is new")
    assert where in sentence


def test_a_source_that_comes_back_is_read_on() -> None:
    before, after = read_definition(HEAD), read_definition(HEAD + "- topic: b\n")
    (sentence,) = changes_of(before, after, {"a": 0, "b": 1})
    assert sentence.startswith("source b is back")
    assert "read on from its position" in sentence


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ("  type: A\n", MAPPED, "A"),
        (MAPPED, "  type: X\n", "Y"),
        (MAPPED, "", "X, Y"),
        ("- topic: b\n", "", "b"),
        ("- topic: b\n", "- topic: c\n  type: b\n", None),
        ("  type: A\n", "  type: {field: k}\n", None),
        ("  type: {field: k}\n", "  type: A\n", None),
        ("  type: A\n", "  type: A\n  idle: 5s\n", None),
    ],
)
def test_types_that_no_source_gives_any_longer_are_told(before: str, after: str, gone: str | None) -> None:
    told = [one for one in said(before, after) if one.startswith("no source has events of type")]
    assert told == ([] if gone is None else [
        f"no source has events of type {gone} any longer: queries that read it find no new ones"
    ])  # fmt: skip
