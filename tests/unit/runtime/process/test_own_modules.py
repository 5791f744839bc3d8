"""Modules of the user's, imported at start: the aggregates that they register are known to every service's queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.engine.operators import aggregates
from saffron.engine.operators.standing import compile_text
from saffron.errors import QueryError, SettingsError
from saffron.runtime.process.own_modules import import_modules

TEXT = "PATTERN A+ a[] WHERE doubled(a[].x) > 4 WITHIN 1 s"
MODULE = """
import saffron

@saffron.aggregate
def doubled(acc, x):
    return acc + 2 * x
"""


def test_a_module_makes_its_aggregates_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_aggregates_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(QueryError, match="doubled"):
        compile_text(TEXT, None, "q")
    import_modules(" own_aggregates_of_a_test, ")
    assert compile_text(TEXT, None, "q").name == "q"
    aggregates.forget("doubled")


@pytest.mark.parametrize(
    ("source", "reason"),
    [("1 / 0", "ZeroDivisionError"), ("import nothing_there", "nothing_there"), ("raise SystemExit(3)", "SystemExit")],
)
def test_a_module_that_fails_is_a_wrong_setting(
    source: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"wrong_module_{len(source)}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match=f"module '{name}' cannot be imported.*{reason}.*PYTHONPATH"):
        import_modules(name)
