"""Health over HTTP: liveness is progress, readiness is what is still waited for."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from saffron.cli.system.scrape import page
from saffron.errors import SettingsError
from saffron.runtime.telemetry.health import Health, HealthServer, _Handler
from saffron.runtime.telemetry.metric_names import COMPLEX_EVENTS
from saffron.runtime.telemetry.metrics import Metrics


class Clock:
    """Time as the test wants it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health("matcher", clock)


@pytest.fixture
def server(health: Health) -> Iterator[HealthServer]:
    metrics = Metrics()
    metrics.add(COMPLEX_EVENTS, 3, "rally")
    one = HealthServer(health, metrics, "127.0.0.1", 0)
    yield one
    one.close()


def get(server: HealthServer, path: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_ready_when_nothing_is_waited_for(health: Health, server: HealthServer) -> None:
    health.waiting("models", "reading the newest model")
    health.done("start")
    code, body = get(server, "/readyz")
    assert (code, json.loads(body)["waiting"]) == (503, {"models": "reading the newest model"})
    health.done("models")
    assert get(server, "/readyz")[0] == 200


def test_a_loop_that_hangs_is_dead_and_not_ready(health: Health, server: HealthServer, clock: Clock) -> None:
    health.done("start")
    clock.now += 29
    assert get(server, "/healthz")[0] == 200
    clock.now += 2
    assert [get(server, path)[0] for path in ("/healthz", "/readyz", "/status")] == [503, 503, 200]
    health.beat()
    assert get(server, "/healthz")[0] == 200


def test_details_are_shown(health: Health, server: HealthServer) -> None:
    health.detail("model", [1, 2])
    assert json.loads(get(server, "/status")[1])["model"] == [1, 2]


def test_metrics_and_unknown_pages(server: HealthServer) -> None:
    code, body = get(server, "/metrics")
    assert code == 200
    assert b'saffron_complex_events_total{query="rally"} 3.0' in body
    assert get(server, "/x")[0] == 404


def test_a_taken_port_is_an_error_with_its_place(server: HealthServer, health: Health) -> None:
    with pytest.raises(SettingsError, match=rf"metrics cannot be served at 127\.0\.0\.1:{server.port}"):
        HealthServer(health, Metrics(), "127.0.0.1", server.port)


def test_who_does_not_wait_for_the_answer_is_no_error(server: HealthServer, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port)) as asker:
            asker.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closed at once
            asker.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    assert get(server, "/healthz")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_silent_client_keeps_no_thread(
    server: HealthServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _Handler.timeout is not None, "a silent connection keeps its thread for ever"
    monkeypatch.setattr(_Handler, "timeout", _Handler.timeout / 1000)
    for sent in (b"", b"GET /healthz"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as asker:
            asker.sendall(sent)
            assert asker.recv(1) == b"", "it is closed without an answer"
    assert capfd.readouterr().err == ""


def has_ipv6() -> bool:
    """True if this machine has the address ::1."""
    with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_services_listen_on_ipv6_too(health: Health) -> None:
    metrics = Metrics()
    metrics.add(COMPLEX_EVENTS, 3, "rally")
    server = HealthServer(health, metrics, "::1", 0)
    try:
        assert page(("::1", server.port)).series("saffron_complex_events_total") == [({"query": "rally"}, 3.0)]
    finally:
        server.close()
