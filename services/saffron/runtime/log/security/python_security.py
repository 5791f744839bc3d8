"""The security settings for clients in Python itself: aiokafka's, under Faust, and the doctor's probe."""

from __future__ import annotations

import ssl

from saffron.errors import SettingsError
from saffron.runtime.log.security.java_security import COMMON, MECHANISMS
from saffron.runtime.log.security.security import Security

_VERIFY, _HTTPS_CA = "enable.ssl.certificate.verification", "https.ca.location"
_ONLY_HERE = frozenset({_VERIFY, _HTTPS_CA})


def python_obstacles(security: Security) -> list[str]:
    """Why aiokafka would not be let in, as sentences; none where it would."""
    known = COMMON | _ONLY_HERE
    found = [f"aiokafka has nothing like {name}" for name in security.identity if name not in known]
    if security.named and security.mechanism not in MECHANISMS:
        found.append(f"{security.mechanism} is not set up for aiokafka")
    return found


def tls_context(security: Security) -> ssl.SSLContext:
    """The context of encrypted connections. SettingsError: a file of it has no such certificate or key."""
    try:
        context = ssl.create_default_context(cafile=security.ca or None)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"setting 'ca' is {security.ca!r}: no certificates can be read from it ({error})") from None
    if security.more.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    if security.more.get(_VERIFY) == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if security.certificate:
        load_certificate(context, security)
    return context


def load_certificate(context: ssl.SSLContext, security: Security) -> None:
    """Gives a context the client's certificate. SettingsError: it, its key or the password is not right."""
    try:
        context.load_cert_chain(security.certificate, security.key, lambda: security.key_password)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise SettingsError(
            f"setting 'certificate' is {security.certificate!r}: with its key in {security.key!r} it cannot be used"
            f" ({getattr(error, 'reason', None) or error}); is SAFFRON_CERTIFICATE_KEY_PASSWORD right?"
        ) from None
