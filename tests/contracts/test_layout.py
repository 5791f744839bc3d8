"""Code is found by its folders and names: no folder is crowded, and no name of a file says as good as nothing.

A folder holds the files of one role. A file's name says what the file has that others do not have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGE = PurePosixPath("services/saffron")
CODE = [path.relative_to(ROOT) for top in ("services", "tests", "tools", "k8s") for path in (ROOT / top).rglob("*.py")]
MOST_FILES = 20
MOST_FOLDERS = 3
OF_PYTHON = {"__init__", "__main__", "main", "conftest"}
"""Names that tools and habits give."""


def crowded(files: Iterable[PurePosixPath]) -> list[str]:
    """What is wrong with the folders of files of code."""
    folders: dict[PurePosixPath, int] = defaultdict(int)
    for path in files:
        folders[path.parent] += 1
    return [
        f"{folder}/ has {count} files of code, more than {MOST_FILES}: move those of one role to a folder of their "
        "own, or make one file of two small ones with one purpose"
        for folder, count in sorted(folders.items())
        if count > MOST_FILES
    ]


def vague(files: Iterable[PurePosixPath]) -> list[str]:
    """What is wrong with the names of files of code."""
    named: dict[str, list[str]] = defaultdict(list)
    for path in files:
        if path.stem not in OF_PYTHON:
            named[path.name].append(str(path))
    return [
        f"{name} is in {len(paths)} folders, more than {MOST_FOLDERS} ({', '.join(sorted(paths))}): rename the one "
        "whose content another name tells better, with `git mv` and in all imports"
        for name, paths in sorted(named.items())
        if len(paths) > MOST_FOLDERS
    ]


def test_no_folder_is_crowded() -> None:
    assert len(CODE) > 1000
    assert crowded(map(PurePosixPath, CODE)) == []


def test_no_name_is_in_many_folders_of_the_package() -> None:
    files = [path for path in map(PurePosixPath, CODE) if path.is_relative_to(PACKAGE)]
    assert len(files) > 500
    assert vague(files) == []


def test_what_is_wrong_is_said() -> None:
    files = [PurePosixPath(f"a/{number}.py") for number in range(MOST_FILES)]
    assert crowded(files) == []
    (said,) = crowded([*files, PurePosixPath("a/__init__.py"), PurePosixPath("a/b/c.py")])
    assert said.startswith("a/ has 21 files")
    files = [PurePosixPath(f"{folder}/{name}.py") for folder in "abcd" for name in ("main", "rows")]
    assert vague(files[:6]) == []
    (said,) = vague(files)
    assert said.startswith("rows.py is in 4 folders, more than 3 (a/rows.py, b/rows.py, c/rows.py, d/rows.py)")
