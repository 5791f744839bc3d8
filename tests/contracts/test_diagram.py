from __future__ import annotations

from tools.diagram import BEGIN, END, README, drawn


def test_the_diagram_is_current() -> None:
    text = README.read_text("utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert drawn(text) == text, "run `python tools/diagram.py`"
