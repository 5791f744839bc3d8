"""Ports for what listens: different ones, free, and none that a connection going out may be given meanwhile."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from saffron.errors import SaffronError
from saffron.runtime.local import ports


def test_ports_differ_and_are_free() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    for port in found:
        with socket.socket() as one:
            one.bind(("127.0.0.1", port))


def test_no_port_is_one_that_the_system_gives_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that goes out took the control API's port between its choice and the start of the service."""
    given = tmp_path / "range"
    given.write_text("12000\t60999\n")
    monkeypatch.setattr(ports, "_OUTGOING", given)
    assert all(10_000 <= port < 12_000 for port in ports.free_ports(50))


@pytest.mark.parametrize("text", ["1024 65535\n", "", None])
def test_a_range_that_leaves_nothing_or_is_not_told_is_taken_to_begin_as_on_most_systems(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "range"
    if text is not None:
        given.write_text(text)
    monkeypatch.setattr(ports, "_OUTGOING", given)
    assert all(10_000 <= port < 32_768 for port in ports.free_ports(50))


def test_a_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    (taken, other) = ports.free_ports(2)
    offered = iter([taken, other])

    class Chance:
        def randrange(self, low: int, high: int) -> int:
            return next(offered)

    monkeypatch.setattr("random.Random", Chance)
    with socket.socket() as one:
        one.bind(("127.0.0.1", taken))
        assert ports.free_ports(1) == [other]


def test_a_machine_without_free_ports_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_TRIES", 0)
    with pytest.raises(SaffronError, match=r"hardly a port of 127\.0\.0\.1 from 10000 to \d+ is free"):
        ports.free_ports(1)
