"""`saffron explain`: the engine, and the kernels."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

from tests.unit.cli.test_main import saffron

RALLY = """QUERY rally PATTERN SEQ(Quote+ a[], Quote b) WHERE skip-till-next-match { [symbol]
AND a[i].price > avg(a[..i-1].price) AND b.price < 0.99 * a[last].price AND b.venue = 'IBM' } WITHIN 1 hour"""
LISTS = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-any-match { c.x > a.x } WITHIN 1 hour"
COUNTS = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 1 hour"


def explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, *options: str, status: int = 0
) -> str:
    assert saffron(monkeypatch, "explain", "-e", text, *options) == status
    shown = capsys.readouterr()
    return shown.out if status == 0 else shown.err


@pytest.mark.parametrize(
    ("text", "options", "engine"),
    [
        (RALLY, (), "flat"),
        ("PATTERN SEQ(A a, B b) WITHIN 1 hour", (), "scan"),
        ("PATTERN SEQ(A a, B? b, C c) WITHIN 1 hour", (), "table"),
        (LISTS, ("--shed", "none"), "graphs"),
        (LISTS, ("--shed", "pspice"), "scan"),
        (f"{LISTS} OUTPUT COMPRESSED", (), "collapsed graphs"),
        (f"{LISTS} CONFIDENCE >= 0.5", (), "imprecise time"),
        (COUNTS, (), "trend graphs"),
    ],
)
def test_the_engine_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: tuple[str, ...],
    engine: str,
) -> None:
    assert f"\n  engine   {engine}: " in explained(monkeypatch, capsys, text, *options)
    found = json.loads(explained(monkeypatch, capsys, text, *options, "--format", "json"))["engine"]
    assert found["name"] == engine
    assert found["reason"]


def test_where_no_engine_can_run_a_plan_the_reason_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE skip-till-any-match WITHIN 1 hour TIME STRICT CONFIDENCE >= 0.5"
    shown = explained(monkeypatch, capsys, text)
    assert "\n  engine   none: query query: with imprecise time, the times of a match always increase strictly" in shown
    assert explained(monkeypatch, capsys, text, "--kernel", status=1).startswith("saffron: query query: with imprecise")


def test_a_query_that_reads_results_of_others_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    maker = "QUERY m PATTERN SEQ(A a, B b) WITHIN 1 hour RETURN a.x AS x INTO AB"
    reader = "QUERY r PATTERN SEQ(AB a, C c) WITHIN 1 hour"
    shown = explained(monkeypatch, capsys, maker, "-e", reader)
    assert shown.count("\n  engine   scan: ") == 1
    assert shown.count("\n  engine   flat: results of other queries") == 1


def test_kernels_are_shown_with_what_their_names_mean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = explained(monkeypatch, capsys, RALLY, "--kernel")
    tree = ast.parse(shown)
    assert {"classify", "step"} <= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for line in (
        "# component 0: a, events of type Quote; mask bit 0 for the first, 1 for others",
        "# s0f1: how many price in a are not null",
        "# constants[0]: 'IBM'",
        "# ---- runs of pool 0",
        "LIVE_0 = 11",
        "BEGIN_1 = 4",
    ):
        assert f"\n{line}\n" in "\n".join(part.strip() for part in shown.splitlines()), line
    assert "counters[LIVE_0]" in shown


def test_kernels_of_trends_keep_names_of_constants(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = explained(monkeypatch, capsys, COUNTS, "--kernel")
    ast.parse(shown)
    assert "\n@kernel()\ndef advance(" in shown
    assert "store_head[KEYS]" in shown


def test_names_of_users_stay_in_their_comment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = """a."x\u2028#y" < b."x\u2028#y" AND b.s = '1\u2028import os'"""
    text = f"PATTERN SEQ(A a, B b) WHERE skip-till-next-match {{ {asked} }} WITHIN 1 hour"
    tree = ast.parse(explained(monkeypatch, capsys, text, "--kernel"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import) and node.names[0].name == "os"]


def test_kernels_are_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert "kernels are text" in explained(monkeypatch, capsys, RALLY, "--kernel", "--format", "svg", status=2)


def test_naming_the_engine_loads_no_numba() -> None:
    script = (
        "import sys; from saffron.engine.explain import chosen; from saffron.language import bind\n"
        f"plan = bind({RALLY!r}, None, name='q').plan\n"
        "print(chosen.plan_json(plan, chosen.schema_of(plan, None))['engine']['name'], 'numba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["flat", "False"]
