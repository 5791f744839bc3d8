"""The check of TLS and SASL: the protocol of the listener beside that of the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from saffron.cli.finding import Finding, error
from saffron.runtime.log.inspect import RefusedError
from saffron.runtime.log.listener import Listener, probe
from saffron.runtime.log.security.security import Security, security_of
from saffron.runtime.process.config import Settings


def check_listener(
    settings: Settings, failure: Exception, ask: Callable[[str, int, Security], Listener] = probe
) -> Iterator[Finding]:
    """Findings when no broker answers: each address is probed for its protocol."""
    found = list(_addresses(settings, ask))
    if isinstance(failure, RefusedError) and not any(one.check == "security" for one in found):
        found = [_refused(settings, security_of(settings), failure)]
    yield from found
    if not found:
        fix = "its advertised.listeners must be addresses that are reached from here; see the broker's log"
        yield error("broker", f"it speaks, but a client gets no metadata: {failure}", settings.bootstrap, fix)


def _refused(settings: Settings, security: Security, failure: RefusedError) -> Finding:
    """The finding on a listener whose protocol matches ours, but which refuses our identity."""
    if not security.by_password:
        fix = "see the sasl.* settings in SAFFRON_KAFKA, and the broker's log"
        return error("security", f"{security.mechanism} is refused: {failure}", settings.bootstrap, fix)
    fix = f"set SAFFRON_USERNAME and SAFFRON_PASSWORD to those of a Kafka user with {security.mechanism}"
    return error("security", f"wrong name or password for {settings.username!r}", settings.bootstrap, fix)


def _addresses(settings: Settings, ask: Callable[[str, int, Security], Listener]) -> Iterator[Finding]:
    security = security_of(settings)
    for address in settings.bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdigit():
            yield error("broker", f"{address!r} is no HOST:PORT", "setting bootstrap", "--brokers kafka-1:9092,...")
        else:
            yield from _judged(security, address, ask(host, int(port), security))


def _judged(security: Security, address: str, there: Listener) -> Iterator[Finding]:
    """At most one finding: the first reason why our settings and the listener at `address` do not fit.

    `there`: the result of the probe.
    """
    if there.found == "silent":
        fix = "start it (saffron up), or name another with --brokers; is the port right?"
        yield error("broker", f"nothing answers: {there.why}", address, fix)
    elif there.found == "else":
        yield error("broker", "what listens there is no Kafka", address, "name Kafka's port with --brokers")
    elif there.protocol != security.protocol and not there.refused:
        speaks = {False: "in the clear", True: "TLS"}[there.encrypted] + (" and wants a name" if there.named else "")
        fix = f"SAFFRON_SECURITY={there.protocol}{_and(there)}"
        yield error("security", f"the listener speaks {speaks}, we are set to {security.protocol}", address, fix)
    elif there.refused and not (security.encrypted and security.certificate):
        fix = f"SAFFRON_SECURITY={_tls(security)} SAFFRON_CERTIFICATE=FILE SAFFRON_CERTIFICATE_KEY=FILE{_ca(security)}"
        yield error("security", f"the listener wants a client's certificate ({there.refused})", address, fix)
    elif there.untrusted:
        fix = "SAFFRON_CA names the file (PEM) with the certificate of the authority that signed the brokers'"
        yield error("security", f"the listener's certificate is not believed: {there.untrusted}", address, fix)
    elif there.refused:
        fix = "SAFFRON_CERTIFICATE must be one that an authority has signed which the brokers trust"
        yield error("security", f"the listener does not believe our certificate ({there.refused})", address, fix)
    elif there.mechanisms and security.mechanism not in there.mechanisms:
        taken = " or ".join(there.mechanisms)
        fix = "SAFFRON_MECHANISM=..., or for one without a password sasl.mechanism in SAFFRON_KAFKA"
        yield error("security", f"the listener takes {taken}, we are set to {security.mechanism}", address, fix)


def _and(there: Listener) -> str:
    more = [" SAFFRON_CA=FILE"] if there.encrypted else []
    return "".join([*more, *([" SAFFRON_USERNAME=NAME SAFFRON_PASSWORD=..."] if there.named else [])])


def _tls(security: Security) -> str:
    return "sasl_ssl" if security.named else "ssl"


def _ca(security: Security) -> str:
    return "" if security.ca else " SAFFRON_CA=FILE"
