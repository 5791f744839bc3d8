"""Encryption and authentication settings of a cluster, for librdkafka, aiokafka and Java alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from saffron.errors import SettingsError
from saffron.runtime.process.config import Settings

MECHANISM = "SCRAM-SHA-512"


@dataclass(frozen=True)
class Security:
    """The security settings. `protocol`: Kafka's name in lower case. `ca`: certificate file; "": the system's."""

    protocol: str = "plaintext"
    ca: str = ""
    username: str = ""
    password: str = field(default="", repr=False)

    @property
    def encrypted(self) -> bool:
        return self.protocol.endswith("ssl")

    @property
    def named(self) -> bool:
        """Whether clients authenticate."""
        return self.protocol.startswith("sasl")

    def for_librdkafka(self) -> Mapping[str, str]:
        """Settings of confluent-kafka's clients."""
        found = {"security.protocol": self.protocol}
        if self.encrypted and self.ca:
            found |= {"ssl.ca.location": self.ca}
        if self.named:
            found |= {"sasl.mechanism": MECHANISM, "sasl.username": self.username, "sasl.password": self.password}
        return found

    def for_java(self) -> Mapping[str, str]:
        """Settings of Kafka's Java clients."""
        found = {"security.protocol": self.protocol.upper()}
        if self.encrypted and self.ca:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca}
        if self.named:
            login = f"username={_quoted(self.username)} password={_quoted(self.password)};"
            module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
            found |= {"sasl.mechanism": MECHANISM, "sasl.jaas.config": f"{module} {login}"}
        return found


def security_of(settings: Settings) -> Security:
    """The security of the settings. SettingsError: user name, password or certificate file is missing."""
    found = Security(settings.security, settings.ca, settings.username, settings.password)
    if found.named and not (found.username and found.password):
        raise SettingsError(
            f"security is {found.protocol!r}: it needs a name and a password (SAFFRON_USERNAME, SAFFRON_PASSWORD)"
        )
    if found.encrypted and found.ca and not Path(found.ca).is_file():
        raise SettingsError(
            f"setting 'ca' is {found.ca!r}: there is no such file; SAFFRON_CA names a certificate (PEM)"
        )
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
