"""Whatever happens to a chain's transaction, nothing of it is kept: it drops its state, and takes over again later."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from saffron.errors import DeniedError, FencedError, GapError, LogError, StreamError, TooLargeError
from saffron.runtime.log import TopicPartition

_LOG = logging.getLogger(__name__)
_DOUBT_MS = 50
_TROUBLE_MS = 1_000


@dataclass
class Doubt:
    """`drop`: the state goes, and the input pauses. `retry_ms`: when to try again after being fenced; `retry_at`: the
    next take-over is not before that. `trouble`: what only the user can mend; the other chains go on."""

    where: TopicPartition
    retry_ms: int
    drop: Callable[[], None]
    retry_at: int = 0
    trouble: str | None = None

    def guarded(self, now_ms: int, act: Callable[[int], bool]) -> bool:
        """What `act` returns; True where it ended in doubt. What concerns all chains alike is raised."""
        try:
            moved = act(now_ms)
            self.trouble = None
            return moved
        except (StreamError, GapError) as error:
            if self.trouble is None:
                _LOG.error("%s/%d: %s", self.where.topic, self.where.partition, error)
            self.trouble = str(error)
            self._anew(now_ms + _TROUBLE_MS)
        except FencedError:
            # Another producer has this id: the partition's new owner, or the coordinator after a time-out. Wait for
            # the group to say which.
            self._anew(now_ms + self.retry_ms)
        except (DeniedError, TooLargeError):
            raise
        except LogError as error:
            _LOG.warning("%s/%d: %s; taking over again", self.where.topic, self.where.partition, error)
            self._anew(now_ms + _DOUBT_MS)
        return True

    def _anew(self, at: int) -> None:
        self.drop()
        self.retry_at = at
