"""The key of a stream of several topics: paths by whose values the topics agree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from saffron.mapping.paths import Path
from saffron.mapping.proposals.fields import Fields, Steps
from saffron.mapping.proposals.proposal import ProposedKey

_NAME = re.compile(r"(^|[._])id$|_id$|Id$|key|uuid|number$", re.IGNORECASE)
_LEAST_SHARED = 0.2
"""The least share of a field's values that another topic must have too, for the field to be a key."""


def found_keys(names: Sequence[str], fields: Sequence[Fields]) -> list[ProposedKey | None]:
    """The proposed key of each topic: the path whose values the other topics have too."""
    if len(fields) < 2:
        return [None] * len(fields)
    texts = [{steps: _texts(values) for steps, values in own.values.items()} for own in fields]
    first = max(
        ((steps, [_best(own, other) for other in texts[1:]]) for steps, own in texts[0].items()),
        key=lambda one: (min((share for share, _ in one[1]), default=0.0), bool(_NAME.search(one[0][-1]))),
        default=None,
    )
    if first is None or min(share for share, _ in first[1]) < _LEAST_SHARED:
        return [None] * len(fields)
    steps, others = first
    shown = ".".join(steps)
    own = ProposedKey(Path(steps), f"the other topics have its values, too ({min(texts[0][steps])})")
    return [
        own,
        *(ProposedKey(Path(path), f"has values of {names[0]}'s {shown}: {share:.0%}") for share, path in others),
    ]


def _texts(values: Sequence[Any]) -> set[str]:
    """Different values that may be keys: texts and whole numbers."""
    return {str(value) for _, value in values if isinstance(value, str) and "." not in value[:1] and value}


def _best(own: set[str], other: Mapping[Steps, set[str]]) -> tuple[float, Steps]:
    """The path of another topic that shares most of its values with these, and the share."""
    return max(
        ((len(own & values) / len(values) if len(values) > 1 else 0.0, steps) for steps, values in other.items()),
        default=(0.0, ()),
    )
