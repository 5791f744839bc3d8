"""The comparison of a reader's results with those of `replay` over the same events."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_DATED = re.compile(rb',"detected_at":\d+')

Results = Mapping[tuple[str, int], Sequence[bytes]]
"""Results as their bytes, by topic and partition, in order."""


@dataclass(frozen=True)
class Verdict:
    """Counts of results. `lost`, `doubled`, `extra`: by id. `changed`: the same id, other bytes. `moved`: partitions
    in which the results are right, and their order is not. `letters`: dead letters, where no event is wrong or late."""

    results: int
    lost: int
    doubled: int
    extra: int
    changed: int
    moved: int
    letters: int = 0

    @property
    def right(self) -> bool:
        return not (self.lost or self.doubled or self.extra or self.changed or self.moved or self.letters)


def verdict(found: Results, wanted: Results, letters: int = 0) -> Verdict:
    """Each result once, its bytes those of `replay` but for the time of detection, in the order of its partition."""
    lost = doubled = extra = changed = moved = 0
    for place in wanted.keys() | found.keys():
        right = [_DATED.sub(b"", one) for one in wanted.get(place, ())]
        seen = [_DATED.sub(b"", one) for one in found.get(place, ())]
        if seen == right:
            continue
        by_id = {_id(one): one for one in right}
        times = Counter(map(_id, seen))
        lost += sum(1 for one in by_id if one not in times)
        extra += sum(1 for one in times if one not in by_id)
        doubled += sum(count - 1 for count in times.values())
        wrong = sum(1 for one in seen if (name := _id(one)) in by_id and by_id[name] != one)
        changed += wrong
        moved += Counter(seen) == Counter(right)
    return Verdict(sum(map(len, wanted.values())), lost, doubled, extra, changed, moved, letters)


def _id(result: bytes) -> str:
    return str(json.loads(result)["id"])
