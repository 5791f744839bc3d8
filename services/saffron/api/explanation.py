"""The Python form of `why` and `why not`: the explanation of a key or a match."""

from __future__ import annotations

from html import escape
from typing import Any

from saffron.engine.why.as_dict import to_dict
from saffron.engine.why.as_text import lines
from saffron.engine.why.trace import Trace


class Explanation:
    """The outcome of each event: bound, refused by a condition with its values, or skipped.

    Print it, or let a notebook show it. `trace`: its data (`engine.why.trace.Trace`).
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __repr__(self) -> str:
        return "\n".join(lines(self.trace))

    def _repr_html_(self) -> str:
        return f'<pre style="font-size:12px;overflow-x:auto;white-space:pre">{escape(repr(self))}</pre>'

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON values, as `saffron replay --why --json` prints it."""
        return to_dict(self.trace)
