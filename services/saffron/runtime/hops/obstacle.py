"""The obstacle that holds up a chain: one that only the user can remove, or a search that takes long."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from saffron.errors import GapError, LogError, RowsError, SearchError, UnwritableError
from saffron.runtime.log import TopicPartition

_LOG = logging.getLogger(__name__)


@dataclass
class Obstacle:
    """The obstacle of the chain of partition `where`. `text`: None if there is none.

    A chain that starts again shows that an obstacle is gone. There are three exceptions: a gap in the input, an output
    that does not take what is written, and rows without their schema. Only what the chain writes shows that these are
    gone.
    """

    where: TopicPartition
    text: str | None = None
    _until_written: bool = field(default=False, init=False)

    def met(self, error: LogError) -> None:
        """The chain was held up. Each new obstacle is logged once, and is an error unless it passes by itself."""
        if self.text != str(error):
            level = logging.INFO if isinstance(error, SearchError) else logging.ERROR
            _LOG.log(level, "%s/%d: %s", self.where.topic, self.where.partition, error)
        self.text, self._until_written = str(error), isinstance(error, GapError | UnwritableError | RowsError)

    def started(self) -> None:
        """The chain has started, or gone on."""
        if not self._until_written:
            self.text = None

    def written(self) -> None:
        """What the chain wrote is in the log."""
        if self._until_written:
            self.text, self._until_written = None, False
