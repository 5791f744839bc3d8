"""The records of `models` that a new chain is offered: the last good model of each key, as earlier chains have it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from saffron.engine.models.reader import ModelReader
from saffron.records.envelope import ModelError, Version
from saffron.runtime.log import Record


@dataclass
class GoodModels:
    """The newest readable model of each key, and parts of a newer one that is not whole yet.

    A record that is refused, whatever chain reads it, leaves the model before it in force. So it must not take the
    place of that model for chains that begin later. Records are named by their model: "QUERY/events", not by parts.
    """

    _reader: ModelReader = field(default_factory=ModelReader)
    _whole: dict[str, tuple[Version, list[Record]]] = field(default_factory=dict)
    _coming: dict[str, dict[bytes, Record]] = field(default_factory=dict)

    def take(self, record: Record) -> str | None:
        """Take the next record. One that cannot be read changes nothing: returns why. Nor does an older one, which is
        no fault in a topic that is read from its beginning.
        """
        key = record.key or b""
        name = "/".join(key.decode(errors="replace").split("/")[:2])
        try:
            model = self._reader.take(key, record.value)
        except ModelError as error:
            return None if error.reason == "older" else str(error)
        coming = self._coming.setdefault(name, {})
        coming.pop(key, None)
        if record.value is None:
            del self._coming[name]
            if key == name.encode():
                self._whole.pop(name, None)
        elif model is None:
            coming[key] = record
        else:
            del self._coming[name]
            if name not in self._whole or model.version >= self._whole[name][0]:
                self._whole[name] = model.version, [*coming.values(), record]
        return None

    def __iter__(self) -> Iterator[Record]:
        """The records, so that a reader has the same models after them."""
        for _, records in self._whole.values():
            yield from records
        for parts in self._coming.values():
            yield from parts.values()
