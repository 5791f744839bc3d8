"""The doctor names snapshots that are not written, and none that need not be."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from saffron.cli.checks.of_cluster import judge
from saffron.cli.finding import ERROR
from tests.unit.cli.checks.sound import (
    NOW,
    SETTINGS,
    bad,
    digests,
    sound,
)
from tests.unit.cli.checks.spoiled import told


def test_old_snapshots_are_named(tmp_path: Path) -> None:
    look = told("matcher", events=5)(replace(sound(), settings=replace(SETTINGS, snapshots=tmp_path)))
    earlier = tuple(replace(one, at=one.at - 60_000, stamped=one.stamped - 60_000) for one in look.digests)
    look = replace(look, digests=earlier + look.digests)
    (tmp_path / "matcher").mkdir()
    (one,) = bad(one for one in judge(look) if one.check == "snapshots")
    assert one.state == ERROR
    assert one.where.endswith("matcher/saffron.admitted/1")
    assert "there is none, though events came" in one.what


@pytest.mark.parametrize("before", [False, True])
def test_events_that_came_in_one_go_need_no_snapshot(tmp_path: Path, before: bool) -> None:
    """As those of a quiet topic that a stream is added on, or of one that was quiet `before`."""
    look = told("matcher", events=5)(replace(sound(), settings=replace(SETTINGS, snapshots=tmp_path)))
    folder = tmp_path / "matcher" / "saffron.admitted" / "1"
    folder.mkdir(parents=True)
    if before:
        earlier = (replace(one, at=one.at - 600_000, stamped=one.stamped - 600_000) for one in look.digests)
        look = replace(look, digests=(*earlier, *look.digests))
        saved = folder / "1.snapshot"
        saved.touch()
        os.utime(saved, (NOW / 1000 - 300, NOW / 1000 - 300))
    look = replace(look, now=look.now + 600_000)
    assert not [one for one in bad(judge(look)) if one.check == "snapshots"]


@pytest.mark.parametrize("lives", [2, 3, 5])
def test_a_service_that_dies_again_and_again_writes_no_snapshot_between(lives: int, tmp_path: Path) -> None:
    """It waits for the next one anew after each take-over, so that less than a minute of events is unsaved."""
    last, away, took = NOW - 1_000, 30_000, 9_000
    begins = [last - one * (took + away) - took for one in range(lives)]
    (one, *_) = digests("matcher", 1, events=5)
    alive = tuple(
        replace(one, at=at, stamped=at + 3) for begin in begins for at in range(begin, begin + took + 1, 1_000)
    )
    look = replace(sound(), settings=replace(SETTINGS, snapshots=tmp_path))
    look = replace(look, digests=(*(one for one in look.digests if one.service != "matcher"), *alive))
    folder = tmp_path / "matcher" / "saffron.admitted" / "1"
    folder.mkdir(parents=True)
    saved = folder / "1.snapshot"
    saved.touch()
    os.utime(saved, (min(begins) / 1000 - 1, min(begins) / 1000 - 1))
    assert not [one for one in bad(judge(look)) if one.check == "snapshots"]


def test_a_snapshot_that_never_is_written_is_named_though_its_service_dies_of_it(tmp_path: Path) -> None:
    look = told("matcher", events=5)(replace(sound(), settings=replace(SETTINGS, snapshots=tmp_path)))
    (tmp_path / "matcher").mkdir()
    took, away = 11, 4  # digests
    ours = [one for one in look.digests if (one.service, one.partition) == ("matcher", 1)]
    earlier = [replace(one, at=one.at - 60_000, stamped=one.stamped - 60_000) for one in ours]
    alive = [one for index, one in enumerate([*earlier, *ours]) if index % (took + away) < took]
    others = (one for one in look.digests if (one.service, one.partition) != ("matcher", 1))
    (one,) = bad(one for one in judge(replace(look, digests=(*others, *alive))) if one.check == "snapshots")
    assert "there is none, though events came" in one.what


def test_a_process_whose_clock_was_ahead_hides_no_missing_snapshot(tmp_path: Path) -> None:
    look = told("matcher", events=5)(replace(sound(), settings=replace(SETTINGS, snapshots=tmp_path)))
    earlier = (replace(one, at=one.at + 3_600_000, stamped=one.stamped - 60_000) for one in look.digests)
    look = replace(look, digests=(*earlier, *look.digests), now=NOW + 60_000)
    (tmp_path / "matcher").mkdir()
    (one,) = bad(one for one in judge(look) if one.check == "snapshots")
    assert "there is none, though events came" in one.what
