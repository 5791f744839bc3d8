"""What each client is told of TLS and SASL, what users may set themselves, and that no secret is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import confluent_kafka as ck
import pytest

from saffron.cli.system.launch import prepare
from saffron.errors import SettingsError
from saffron.runtime.log.client_settings import read_client_settings
from saffron.runtime.log.kafka import librdkafka_settings
from saffron.runtime.log.security.java_security import java_obstacles, java_settings
from saffron.runtime.log.security.python_security import python_obstacles, tls_context
from saffron.runtime.log.security.security import Security, security_of
from saffron.runtime.process.config import Settings
from tests.e2e.broker.guarded import CERTIFICATES

NAMED = Security("sasl_ssl", "/ca.crt", "saffron-matcher", 'a "b\\')
OIDC = (
    "sasl.mechanism=OAUTHBEARER,sasl.oauthbearer.method=oidc,sasl.oauthbearer.client.id=me,"
    'sasl.oauthbearer.client.secret=s"cret,sasl.oauthbearer.scope=kafka,'
    "sasl.oauthbearer.token.endpoint.url=https://login.example/token"
)
BEARER = Settings(security="sasl_ssl", kafka=OIDC)
CERTIFIED = Settings(
    security="ssl",
    ca=str(CERTIFICATES / "authority.pem"),
    certificate=str(CERTIFICATES / "client.pem"),
    certificate_key=str(CERTIFICATES / "client_key.pem"),
    certificate_key_password="right",
)


def test_nothing_is_asked_of_a_broker_without_security() -> None:
    assert security_of(Settings()) == Security()
    assert Security().for_librdkafka() == {"security.protocol": "plaintext"}
    assert java_settings(Security()) == {"security.protocol": "PLAINTEXT"}


def test_each_client_has_it_in_its_own_words() -> None:
    assert librdkafka_settings.base(librdkafka_settings.Cluster("b:1", security=NAMED), "c").items() >= {
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": "/ca.crt",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "saffron-matcher",
        "sasl.password": 'a "b\\',
    }.items()  # fmt: skip
    java = java_settings(NAMED)
    assert (java["security.protocol"], java["ssl.truststore.location"]) == ("SASL_SSL", "/ca.crt")
    assert java["sasl.jaas.config"].endswith(r'username="saffron-matcher" password="a \"b\\";')


@pytest.mark.parametrize(("mechanism", "module"), [("PLAIN", "Plain"), ("SCRAM-SHA-256", "Scram")])
def test_passwords_go_by_the_mechanism_of_the_settings(mechanism: str, module: str) -> None:
    found = security_of(Settings(security="sasl_plaintext", username="me", password="p", mechanism=mechanism))
    assert found.for_librdkafka()["sasl.mechanism"] == mechanism
    java = java_settings(found)
    assert (java["sasl.mechanism"], f"{module}LoginModule required" in java["sasl.jaas.config"]) == (mechanism, True)


def test_a_certificate_reaches_each_client() -> None:
    found = security_of(CERTIFIED)
    assert found.for_librdkafka().items() >= {
        "ssl.certificate.location": CERTIFIED.certificate,
        "ssl.key.location": CERTIFIED.certificate_key,
        "ssl.key.password": "right",
    }.items()  # fmt: skip
    java = java_settings(found)
    assert java["ssl.keystore.certificate.chain"].startswith("-----BEGIN CERTIFICATE-----")
    assert java["ssl.keystore.key"].startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert java["ssl.key.password"] == "right"
    assert tls_context(found).check_hostname
    ck.Producer(librdkafka_settings.base(librdkafka_settings.Cluster("127.0.0.1:1", security=found), "c"))


def test_certificate_and_key_may_be_one_file_for_every_client() -> None:
    both = str(CERTIFICATES / "server.pem")
    found = security_of(Settings(security="ssl", certificate=both))
    assert found.for_librdkafka()["ssl.key.location"] == both
    java = java_settings(found)
    assert java["ssl.keystore.key"].startswith("-----BEGIN PRIVATE KEY-----")
    assert java["ssl.keystore.certificate.chain"].startswith("-----BEGIN CERTIFICATE-----")
    assert "PRIVATE" not in java["ssl.keystore.certificate.chain"]
    tls_context(found)


def test_an_identity_provider_is_asked_by_each_client() -> None:
    found = security_of(BEARER)
    told = librdkafka_settings.consumer(
        librdkafka_settings.Cluster("b:1", security=found), "g", "c", committed_only=True
    )
    assert told["sasl.oauthbearer.client.secret"] == 's"cret'
    assert "sasl.username" not in told
    java = java_settings(found)
    assert java["sasl.oauthbearer.token.endpoint.url"] == "https://login.example/token"
    assert java["sasl.jaas.config"].endswith(r'required clientId="me" clientSecret="s\"cret" scope="kafka";')
    assert (java_obstacles(found), python_obstacles(found)) == ([], [])


def test_librdkafka_knows_what_is_passed_on() -> None:
    more = read_client_settings(OIDC + ",client.rack=a,socket.keepalive.enable=true")
    librdkafka_settings.client(ck.Producer, {"security.protocol": "sasl_ssl", **more}).poll(0)
    with pytest.raises(SettingsError, match=r"client\.rock"):
        librdkafka_settings.client(ck.Producer, read_client_settings("client.rock=a"))


def test_the_users_own_settings_come_last_for_every_client() -> None:
    cluster = librdkafka_settings.Cluster("b:1", security=Security(more={"fetch.wait.max.ms": "7", "linger.ms": "9"}))
    for told in (
        librdkafka_settings.base(cluster, "c"),
        librdkafka_settings.consumer(cluster, "g", "c", committed_only=True, lazy=True),
        librdkafka_settings.producer(cluster, "c", "t", bulk=True),
        librdkafka_settings.event_producer(cluster, throughput=True),
    ):
        assert told.items() >= cluster.security.more.items()


def test_settings_come_from_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# ours\n\nclient.rack = a\nsasl.oauthbearer.extensions=a=b,c=d\n", "utf-8")
    assert read_client_settings(str(path)) == {"client.rack": "a", "sasl.oauthbearer.extensions": "a=b,c=d"}
    assert read_client_settings("") == read_client_settings("  ") == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("enable.idempotence=false", "no message is lost"),
        ("acks=1", "no message is lost"),
        ("transactional.id=x", "a predecessor is fenced"),
        ("isolation.level=read_uncommitted", "only what is committed"),
        ("enable.auto.commit=true", "committed with the results"),
        ("enable.auto.offset.store=true", "committed with the results"),
        ("auto.offset.reset=latest", "never skipped"),
        ("group.id=x", "each service has its own"),
        ("partitioner=random", "murmur2"),
        ("bootstrap.servers=b:1", "the setting bootstrap says it"),
        ("sasl.mechanism=PLAIN", "the setting mechanism says it"),
        ("sasl.password=hidden", "the setting password says it"),
        ("sasl.jaas.config=hidden", "the setting username, password and mechanism says it"),
        ("ssl.key.pem=hidden", "the setting certificate_key says it"),
        ("client.rack=a,client.rack=b", "client.rack twice"),
        ("client.rack=a,hidden", "part 2 is no NAME=VALUE: a value with commas stands in a file"),
        ("/no/such/file", "cannot be read"),
    ],
)
def test_what_would_break_our_ways_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as refused:
        security_of(Settings(kafka=text))
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "java", "python"),
    [
        ("sasl.mechanism=GSSAPI", "GSSAPI is not set up", "GSSAPI is not set up"),
        ("ssl.keystore.location=/a.p12", "nothing like ssl.keystore.location", "nothing like ssl.keystore.location"),
        ("enable.ssl.certificate.verification=false", "nothing like enable.ssl", ""),
        ("ssl.endpoint.identification.algorithm=none", "", ""),
        ("socket.keepalive.enable=true", "", ""),
    ],
)
def test_a_client_that_cannot_be_given_it_is_named(more: str, java: str, python: str) -> None:
    found = security_of(Settings(security="sasl_ssl", username="me", password="p", kafka=more))
    assert java in "".join(java_obstacles(found))
    assert bool(java) == bool(java_obstacles(found))
    assert python in "".join(python_obstacles(found))
    assert bool(python) == bool(python_obstacles(found))
    if java:
        with pytest.raises(SettingsError, match="model-builder"):
            java_settings(found)


def test_a_key_that_java_cannot_read_is_named(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", "utf-8")
    (why,) = java_obstacles(security_of(replace(CERTIFIED, certificate_key=str(key))))
    assert "cannot read (openssl pkcs8 -topk8" in why


def test_every_client_of_the_settings_has_it() -> None:
    """No client is set up past these functions (the event producer of `produce` once was)."""
    asked = NAMED.for_librdkafka().items()
    cluster = librdkafka_settings.Cluster("b:1", security=NAMED)
    for told in (
        librdkafka_settings.consumer(cluster, "g", "c", committed_only=True),
        librdkafka_settings.producer(cluster, "c", "t", bulk=True),
        librdkafka_settings.event_producer(cluster, throughput=True),
    ):
        assert told.items() >= asked


def test_no_client_is_made_past_the_settings() -> None:
    """Where the brokers are is told to a client in `librdkafka_settings`, and for the embedded broker."""
    package = Path(librdkafka_settings.__file__).parents[3]
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if '"bootstrap.servers":' in path.read_text("utf-8")
    }
    assert found == {
        "runtime/log/client_settings.py",
        "runtime/log/kafka/librdkafka_settings.py",
        "runtime/local/broker.py",
    }


def test_the_embedded_broker_is_not_started_for_clients_that_want_tls(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="speaks plaintext: name your own broker with --brokers"):
        prepare(replace(Settings(), data=tmp_path, security="ssl"), ["windowing"])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (Settings(security="sasl_ssl", username="saffron-matcher"), "SAFFRON_PASSWORD"),
        (replace(CERTIFIED, security="plaintext"), "a client's certificate needs TLS"),
        (replace(CERTIFIED, certificate=""), "SAFFRON_CERTIFICATE names its file"),
        (replace(CERTIFIED, certificate="/none"), "'/none': there is no such file; SAFFRON_CERTIFICATE names"),
        (replace(CERTIFIED, certificate_key="-----BEGIN KEY-----\nhidden"), "is no path: there is no such file"),
    ],
)
def test_what_is_missing_is_named(settings: Settings, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as refused:
        security_of(settings)
    assert "hidden" not in str(refused.value)


def test_a_wrong_password_of_a_key_is_named_without_it() -> None:
    with pytest.raises(SettingsError, match="SAFFRON_CERTIFICATE_KEY_PASSWORD") as refused:
        tls_context(security_of(replace(CERTIFIED, certificate_key_password="hidden")))
    assert "hidden" not in str(refused.value)


def test_secrets_are_not_shown() -> None:
    found = Security(password="hidden", key_password="hidden", more={"sasl.oauthbearer.client.secret": "hidden"})
    settings = Settings(password="hidden", token="hidden", certificate_key_password="hidden", kafka="a=hidden")
    assert "hidden" not in repr((found, settings))
