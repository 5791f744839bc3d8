"""What each client is told of TLS and SCRAM, and that no secret is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from saffron.cli.system.launch import prepare
from saffron.errors import SettingsError
from saffron.runtime.log import kafka_settings
from saffron.runtime.log.security import Security, security_of
from saffron.runtime.process.config import Settings

NAMED = Security("sasl_ssl", "/ca.crt", "saffron-matcher", 'a "b\\')


def test_nothing_is_asked_of_a_broker_without_security() -> None:
    assert security_of(Settings()) == Security()
    assert Security().for_librdkafka() == {"security.protocol": "plaintext"}
    assert Security().for_java() == {"security.protocol": "PLAINTEXT"}


def test_each_client_has_it_in_its_own_words() -> None:
    assert kafka_settings.base(kafka_settings.Cluster("b:1", security=NAMED), "c").items() >= {
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": "/ca.crt",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "saffron-matcher",
        "sasl.password": 'a "b\\',
    }.items()  # fmt: skip
    java = NAMED.for_java()
    assert (java["security.protocol"], java["ssl.truststore.location"]) == ("SASL_SSL", "/ca.crt")
    assert java["sasl.jaas.config"].endswith(r'username="saffron-matcher" password="a \"b\\";')


def test_every_client_of_the_settings_has_it() -> None:
    """No client is set up past these functions (the event producer of `produce` once was)."""
    asked = NAMED.for_librdkafka().items()
    cluster = kafka_settings.Cluster("b:1", security=NAMED)
    for told in (
        kafka_settings.consumer(cluster, "g", "c", committed_only=True),
        kafka_settings.producer(cluster, "c", "t", bulk=True),
        kafka_settings.event_producer(cluster, throughput=True),
    ):
        assert told.items() >= asked


def test_no_client_is_made_past_the_settings() -> None:
    """Where the brokers are is told to a client in `kafka_settings`, and for the embedded broker."""
    package = Path(kafka_settings.__file__).parents[2]
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if '"bootstrap.servers":' in path.read_text("utf-8")
    }
    assert found == {"runtime/log/kafka_settings.py", "runtime/local/broker.py"}


def test_the_embedded_broker_is_not_started_for_clients_that_want_tls(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="speaks plaintext: name your own broker with --brokers"):
        prepare(replace(Settings(), data=tmp_path, security="ssl"), ["windowing"])


def test_a_name_without_a_password_is_refused() -> None:
    with pytest.raises(SettingsError, match="SAFFRON_PASSWORD"):
        security_of(replace(Settings(), security="sasl_ssl", username="saffron-matcher"))


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr((Security(password="hidden"), Settings(password="hidden", token="hidden")))
