"""What a bound says by itself."""

from __future__ import annotations

import pytest

from saffron.engine.shed.load.settings import Overload
from saffron.errors import InputError


@pytest.mark.parametrize(("idle", "ahead"), [(0.0, 80.0), (0.075, 140.0), (0.15, 200.0), (0.9, 200.0)])
def test_little_work_is_in_flight_but_more_for_a_reader_that_waits(idle: float, ahead: float) -> None:
    assert Overload(1000.0).ahead(idle) == pytest.approx(ahead)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bound": 0.0}, "above 0 ms"),
        ({"bound": 1.0, "policy": "wait"}, "shed or catch-up, not 'wait'"),
        ({"bound": 1.0, "start": 1.0}, r"lie in \(0, 1\)"),
        ({"bound": 1.0, "seed": -1}, "a seed is a whole number from 0 to 9223372036854775807, not -1"),
        ({"bound": 1.0, "exempt": -0.1}, r"exempt, retained or tracked is a share in \[0, 1\)"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Overload(**wrong)  # type: ignore[arg-type]
