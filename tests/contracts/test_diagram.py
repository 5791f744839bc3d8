from __future__ import annotations

from pathlib import Path

from tools.diagram import BEGIN, END, README, drawn

PACKAGE = README.parent / "saffron"


def test_the_diagram_is_current() -> None:
    text = README.read_text("utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert drawn(text) == text, "run `python tools/diagram.py`"


def test_every_folder_has_its_paragraph() -> None:
    text = README.read_text("utf-8")
    folders = [path for path in PACKAGE.rglob("*") if path.is_dir() and any(path.glob("*.py"))]
    missing = [name for name in map(relative, folders) if f"**`{name}/`**" not in text]
    assert missing == []


def relative(folder: Path) -> str:
    return folder.relative_to(PACKAGE).as_posix()
