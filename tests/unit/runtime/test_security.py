"""What each client is told of TLS and SCRAM, and that no secret is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.errors import SettingsError
from saffron.runtime import kafka_settings
from saffron.runtime.config import Settings
from saffron.runtime.security import Security, security_of

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


def test_a_name_without_a_password_is_refused() -> None:
    with pytest.raises(SettingsError, match="SAFFRON_PASSWORD"):
        security_of(replace(Settings(), security="sasl_ssl", username="saffron-matcher"))


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr((Security(password="hidden"), Settings(password="hidden", token="hidden")))
