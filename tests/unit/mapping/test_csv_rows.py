"""CSV in messages: rows are elements, each cell a text, and a bad row is one refusal."""

from __future__ import annotations

import codecs
import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.mapping.definition import CSV, AttributeRule, CsvForm, SourceDefinition, TimeFormat, TimeRule, TypeRule
from saffron.mapping.kinds import As
from saffron.mapping.mapper import Mapped, Refused, events_of
from saffron.mapping.message import Message, Number
from saffron.mapping.paths import Path

_TIME = TimeRule(Path(("at",)), TimeFormat.SECONDS)


def source(form: CsvForm) -> SourceDefinition:
    total = {"total": AttributeRule(Path(("total",)), As.NUMBER)}
    return SourceDefinition("t", 0, TypeRule(constant="T"), _TIME, total, format=CSV, csv=form)


def read(value: bytes, form: CsvForm) -> list[Mapped | Refused]:
    return list(events_of(Message(value), source(form)))


def test_a_header_line_names_the_columns() -> None:
    found = read(b'at,total,who\n1,1.50,"a,b"\n2,,""\n3\n', CsvForm())
    assert found == [
        Mapped(0, "T", 1000, {"at": "1", "total": Number("1.50"), "who": "a,b"}),
        Mapped(1, "T", 2000, {"at": "2", "who": ""}),
        Mapped(2, "T", 3000, {"at": "3"}),
    ]
    assert read(b"at,total\n", CsvForm()) == read(b"", CsvForm()) == []


@pytest.mark.parametrize("value", [b"at,total\n1,2\n", b'"at",total\n1,2\n'])
def test_a_byte_order_mark_is_no_part_of_the_first_cell(value: bytes) -> None:
    wanted = [Mapped(0, "T", 1000, {"at": "1", "total": Number("2")})]
    assert read(codecs.BOM_UTF8 + value, CsvForm()) == wanted
    assert read(codecs.BOM_UTF8 + value.partition(b"\n")[2], CsvForm(("at", "total"))) == wanted


def test_columns_may_be_given_and_have_another_separator() -> None:
    found = read(b'1;"2;5";x\r\n2;2.5;""', CsvForm(("at", "total", "who"), ";"))
    assert found[0] == Mapped(0, "T", 1000, {"at": "1", "who": "x"}, ("total",))
    assert found[1] == Mapped(1, "T", 2000, {"at": "2", "total": Number("2.5"), "who": ""})


def test_each_bad_row_is_one_refusal_and_a_bad_header_one_of_the_message() -> None:
    found = read(b"at,total\n1,2\n1,2,3\nx,2\n2,\xff\n3,4\n", CsvForm())
    assert [(one.number, getattr(one, "reason", "")) for one in found] == [
        (0, ""), (1, "not-csv"), (2, "bad-ts"), (3, "not-csv"), (4, ""),
    ]  # fmt: skip
    assert isinstance(found[1], Refused)
    assert found[1].detail == "line 3 has 3 cells for 2 columns"
    (one,) = read(b"at,at\n1,2\n", CsvForm())
    assert isinstance(one, Refused)
    assert (one.reason, one.detail) == ("not-csv", "the header line names 'at' twice")


@given(
    st.lists(st.lists(st.text(alphabet='ab,;"\n é', min_size=0, max_size=5), min_size=3, max_size=3), max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_rows_are_what_was_written(rows: list[list[str]], separator: str) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([["1", *row] for row in rows])
    form = CsvForm(("at", "total", "a", "b"), separator)
    found = read(text.getvalue().encode(), form)
    kept = [{"a": one.values.get("a"), "b": one.values.get("b")} for one in found if isinstance(one, Mapped)]
    assert kept == [{"a": row[1], "b": row[2]} for row in rows]


@pytest.mark.parametrize("value", [b'"', b'a"b', b'"a"b,c\n1,2'])
def test_what_is_no_csv_at_all_is_refused(value: bytes) -> None:
    assert any(isinstance(one, Refused) for one in read(value, CsvForm(("at", "total"))))
