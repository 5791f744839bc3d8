"""Counts with EXACT, which have any number of digits: each reader of results has all of them."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastavro
import orjson
import pytest
from typer.testing import CliRunner

from saffron.cli.main import app
from saffron.cli.replays.output import TerminalLines
from saffron.cli.system.demo_screen import describe
from saffron.control.result_body import shown_text
from saffron.engine.operators.result_values import read_result
from saffron.experiments.virtual_truth import Found
from saffron.language import compile_query
from saffron.language.plan.row import Row
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.forms import codec
from saffron.runtime.result_formats.rows import RowFormats, avro_schema, values_of
from saffron.schema.numbers import digits
from saffron.schema.schema import Kind, Schema

NUMBERS = [0, 2**63 - 1, -(2**63), 2**63, 2**64, 2**64 + 1, 10**20 + 1, 10**308, 10**400 + 1, -(10**5000) - 1]


@pytest.fixture(params=NUMBERS, ids=lambda number: f"{len(digits(number))} digits")
def number(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture
def line(number: int) -> bytes:
    return (
        b'{"id":"0123456789abcdef0123456789abcdef","query":"q","partition":0,"window":[0,9],"group":{"g":"a"},'
        b'"return":{"n":%s,"mean":1e30},"exact":true,"detected_at":1}' % digits(number).encode()
    )


def within(number: int) -> int | str:
    """The number as readers with integers of 64 bits have it."""
    return number if -(2**63) <= number < 2**63 else digits(number)


def row(form: str) -> Row:
    text = f"QUERY q PATTERN A+ GROUP BY g WITHIN 9 ms RETURN COUNT(*) AS n EXACT PUBLISH 't' AS {form}"
    schema = Schema({"g": Kind.STRING}, {"A": ("g",)}, {"A": frozenset()})
    found = compile_query(text, schema).delivery.row
    assert found is not None
    return found


def test_python_has_the_number(line: bytes, number: int) -> None:
    assert read_result(line)["return"] == {"n": number, "mean": 1e30}


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_a_registry_s_record_has_its_digits(line: bytes, number: int, form: str) -> None:
    records = codec(form, "trends")
    assert orjson.loads(records.json(records.payload(line)))["return"] == {"n": within(number), "mean": 1e30}


def test_a_row_has_its_digits(line: bytes, number: int) -> None:
    assert values_of(row("AVRO"), line)["n"] == digits(number)
    written = RowFormats(Settings()).encode("t", row("JSON SCHEMA"), line)
    assert orjson.loads(written)["payload"]["n"] == digits(number)
    schema: Any = fastavro.parse_schema(orjson.loads(avro_schema(row("AVRO"))))
    fastavro.schemaless_writer(io.BytesIO(), schema, values_of(row("AVRO"), line))


def test_a_person_reads_its_digits(line: bytes, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown_text(line)["return"]["n"] == within(number)
    merged: Any = SimpleNamespace(json=lambda most: [[line]])
    TerminalLines().take(merged)
    assert f"n = {digits(number)}," in capsys.readouterr().out
    assert digits(number) in describe(read_result(line))


def test_a_line_that_is_passed_on_stays_as_it_is(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.ndjson").write_bytes(line + b"\n")
    assert CliRunner().invoke(app, ["enumerate", str(tmp_path / "results.ndjson")]).stdout_bytes == line + b"\n"


def test_the_loss_of_shedding_is_seen(line: bytes, number: int) -> None:
    found = Found(["q"])
    other = line.replace(b'"n":' + digits(number).encode(), b'"n":' + digits(number + 1).encode())
    for text in (line, line, other):
        merged: Any = SimpleNamespace(json=lambda text=text: [[text]])
        found.add(merged)
    assert len(found.results["q"]) == 2
