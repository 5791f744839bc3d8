"""Retry state of a chain whose transaction failed or has an unknown outcome: drop all state, then take over again
later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from saffron.errors import DeniedError, FencedError, GapError, LogError, SearchError, StreamError, UnwritableError
from saffron.runtime.hops.obstacle import Obstacle
from saffron.runtime.log import TopicPartition

_LOG = logging.getLogger(__name__)
_UNKNOWN_OUTCOME_MS = 50
"""Delay before the take-over after a transaction with an unknown outcome."""
_TROUBLE_MS = 1_000
"""Delay before the take-over after an error that only the user can fix."""
_SEARCH_MS = 250
"""Delay before the next look at a search that has not ended."""


@dataclass
class RetryState:
    """The time of a chain's next take-over, and the obstacle that only the user can remove.

    `drop`: clears the chain's state and pauses its input. `retry_ms`: delay after being fenced. `blame`: whether the
    chain goes on without what the broker refuses. `retry_at`: earliest time of the next take-over (ms). `obstacle`:
    other chains continue.
    """

    where: TopicPartition
    retry_ms: int
    drop: Callable[[], None]
    blame: Callable[[LogError], bool] = lambda error: False
    retry_at: int = 0
    obstacle: Obstacle = field(init=False)

    def __post_init__(self) -> None:
        self.obstacle = Obstacle(self.where)

    @property
    def trouble(self) -> str | None:
        """The obstacle as text, or None."""
        return self.obstacle.text

    def run(self, now_ms: int, act: Callable[[int], bool]) -> bool:
        """The result of `act(now_ms)`; True where it failed and the state was dropped.

        Errors that concern all chains are raised.
        """
        try:
            moved = act(now_ms)
            self.obstacle.started()
            return moved
        except (StreamError, GapError) as error:
            self._stand(error, now_ms)
        except FencedError as error:
            # Another producer has this id: the partition's new owner, or the coordinator after a time-out. Wait for
            # the group to say which.
            _LOG.info("%s/%d: %s; taking over again if it is still ours", self.where.topic, self.where.partition, error)
            self._drop_until(now_ms + self.retry_ms)
        except LogError as error:
            if isinstance(error, DeniedError | UnwritableError) and not self.blame(error):
                if isinstance(error, DeniedError):
                    raise
                self._stand(error, now_ms)
                return True
            _LOG.warning("%s/%d: %s; taking over again", self.where.topic, self.where.partition, error)
            self._drop_until(now_ms + _UNKNOWN_OUTCOME_MS)
        return True

    def _stand(self, error: LogError, now_ms: int) -> None:
        self.obstacle.met(error)
        self._drop_until(now_ms + (_SEARCH_MS if isinstance(error, SearchError) else _TROUBLE_MS))

    def _drop_until(self, at: int) -> None:
        self.drop()
        self.retry_at = at
