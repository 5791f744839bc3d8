"""The order of a merged stream's events: by the message that each was read from (`schema.origin`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column
from saffron.schema.origin import ORDER
from saffron.schema.schema import NULL_INT


def origin_keys(attributes: Mapping[str, Column], count: int) -> tuple[NDArray[np.int64], ...]:
    """The origins of `count` events, as the keys of their order (int64 [count] each)."""
    return tuple(_key(attributes.get(name), count) for name in ORDER)


def _key(column: Column | None, count: int) -> NDArray[np.int64]:
    if column is None or not column.kind.is_whole:
        return np.full(count, NULL_INT, dtype=np.int64)
    return column.data.astype(np.int64, copy=False)
