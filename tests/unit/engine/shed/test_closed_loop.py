"""The detector in a closed loop: the bound holds wherever the shedder can hold it, nothing oscillates, all recovers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from saffron.engine.shed.load.settings import Overload
from tests.unit.engine.shed.plant import Load, Plant

BOUND = 1000.0


def step(low: float, high: float, begin: float, end: float) -> Load:
    return lambda at: high if begin <= at < end else low


LOADS: dict[str, Load] = {
    "1.2": lambda at: 1.2,
    "2.0": lambda at: 2.0,
    "step": step(0.7, 1.6, 2_000, 10_000),
    "burst": step(0.7, 5.0, 2_000, 12_000),
    "ramp": lambda at: 0.5 + at / 10_000,
    "sinus": lambda at: 1.2 + 0.9 * math.sin(at / 2_000),
    "beat": lambda at: 3.0 if int(at / 100) % 3 == 0 else 0.6,
}


@pytest.mark.parametrize("shedder", ["pspice", "bl", "auto"])
@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("off", [0.7, 1.5])
def test_the_bound_holds(shedder: str, load: str, off: float) -> None:
    plant = Plant(shedder, Overload(BOUND), off=off, jitter=0.1)
    plant.run(LOADS[load], 15)
    assert plant.quantile(0.999) < BOUND


@pytest.mark.parametrize("load", ["1.2", "2.0", "burst"])
def test_the_bound_holds_where_only_events_can_be_dropped(load: str) -> None:
    plant = Plant("auto", Overload(BOUND), jitter=0.1, likely=True)
    plant.run(LOADS[load], 15)
    assert plant.quantile(0.999) < BOUND
    assert not any(plant.kept), "orders that nobody carries out"


def test_a_query_on_which_its_shedder_cannot_act_is_exempt() -> None:
    plant = Plant("pspice", Overload(BOUND), likely=True, pauses=((3_000, 5_000),))
    plant.run(lambda at: 1.2, 15)
    assert plant.last_shed() == -1


@pytest.mark.parametrize("shedder", ["pspice", "bl", "auto"])
@pytest.mark.parametrize("high", [1.3, 5.0])
def test_nothing_is_shed_soon_after_the_load_has_fallen(shedder: str, high: float) -> None:
    plant = Plant(shedder, Overload(BOUND), jitter=0.05)
    plant.run(step(0.9, high, 3_000, 10_000), 45)
    assert 3_000 < plant.last_shed() < 40_000, "30 s after the load has fallen below capacity"
    assert plant.quantile(0.999) < BOUND


@pytest.mark.parametrize("shedder", ["pspice", "bl", "auto"])
def test_below_capacity_nothing_is_shed(shedder: str) -> None:
    plant = Plant(shedder, Overload(BOUND), jitter=0.2)
    plant.run(lambda at: 0.9, 30)
    assert plant.last_shed() == -1


@pytest.mark.parametrize("high", [1.3, 2.0])
def test_the_share_of_events_settles(high: float) -> None:
    plant = Plant("bl", Overload(BOUND, exempt=0.0))
    plant.run(lambda at: high, 25)
    late = np.array(plant.shares[len(plant.shares) // 2 : -len(plant.shares) // 10])
    assert late.min() > 0, "no coming and going"
    assert late.max() - late.min() < 0.1


@pytest.mark.parametrize("high", [1.3, 2.0])
def test_the_partial_matches_that_stay_settle(high: float) -> None:
    plant = Plant("pspice", Overload(BOUND))
    plant.run(lambda at: high, 25)
    late = np.array([n for n in plant.kept[len(plant.kept) // 2 :] if n is not None])
    assert late.max() < 1.5 * late.min()


@pytest.mark.parametrize("shedder", ["pspice", "bl", "auto"])
def test_after_an_outage_shed_is_current_again_at_once(shedder: str) -> None:
    plant = Plant(shedder, Overload(BOUND), pauses=((5_000, 20_000),))
    plant.run(lambda at: 0.8, 40)
    over = [now for now, latency in zip(plant.times, plant.latencies, strict=True) if latency > BOUND]
    assert min(over) >= 25_000
    assert max(over) < 26_000
    assert plant.last_shed() < 30_000


@pytest.mark.parametrize("shedder", ["pspice", "bl", "auto"])
def test_after_an_outage_catch_up_drops_nothing_until_its_backlog_is_gone(shedder: str) -> None:
    plant = Plant(shedder, Overload(BOUND, "catch-up"), pauses=((5_000, 4_000),))
    plant.run(lambda at: 0.8, 40)
    assert plant.last_shed() == -1
    assert plant.latencies[-1] < 100


def test_what_cannot_catch_up_sheds_again() -> None:
    plant = Plant("bl", Overload(BOUND, "catch-up"), pauses=((2_000, 3_000),))
    plant.run(lambda at: 1.5, 30)
    backlog = [share for at, share in zip(plant.arrivals, plant.shares, strict=True) if 2_000 < at < 5_000]
    assert max(backlog) == 0
    assert np.quantile(plant.latencies[-1000:], 0.999) < BOUND
