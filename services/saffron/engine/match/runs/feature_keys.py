"""The keys of events' features (G1) beside the events that a query stores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.rows import Rows
from saffron.engine.match.core.stream import Range

KEY = "#key"
"""A column of rows, there once blocks have had keys: the 64 bits of the event's key, 0 where it has none."""


def keep_keys(rows: Rows, part: Range, places: tuple[slice, slice], chosen: slice | NDArray[np.intp]) -> None:
    """Keep the keys of the chosen events of a part at the places that `Rows.append` gave for them."""
    keys = part.columns.key
    if keys is not None and KEY not in rows.columns:
        rows.add(KEY, np.dtype(np.int64), 0)
    if keys is not None:
        own = keys[part.low : part.high].view(np.int64)
        if isinstance(chosen, slice):
            rows.write(KEY, places, own[chosen])
        else:
            rows.gather(KEY, places, own, chosen)
    elif KEY in rows.columns:
        size = sum(place.stop - place.start for place in places)
        rows.write(KEY, places, np.zeros(size, np.int64))
