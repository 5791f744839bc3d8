"""The cache of machine code on disk: used as long as nothing has changed that a kernel was made from, and no longer."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from saffron.engine.kernels import generated, jit
from saffron.engine.kernels.content_hash import stamp

PACKAGE = {
    "__init__.py": "",
    "constants.py": "STEP = 1\n",
    "helpers.py": """from numba.extending import register_jitable

from pack.constants import STEP


@register_jitable
def more(x):
    return x + STEP
""",
    "kernels.py": """from __future__ import annotations

from numba import int64

from pack.helpers import (
    more,
)
from saffron.engine.kernels.jit import kernel

@kernel(int64(int64))
def add(x):
    return more(x)

@kernel(error_model="python")
def divide(x, y):
    return x / y
""",
    "parts.py": """from numba import int64

from saffron.engine.kernels.jit import kernel, separate


@separate(int64(int64[::1], int64))
def total(values, least):
    found = 0
    for value in values:
        if value >= least:
            found += value
    return found


@kernel(int64(int64[::1]))
def twice(values):
    return total(values, 2) * 2


@kernel(int64(int64[::1]))
def four_times(values):
    return twice(values) * 2
""",
    "late.py": """from numba import int64

from saffron.engine.kernels.jit import separate


@separate(int64(int64), later=True)
def doubled(x):
    return 2 * x


@separate(int64(int64), later=True)
def four_times(x):
    return doubled(doubled(x))
""",
    "other.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The package's first state; later states are copies, with the cache that the earlier one left behind."""
    first = tmp_path / "first"
    (first / "pack").mkdir(parents=True)
    for name, text in PACKAGE.items():
        (first / "pack" / name).write_text(text)
    yield first
    _forget()


def later(root: Path, name: str = "other.py", text: str = "") -> Path:
    """A copy of everything, times of files included, with one file changed."""
    copied = Path(shutil.copytree(root, tempfile.mkdtemp(dir=root.parent), dirs_exist_ok=True))
    (copied / "pack" / name).write_text(text)
    return copied


def imported(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as a new process would see it."""
    _forget()
    monkeypatch.syspath_prepend(root)
    return importlib.import_module(f"pack.{name}")


def _forget() -> None:
    for known in [known for known in sys.modules if known.partition(".")[0] == "pack"]:
        del sys.modules[known]


def hits(module: ModuleType) -> int:
    return sum(module.add.stats.cache_hits.values())


def test_a_kernel_is_compiled_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = imported(root, "kernels", monkeypatch)
    assert (first.add(1), hits(first)) == (2, 0)
    again = imported(later(root), "kernels", monkeypatch)
    assert (again.add(1), hits(again)) == (2, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("helpers.py", PACKAGE["helpers.py"].replace("x + STEP", "x + 10")),
        ("constants.py", "STEP = 10\n"),
    ],
)
def test_a_kernel_is_compiled_anew_when_what_it_inlines_has_changed(
    root: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported(root, "kernels", monkeypatch).add(1) == 2
    changed = imported(later(root, name, text), "kernels", monkeypatch)
    assert (changed.add(1), hits(changed)) == (11, 0)


def test_generated_kernels_follow_what_their_helpers_import(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "_directory", tmp_path)
    source = "from numba import int64\n@kernel(int64(int64))\ndef add(x):\n    return more(x)\n"
    changed = later(root, "constants.py", "STEP = 10\n")
    found = [
        generated.load(source, helpers=(imported(where, "helpers", monkeypatch),)).add(1) for where in (root, changed)
    ]
    assert found == [2, 11]


def test_a_kernel_can_have_options_of_its_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        imported(root, "kernels", monkeypatch).divide(1, 0)


def test_a_stamp_covers_what_is_imported_and_nothing_else(root: Path) -> None:
    def of(where: Path) -> str:
        return stamp("pack.kernels", str(where / "pack" / "kernels.py"))

    assert of(root) == of(later(root, "other.py", "NEW = 1\n"))
    assert of(root) != of(later(root, "constants.py", "STEP = 2\n"))
    whole = later(root, "helpers.py", "import pack.other\n")
    assert of(whole) != of(later(whole, "other.py", "NEW = 1\n"))


def test_only_what_stands_at_the_head_of_a_module_counts(root: Path) -> None:
    (root / "pack" / "lazy.py").write_text("if TYPE_CHECKING:\n    from pack.other import NEW\n")
    before, after = (
        stamp("pack.lazy", str(where / "pack" / "lazy.py")) for where in (root, later(root, "other.py", "NEW = 1\n"))
    )
    assert before == after


def test_a_part_that_is_compiled_by_itself_is_called_by_kernels_new_and_cached(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.array([1, 2, 3])
    for found in (0, 1):
        parts = imported(root if found == 0 else later(root), "parts", monkeypatch)
        assert parts.total(values, 2) == 5
        assert (parts.twice(values), sum(parts.twice.stats.cache_hits.values())) == (10, found)
    source = "from numba import int64\n@kernel(int64(int64[::1]))\ndef most(values):\n    return total(values, 1)\n"
    monkeypatch.setattr(jit, "_directory", root)
    for compiled in (True, False):
        assert generated.load(source, helpers=(parts,), compiled=compiled).most(values) == 6


def test_kernels_with_a_signature_wait_until_they_are_called_or_prepared(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = imported(root, "parts", monkeypatch)
    assert not parts.twice.overloads
    assert parts.four_times(np.array([2], np.int64)) == 8
    assert len(parts.twice.signatures) == 1  # compiled for its own signature, whoever calls it
    parts = imported(root, "parts", monkeypatch)
    jit.prepare()
    assert len(parts.twice.signatures) == len(parts.four_times.signatures) == 1
    assert parts.twice(np.array([2], np.int64)) == 4


def test_a_part_for_later_is_compiled_when_a_module_that_needs_it_is_loaded(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = imported(root, "late", monkeypatch)
    assert helper.four_times in jit._parts
    source = "@kernel()\ndef more(x):\n    return four_times(x) + 1\n"
    assert generated.load(source, helpers=(helper,), compiled=False).more(3) == 13
    assert helper.four_times in jit._parts
    assert generated.load(source, helpers=(helper,)).more(3) == 13
    assert not {helper.doubled, helper.four_times} & set(jit._parts)
