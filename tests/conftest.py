"""Fixtures shared by all tests: one real broker for the tests that need it."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings

from saffron.runtime.broker import Broker

_REAL = frozenset({"broker", "broker_node"})
_HOMES = ("tests/contracts/", "tests/e2e/")
"""Where tests on the real broker live: `make test` looks for them nowhere else."""
_FIRST = ("test_cli", "test_recovery_broker", "test_demo", "test_readme", "test_model_builder")
"""Their files that take longest begin first, so that no worker is left alone with one of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="Many more random queries (make nightly).")


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws the same cases each time but at night. Ctrl-C: a shell's background jobs, and all that they
    start, ignore it, and the tests that press it need it back.
    """
    settings.register_profile("day", derandomize=True)
    if not config.getoption("--nightly"):
        settings.load_profile("day")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on the real broker are marked, so that they can be run apart, the longest first."""
    for item in items:
        if _REAL & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.kafka)
        if item.get_closest_marker("kafka") is not None and not item.nodeid.startswith(_HOMES):
            raise pytest.UsageError(f"{item.nodeid} needs the broker: put it under {' or '.join(_HOMES)}")
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Where a test stands among the others: those without a broker first, in the order that they have."""
    if item.get_closest_marker("kafka") is None:
        return -1
    name = item.path.stem
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


@pytest.fixture(scope="session")
def broker_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The session's broker itself, for tests that stop, kill or restart it (they leave it running)."""
    node = Broker(tmp_path_factory.mktemp("broker"))
    node.start()
    yield node
    node.stop()


@pytest.fixture(scope="session")
def broker(broker_node: Broker) -> str:
    """Bootstrap address of a real Kafka broker, shared by the session: use topics under a `prefix` of your own."""
    return broker_node.bootstrap


@pytest.fixture
def prefix() -> str:
    """A topic prefix that no other test uses."""
    return f"t{uuid.uuid4().hex[:12]}."
