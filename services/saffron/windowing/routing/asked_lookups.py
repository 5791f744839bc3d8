"""The look-ups in tables that standing queries ask for (`a.x IN t`)."""

from __future__ import annotations

from saffron.language.syntax.table_lookups import lookups_of
from saffron.schema.table_names import Lookup
from saffron.windowing.control_follower import ControlFollower


class AskedLookups:
    """The look-ups in the tables of one stream. `control`: has the queries."""

    def __init__(self, control: ControlFollower, stream: str) -> None:
        self._control = control
        self._stream = stream
        self._seen_version = -1
        self._found = frozenset[Lookup]()

    def __call__(self) -> frozenset[Lookup]:
        """The look-ups of all queries over the stream."""
        if self._seen_version != self._control.version:
            self._seen_version = self._control.version
            records = (one.record for one in self._control.queries.values() if one.record is not None)
            self._found = frozenset(look for one in records for look in lookups_of(one.text, self._stream))
        return self._found
