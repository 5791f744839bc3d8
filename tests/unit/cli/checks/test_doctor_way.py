"""The doctor's way to Kafka: what the listener speaks beside what we do, name and password, the address."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace

import pytest

from saffron.cli.checks.cluster import listener
from saffron.cli.finding import ERROR
from saffron.errors import UnavailableError
from saffron.runtime.log.inspect import RefusedError
from saffron.runtime.log.listener import Listener, probe
from tests.unit.cli.checks.sound import (
    SETTINGS,
)


@pytest.mark.parametrize(
    ("there", "security", "what", "fix"),
    [
        (Listener("silent", why="refused"), "plaintext", "nothing answers: refused", "saffron up"),
        (Listener("else"), "plaintext", "what listens there is no Kafka", "--brokers"),
        (
            Listener("kafka", encrypted=True, named=True), "plaintext",
            "the listener speaks TLS and wants a name, we are set to plaintext",
            "SAFFRON_SECURITY=sasl_ssl SAFFRON_CA=FILE SAFFRON_USERNAME=NAME SAFFRON_PASSWORD=...",
        ),
        (Listener("kafka"), "ssl", "speaks in the clear, we are set to ssl", "SAFFRON_SECURITY=plaintext"),
        (
            Listener("kafka", encrypted=True, untrusted="self-signed certificate"), "ssl",
            "certificate is not believed: self-signed certificate", "SAFFRON_CA",
        ),
        (Listener("kafka"), "plaintext", "a client gets no metadata", "advertised.listeners"),
        (
            Listener("kafka", named=True, mechanisms=("PLAIN", "OAUTHBEARER")), "sasl_plaintext",
            "the listener takes PLAIN or OAUTHBEARER, we are set to SCRAM-SHA-512", "SAFFRON_MECHANISM",
        ),
        (
            Listener("kafka", encrypted=True, refused="CERTIFICATE_REQUIRED"), "ssl",
            "wants a client's certificate", "SAFFRON_CERTIFICATE=FILE SAFFRON_CERTIFICATE_KEY=FILE SAFFRON_CA=FILE",
        ),
    ],
)  # fmt: skip
def test_a_wrong_way_to_kafka_is_named(there: Listener, security: str, what: str, fix: str) -> None:
    mine = replace(SETTINGS, security=security, username="me", password="secret")
    (one,) = listener.check_listener(mine, UnavailableError("timed out"), lambda *_: there)
    assert (one.state, one.where) == (ERROR, "kafka:9092")
    assert what in one.what
    assert fix in one.fix


def test_a_wrong_password_and_a_wrong_address_are_named() -> None:
    me = replace(SETTINGS, security="sasl_plaintext", username="me", password="wrong")
    there = Listener("kafka", named=True, mechanisms=("SCRAM-SHA-512",))
    (one,) = listener.check_listener(me, RefusedError("no"), lambda *_: there)
    assert (one.what, "SAFFRON_PASSWORD" in one.fix) == ("wrong name or password for 'me'", True)
    (one,) = listener.check_listener(replace(SETTINGS, bootstrap="kafka"), UnavailableError("x"))
    assert one.what == "'kafka' is no HOST:PORT"


def test_what_closes_the_line_at_once_is_no_kafka() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def close() -> None:
            for _ in range(3):
                server.accept()[0].close()

        closing = threading.Thread(target=close)
        closing.start()
        assert probe("127.0.0.1", port) == Listener("else")
        closing.join()
    assert probe("127.0.0.1", port).found == "silent"
