"""Row numbers of merged runs' arrays (kernel helpers): of lanes, of followers, and of followers' segments."""

from __future__ import annotations

from saffron.engine.match.core.runs import FIRST_FEATURE, HORIZON

ROWS = 3
GROUP, MARK, OWN = range(-ROWS, 0)
"""The last rows of `ints` in the pool of a state whose runs merge.

GROUP: 0 for a run on its own, else the number of those that it leads. MARK: up to which node of the trunk, which ends
at the lane's head, the leader's own chain ends at node OWN instead; ALL: the trunk is its chain.
"""

FOLLOWER_ROWS = 2
FOLLOWER_GROUP, FOLLOWER_MARK = FIRST_FEATURE, FIRST_FEATURE + 1
"""The rows GROUP and MARK of followers, whose own chains end at their heads."""

ALL = -1

WAIT, PATIENCE, LED, LED_UNTIL = range(HORIZON + 1, HORIZON + 5)
"""Further columns of followers' segments. WAIT: beginnings until the key's runs are compared again, PATIENCE: how much
longer than usual that is, as nothing merges. LED: 1 where some run leads others, the last deadline of such: LED_UNTIL.
"""
FOLLOWER_COLUMNS = LED_UNTIL + 1
LEAST = 8
"""Fewer runs of a key are not compared: one step of eight lanes takes them all."""
MOST_PATIENT = 64
