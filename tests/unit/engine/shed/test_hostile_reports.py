"""Load reports with values of any kind: anybody may write to `load`, and blocks are shed whatever stands there."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.operator import ShedderOperator
from saffron.schema.schema import Kind

_QUERY = {
    "op": "add",
    "name": "q",
    "version": 1,
    "slot": 0,
    "text": "PATTERN SEQ(A a, A b) WITHIN 10 ms",
    "shed": "auto",
}
_REPORT: dict[str, Any] = {
    "service": "matcher", "stream": "s", "partition": 0, "offset": 1, "position": 10, "events": 10, "at": 1,
    "processing_ns": 1_000_000, "elapsed_ns": 2_000_000, "other_ns": 0, "commit_ms": 5.0,
    "partial_matches": {"q": 3}, "nanoseconds": {"q": 1_000_000}, "found": {"q": 1}, "loss": {"q": 0.5},
    "loss_ratio": {"q": 0.1}, "sampled": {"q": [1.0, 2.0, 3.0, 4.0]}, "false": {"q": 0}, "compared": {"q": 1},
    "trials": {"q": [4.0, 1.0, 2.0]}, "traced": {"q": {"count": 1, "matches": [[1, 2]]}},
}  # fmt: skip
_HOSTILE: tuple[Any, ...] = (
    -1, 0, 1, -5, 2**63 - 1, -(2**63), 10**18, 0.5, -0.5, 1e300, -1e300, 1e-300, None, True, False, "", "q", [], [1],
    {}, {"q": -5}, {"q": 2**62}, {"q": 1e300}, {"q": None}, {"q": [1e300, -1.0, 0.0, 1e300]}, {"q": {}}, {"other": 1},
)  # fmt: skip
_REFUSED = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What the service passes over, with a word in its log."""


def _block(number: int, *controls: Control) -> Block:
    seq = np.arange(10 * number, 10 * number + 10)
    columns = Columns(seq, seq.copy(), seq.copy(), Column(Kind.STRING, np.zeros(10, np.int32), ("A",)), {})
    return Block(columns, 10 * number, 10 * number + 10, 10 * number + 10, counter=number, controls=controls)


@pytest.mark.parametrize("seed", range(20))
def test_no_report_keeps_a_block_from_being_shed(seed: int) -> None:
    rng = random.Random(seed)
    operator = ShedderOperator(0, "s", Overload(1000.0))
    operator.apply(_block(0, Control(0, "query", _QUERY)), now_ms=0.0, appended_ms=0.0)
    for number in range(1, 80):
        names = rng.sample(sorted(_REPORT), rng.choice([1, 1, 1, 2, 5]))
        report = {**_REPORT, "position": 10 * number, **{name: rng.choice(_HOSTILE) for name in names}}
        with suppress(*_REFUSED):
            operator.observe(report, 10.0 * number)
        operator.may_go(5)
        operator.apply(_block(number), now_ms=10.0 * number + 900.0, appended_ms=0.0, in_flight=5)
        operator.statistics()
