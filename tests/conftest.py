"""Fixtures shared by all tests: one real broker for the tests that need it."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from saffron.runtime.local.broker import Broker

_REAL = frozenset({"broker", "broker_node"})
_HOMES = ("tests/contracts/", "tests/e2e/")
"""Where tests on the real broker live: `make test` looks for them nowhere else."""
_FIRST = (
    "command/test_cli",
    "broker/test_recovery",
    "command/test_contained",
    "broker/test_faults",
    "command/test_demo",
    "command/test_ingest_page",
    "command/test_readme",
    "broker/test_model_builder",
    "cluster/test_image",
    "cluster/test_k8s",
)
"""Their files that take longest begin first, so that no worker is left alone with one of them."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_NO_BROWSER = "browser: none found, so the live page is not tested in one (install chromium, or set SAFFRON_BROWSER)"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="Many more random queries (make nightly).")


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis draws the same cases each time but at night, and does not judge by the speed of the machine. Ctrl-C: a
    shell's background jobs, and all that they start, ignore it, and the tests that press it need it back.
    """
    by_day = not config.getoption("--nightly")
    settings.register_profile("here", derandomize=by_day, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("here")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What stays until the end, half a million objects, is no longer looked through for garbage; the rest more seldom:
    that was a twentieth of the tests' time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """No test is left out without a word."""
    if find_browser() is None:
        terminalreporter.write_line(_NO_BROWSER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests on the real broker are marked, so that they can be run apart, the longest first. Those in a browser are
    deselected where there is none."""
    if find_browser() is None:
        left_out = [item for item in items if "chromium" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
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
    name = f"{item.path.parent.name}/{item.path.stem}"
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


def find_browser() -> str | None:
    """SAFFRON_BROWSER, else a Chromium on the PATH; None: there is none."""
    named = os.environ.get("SAFFRON_BROWSER")
    return named or next((found for name in _BROWSERS if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program; tests that ask for it are deselected where there is none."""
    found = find_browser()
    assert found is not None
    return found


@pytest.fixture
def prefix() -> str:
    """A topic prefix that no other test uses."""
    return f"t{uuid.uuid4().hex[:12]}."
