"""Parts of kernels are compiled once: another kernel that has the same one links what is on disk."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from saffron.engine.kernels import generated, jit
from saffron.engine.kernels.part_cache import PartCache

KERNEL = """
{comment}
@part
def double(values, i):
    return 2 * values[i] + 1
@kernel()
def entry(values):
    total = 0
    for i in range(len(values)):
        total += double(values, i)
    return total
"""
VALUES = np.arange(5)


def made(comment: str, parts: list[Any], made_from: str = "this") -> Any:
    """The kernel; `parts` has its part then. Kernels of other comments are in other files."""

    def part(function: Any) -> Any:
        parts.append(jit.inlined(function, made_from=made_from))
        return parts[-1]

    return generated.load(KERNEL.format(comment=f"# {comment}"), functions={"part": part}).entry


def kept(directory: Path) -> list[Path]:
    return sorted((directory / "parts").iterdir())


def hits(part: Any) -> int:
    return sum(part._cache_hits.values())


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_directory", tmp_path)


def test_a_part_is_compiled_for_the_first_kernel_and_linked_into_the_second(tmp_path: Path) -> None:
    parts: list[Any] = []
    assert made("the first", parts)(VALUES) == 25
    files = kept(tmp_path)
    assert len(files) == 1
    assert made("the second", parts)(VALUES) == 25
    assert [hits(part) for part in parts] == [0, 1]
    assert kept(tmp_path) == files


def test_what_is_made_from_something_else_or_for_other_types_is_another_part(tmp_path: Path) -> None:
    parts: list[Any] = []
    assert made("one", parts)(VALUES) == 25
    assert made("two", parts, "that")(VALUES) == 25
    assert made("three", parts)(VALUES.astype(np.float64)) == 25.0
    assert [hits(part) for part in parts] == [0, 0, 0]
    assert len(kept(tmp_path)) == 3


def test_what_cannot_be_read_is_compiled_again(tmp_path: Path) -> None:
    parts: list[Any] = []
    made("written", parts)(VALUES)
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    for number, content in enumerate((b"", whole[:40], b"nothing of the kind", whole[:-10])):
        file.write_bytes(content)
        assert made(f"spoilt {number}", parts)(VALUES) == 25
        assert made(f"mended {number}", parts)(VALUES) == 25
    assert [hits(part) for part in parts] == [0, *(0, 1) * 4]


def test_a_disk_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "parts").write_text("no directory")
    assert made("in vain", [])(VALUES) == 25


def test_a_part_is_found_by_its_name_and_what_it_is_made_from(tmp_path: Path) -> None:
    one, other = (
        types.FunctionType((lambda: 0).__code__, {}, "one"),
        types.FunctionType((lambda: 0).__code__, {}, "two"),
    )
    target = made("for its target", [])._compiler.targetdescr.target_context
    paths = {PartCache(tmp_path, function, what)._path((), target) for function in (one, other) for what in "ab"}
    assert len(paths) == 4


def test_a_kernel_on_disk_needs_no_other_kernel(tmp_path: Path) -> None:
    """Numba keeps environments with a kernel, by the modules they are of: those of its parts may be of another."""
    parts: list[Any] = []
    for comment in ("first", "second"):
        entry = made(comment, parts)
        assert entry(VALUES) == 25
        (compiled,) = entry.overloads.values()
        of = {environment.globals["__name__"] for environment in compiled._find_referenced_environments()}
        assert of <= {entry.__module__}
    assert [hits(part) for part in parts] == [0, 1]
