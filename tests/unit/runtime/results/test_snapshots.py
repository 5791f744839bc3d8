"""Snapshots: whole or not used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from saffron.engine.operators.operator import State
from saffron.runtime.results import snapshots
from saffron.runtime.results.snapshots import Snapshot, Snapshots


def snapshot(position: int) -> Snapshot:
    state: State = {
        "numbers": np.arange(position, dtype=np.int64).reshape(-1, 1),
        "text": np.frombuffer(b"abc", dtype=np.uint8),
        "empty": np.zeros((0, 4), dtype=np.float32),
    }
    return Snapshot(position, {"claim": position, "counter": None}, state)


@pytest.fixture
def store(tmp_path: Path) -> Snapshots:
    made = Snapshots(tmp_path / "snapshots")
    for position in (5, 9):
        made.write(snapshot(position))
    return made


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "snapshots").iterdir())


def test_a_snapshot_comes_back_as_it_was(store: Snapshots) -> None:
    found = store.newest(9, "id")
    assert found is not None
    assert (found.position, found.reader) == (9, {"claim": 9, "counter": None})
    for name, array in snapshot(9).state.items():
        assert found.state[name].dtype == array.dtype
        np.testing.assert_array_equal(found.state[name], array)
        assert found.state[name].flags.writeable


def test_one_newer_than_the_committed_position_is_skipped(store: Snapshots) -> None:
    found = store.newest(8, "id")
    assert found is not None
    assert found.position == 5
    assert "newer than the committed position 8" in store.skipped[0]
    assert store.newest(4, "id") is None


@pytest.mark.parametrize("harm", ["torn", "flipped", "empty", "other"])
def test_a_damaged_one_is_skipped_for_the_one_before(store: Snapshots, tmp_path: Path, harm: str) -> None:
    newest = files(tmp_path)[-1]
    data = newest.read_bytes()
    flipped = data[:30] + bytes([data[30] ^ 1]) + data[31:]
    damaged = {"torn": data[:-40], "flipped": flipped, "empty": b"", "other": b"x" * 99}
    newest.write_bytes(damaged[harm])
    found = store.newest(9, "id")
    assert found is not None
    assert found.position == 5
    assert len(store.skipped) == 1


def test_every_shortening_is_noticed(store: Snapshots, tmp_path: Path) -> None:
    newest = files(tmp_path)[-1]
    data = newest.read_bytes()
    for length in range(len(data)):
        newest.write_bytes(data[:length])
        found = store.newest(9, "id")
        assert found is not None
        assert found.position == 5


def test_the_newest_two_are_kept_and_nothing_half_written_is_taken_for_one(store: Snapshots, tmp_path: Path) -> None:
    store.write(snapshot(12))
    (tmp_path / "snapshots" / "00000000000000000099.77.tmp").write_bytes(b"half")
    found = store.newest(100, "id")
    assert found is not None
    assert found.position == 12
    assert [path.name for path in files(tmp_path) if path.suffix == ".snapshot"] == [
        "00000000000000000009.snapshot",
        "00000000000000000012.snapshot",
    ]


def test_no_directory_is_no_snapshot(tmp_path: Path) -> None:
    assert Snapshots(tmp_path / "nowhere").newest(10, "id") is None


def test_those_of_a_topic_that_is_gone_do_not_displace_new_ones(store: Snapshots, tmp_path: Path) -> None:
    store.write(snapshot(2))
    assert [path.name for path in files(tmp_path)] == ["00000000000000000002.snapshot"]
    store.write(snapshot(3))
    store.write(snapshot(4))
    found = store.newest(4, "id")
    assert found is not None
    assert found.position == 4
    assert len(files(tmp_path)) == 2


def test_nothing_stays_of_what_could_not_be_written(
    store: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where the disk is full, nor where the process was killed while it wrote."""
    before = files(tmp_path)

    def full(path: Path, content: Snapshot) -> None:
        path.write_bytes(b"the first part")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(snapshots, "_write", full)
        with pytest.raises(OSError, match="No space left"):
            store.write(snapshot(12))
    assert files(tmp_path) == before
    (tmp_path / "snapshots" / f"{11:020d}.7.tmp").write_bytes(b"of a process that was killed")
    store.write(snapshot(13))
    assert [path.name for path in files(tmp_path)] == [f"{position:020d}.snapshot" for position in (9, 13)]
