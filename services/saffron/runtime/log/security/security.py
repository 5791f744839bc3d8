"""Encryption and authentication settings of a cluster, for librdkafka. `java_security` has them for Java's clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from saffron.errors import SettingsError
from saffron.runtime.log.client_settings import read_client_settings
from saffron.runtime.process.config import SCRAM_512, Settings

OAUTH = "OAUTHBEARER"
_IDENTITY = ("ssl.", "sasl.", "enable.ssl.", "enable.sasl.", "https.")
"""Prefixes of librdkafka's settings without which a client is not let in."""


@dataclass(frozen=True)
class Security:
    """The security settings. `protocol`: Kafka's name in lower case. `ca`: certificate file; "": the system's.

    `certificate`, `key`: PEM files of the client; "": it has none. `more`: librdkafka's own settings, given as such.
    """

    protocol: str = "plaintext"
    ca: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    password_mechanism: str = SCRAM_512
    certificate: str = ""
    key: str = ""
    key_password: str = field(default="", repr=False)
    more: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def encrypted(self) -> bool:
        return self.protocol.endswith("ssl")

    @property
    def named(self) -> bool:
        """True if clients authenticate by SASL."""
        return self.protocol.startswith("sasl")

    @property
    def mechanism(self) -> str:
        """The SASL mechanism, in Kafka's spelling: one among `more`, else that of name and password."""
        own = self.more.get("sasl.mechanism") or self.more.get("sasl.mechanisms")
        return (own or self.password_mechanism).upper()

    @property
    def by_password(self) -> bool:
        """True if user name and password authenticate."""
        return self.named and self.mechanism == self.password_mechanism

    @property
    def by_oidc(self) -> bool:
        """True if an identity provider's token authenticates."""
        return self.named and self.mechanism == OAUTH and self.more.get("sasl.oauthbearer.method") == "oidc"

    @property
    def principal(self) -> str:
        """The user of an unsecured token, which only test brokers take."""
        return dict(pairs_of(self.more.get("sasl.oauthbearer.config", ""), " ")).get("principal", "")

    @property
    def extensions(self) -> Mapping[str, str]:
        """The SASL extensions of a token (Confluent Cloud: logicalCluster, identityPoolId)."""
        return dict(pairs_of(self.more.get("sasl.oauthbearer.extensions", ""), ","))

    @property
    def identity(self) -> Mapping[str, str]:
        """The settings of `more` that a client needs to be let in; the others only tune librdkafka."""
        return {name: value for name, value in self.more.items() if name.startswith(_IDENTITY)}

    def for_librdkafka(self) -> Mapping[str, str]:
        """Settings of confluent-kafka's clients, without `more`."""
        found = {"security.protocol": self.protocol}
        if self.encrypted and self.ca:
            found |= {"ssl.ca.location": self.ca}
        if self.encrypted and self.certificate:
            found |= {"ssl.certificate.location": self.certificate, "ssl.key.location": self.key}
            found |= {"ssl.key.password": self.key_password} if self.key_password else {}
        if self.by_password:
            found |= {"sasl.mechanism": self.mechanism, "sasl.username": self.username}
            found |= {"sasl.password": self.password}
        return found


def pairs_of(text: str, apart: str) -> Iterator[tuple[str, str]]:
    """NAME=VALUE pairs of a text."""
    for part in text.split(apart):
        name, equals, value = part.strip().partition("=")
        if equals:
            yield name, value


def security_of(settings: Settings) -> Security:
    """The security of the settings. SettingsError: user name, password or a file is missing, or is of no use."""
    found = Security(
        protocol=settings.security,
        ca=settings.ca,
        username=settings.username,
        password=settings.password,
        password_mechanism=settings.mechanism,
        certificate=settings.certificate,
        key=settings.certificate_key or settings.certificate,
        key_password=settings.certificate_key_password,
        more=MappingProxyType(dict(read_client_settings(settings.kafka))),
    )
    if found.by_password and not (found.username and found.password):
        raise SettingsError(
            f"security is {found.protocol!r}: it needs a name and a password (SAFFRON_USERNAME, SAFFRON_PASSWORD)"
        )
    if settings.certificate_key and not found.certificate:
        raise SettingsError(
            "setting 'certificate_key' is set without a certificate: SAFFRON_CERTIFICATE names its file"
        )
    if found.certificate and not found.encrypted:
        raise SettingsError(
            f"security is {found.protocol!r}, and a client's certificate needs TLS: SAFFRON_SECURITY is ssl or sasl_ssl"
        )
    if found.encrypted:
        _require_file("ca", found.ca, "a certificate (PEM)")
        _require_file("certificate", found.certificate, "the client's certificate (PEM)")
        _require_file("certificate_key", settings.certificate_key, "the client's private key (PEM)")
    return found


def _require_file(name: str, path: str, what: str) -> None:
    """SettingsError: the file is missing. A text that is no path is not shown: it may be the key itself."""
    if path and not _is_file(path):
        shown = repr(path) if path.isprintable() and "BEGIN " not in path else "no path"
        raise SettingsError(f"setting {name!r} is {shown}: there is no such file; SAFFRON_{name.upper()} names {what}")


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
