"""A system started by `saffron up` while faults come by a seed: each result once, its bytes those of `replay`."""

from __future__ import annotations

import pytest
from faults.run import run
from faults.verdict import Verdict

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


def test_nothing_is_lost_doubled_or_changed_while_services_and_broker_are_killed_paused_and_restarted() -> None:
    outcome = run(seed=3, faults=6, events=50_000, partitions=3)
    assert outcome.verdict.results > 10_000
    assert outcome.verdict == Verdict(outcome.verdict.results, 0, 0, 0, 0, 0, 0), [str(one) for one in outcome.faults]
