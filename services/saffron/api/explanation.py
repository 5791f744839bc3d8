"""The Python form of `why` and `why not`: the explanation of a key or a match."""

from __future__ import annotations

from html import escape
from typing import Any

from saffron.engine.why.as_dict import to_dict
from saffron.engine.why.story import Story
from saffron.engine.why.words import lines


class Explanation:
    """The outcome of each event: bound, refused by a condition with its values, or skipped.

    Print it, or let a notebook show it. `story`: its parts (engine.why.story).
    """

    def __init__(self, story: Story) -> None:
        self.story = story

    def __repr__(self) -> str:
        return "\n".join(lines(self.story))

    def _repr_html_(self) -> str:
        return f'<pre style="font-size:12px;overflow-x:auto;white-space:pre">{escape(repr(self))}</pre>'

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON values, as `saffron replay --why --json` prints it."""
        return to_dict(self.story)
