"""services/README.md leads through files and functions that are there, and says what each folder holds."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "services" / "saffron"
TEXT = (ROOT / "services" / "README.md").read_text("utf-8").partition("## Topics")[0]
FILE = r"`([a-z_/]+\.py)`"
NAMED = re.compile(FILE + r"\s+`(\w+)(?:\.(\w+))?`")


def files_of(name: str) -> list[Path]:
    """The files whose paths end so."""
    return [path for path in PACKAGE.rglob("*.py") if f"/{path.relative_to(PACKAGE)}".endswith(f"/{name}")]


def test_files_and_functions_are_there() -> None:
    assert [name for name in set(re.findall(FILE, TEXT)) if not files_of(name) and not (ROOT / name).is_file()] == []
    named = NAMED.findall(TEXT)
    assert len(named) > 20
    for name, first, second in named:
        (path,) = files_of(name)
        defined = {getattr(node, "name", ""): node for node in ast.parse(path.read_text("utf-8")).body}
        assert first in defined, f"{name}: {first}"
        methods = {getattr(node, "name", "") for node in getattr(defined[first], "body", ())}
        assert not second or second in methods, f"{name}: {first}.{second}"


def test_every_folder_is_told_of() -> None:
    folders = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")} - {Path(".")}
    mentioned = set(re.findall(r"`([a-z_/]+)/`", TEXT))
    inner = {name.split("/")[0] for name in mentioned if "/" in name}  # told by their own folders
    untold = [str(one) for one in sorted(folders) if not {str(one), one.name} & (mentioned | inner | {"data"})]
    assert untold == []
