"""The security settings for Kafka's Java clients (Spark's), which have other names and forms than librdkafka's."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

from saffron.errors import SettingsError
from saffron.runtime.log.security.security import OAUTH, Security

_PACKAGE = "org.apache.kafka.common.security"
_LOGIN_MODULES = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule",
    OAUTH: f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
}
_OIDC_HANDLER = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginCallbackHandler"
_HOST_CHECK, _TOKENS_FROM = "ssl.endpoint.identification.algorithm", "sasl.oauthbearer.token.endpoint.url"
"""Settings of the same name and value in Java, but for a check by `none`."""
_IN_LOGIN = {
    "sasl.oauthbearer.client.id": "clientId",
    "sasl.oauthbearer.client.secret": "clientSecret",
    "sasl.oauthbearer.scope": "scope",
}
BEARER = frozenset(
    {
        *_IN_LOGIN,
        _TOKENS_FROM,
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.config",
        "enable.sasl.oauthbearer.unsecure.jwt",
    }
)
"""Librdkafka's settings of tokens that every client is given."""
MECHANISMS = frozenset(_LOGIN_MODULES)
COMMON = frozenset({"sasl.mechanism", "sasl.mechanisms", _HOST_CHECK, *BEARER})
"""Librdkafka's settings of identity that every client is given in its own form."""
_PBES2 = bytes.fromhex("06092a864886f70d01050d")
"""The identifier, in an encrypted key, of the scheme that Java's clients do not know (openssl's own choice)."""
_JAVA_KEY = "openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES"


def java_obstacles(security: Security) -> list[str]:
    """Why a Java client would not be let in, as sentences; none where it would."""
    found = [f"Java's clients have nothing like {name}" for name in security.identity if name not in COMMON]
    if security.named and security.mechanism not in MECHANISMS:
        found.append(f"{security.mechanism} is not set up for Java's clients")
    if security.encrypted and security.certificate and not _is_java_key(_text(security.key)):
        found.append(f"the key in {security.key} is in a form that Java's clients cannot read ({_JAVA_KEY} makes one)")
    return found


def java_settings(security: Security) -> Mapping[str, str]:
    """Settings of Kafka's Java clients. SettingsError: they cannot be given what librdkafka's are."""
    if obstacles := java_obstacles(security):
        raise SettingsError(f"Spark's client of Kafka (model-builder) would not be let in: {obstacles[0]}")
    return {"security.protocol": security.protocol.upper(), **dict(_tls(security)), **dict(_sasl(security))}


def _tls(security: Security) -> Iterator[tuple[str, str]]:
    """Java's settings of encryption; none without encryption. A host check of `none` becomes an empty value.

    Java gets the file of the authority by its path, but certificate and key as PEM text.
    """
    if not security.encrypted:
        return
    if security.ca:
        yield "ssl.truststore.type", "PEM"
        yield "ssl.truststore.location", security.ca
    if security.certificate:
        yield "ssl.keystore.type", "PEM"
        yield "ssl.keystore.certificate.chain", _blocks(_text(security.certificate), "CERTIFICATE")
        yield "ssl.keystore.key", _blocks(_text(security.key), "PRIVATE KEY")
        if security.key_password:
            yield "ssl.key.password", security.key_password
    if _HOST_CHECK in security.more:
        check = security.more[_HOST_CHECK]
        yield _HOST_CHECK, "" if check == "none" else check


def _sasl(security: Security) -> Iterator[tuple[str, str]]:
    if not security.named:
        return
    options = "".join(f" {name}={_quoted(value)}" for name, value in _login(security))
    yield "sasl.mechanism", security.mechanism
    yield "sasl.jaas.config", f"{_LOGIN_MODULES[security.mechanism]} required{options};"
    if security.by_oidc:
        yield "sasl.login.callback.handler.class", _OIDC_HANDLER
        yield _TOKENS_FROM, security.more.get(_TOKENS_FROM, "")


def _login(security: Security) -> Iterator[tuple[str, str]]:
    """Options of the login module."""
    if security.by_password:
        yield "username", security.username
        yield "password", security.password
    elif security.by_oidc:
        for name, option in _IN_LOGIN.items():
            if name in security.more:
                yield option, security.more[name]
        for name, value in security.extensions.items():
            yield f"extension_{name}", value
    else:
        yield "unsecuredLoginStringClaim_sub", security.principal


def _blocks(text: str, what: str) -> str:
    """The PEM blocks of a kind in a text, which may have others and comments around them."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = inside or (line.startswith("-----BEGIN ") and line.rstrip("-").endswith(what))
        if inside:
            lines.append(line)
        inside = inside and not line.startswith("-----END ")
    return "\n".join(lines)


def _is_java_key(text: str) -> bool:
    """True if Java's clients can read the private key in a PEM text: PKCS #8, in the clear or by an old scheme."""
    label, *lines = _blocks(text, "PRIVATE KEY").splitlines() or [""]
    if label == "-----BEGIN PRIVATE KEY-----":
        return True
    try:
        return "ENCRYPTED" in label and _PBES2 not in base64.b64decode("".join(lines[:-1]))
    except ValueError:
        return False


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
