"""What stands behind an address: nothing, Kafka in the clear, Kafka behind TLS, and whether it wants a name first.

Two requests of Kafka's protocol are enough. Every listener answers ApiVersions; one that wants a name closes the
connection at anything else before it has one.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from dataclasses import dataclass

_SECONDS = 3.0
_API_VERSIONS, _METADATA = 18, 3
_HEAD, _LARGEST = 4, 1 << 20
"""Bytes of an answer: its number at the least, and no more than a cluster's metadata take."""
_METADATA_VERSION, _NO_TOPICS = 4, struct.pack(">ib", 0, 0)


@dataclass(frozen=True)
class Listener:
    """`found`: silent (`why`: nothing listens, or no such host), kafka, or something else that is no Kafka.

    `untrusted`: why its certificate is not believed; empty: it is, or there is none.
    """

    found: str
    encrypted: bool = False
    named: bool = False
    untrusted: str = ""
    why: str = ""

    @property
    def protocol(self) -> str:
        """As the setting `security` has it."""
        return {(0, 0): "plaintext", (1, 0): "ssl", (0, 1): "sasl_plaintext", (1, 1): "sasl_ssl"}[
            self.encrypted, self.named
        ]


def probe(host: str, port: int, ca: str = "") -> Listener:
    """Ask. `ca`: file with the certificates to believe in; empty: those of the system."""
    try:
        socket.create_connection((host, port), _SECONDS).close()
    except OSError as error:
        return Listener("silent", why=str(error.strerror or error))
    if (named := _kafka(host, port, None)) is not None:
        return Listener("kafka", encrypted=False, named=named)
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    if (named := _kafka(host, port, blind)) is None:
        return Listener("else")
    return Listener("kafka", encrypted=True, named=named, untrusted=_untrusted(host, port, ca))


def _kafka(host: str, port: int, tls: ssl.SSLContext | None) -> bool | None:
    """Whether a Kafka there wants a name before it talks; None: what is there does not speak Kafka this way."""
    try:
        with contextlib.ExitStack() as stack:
            line: socket.socket = stack.enter_context(socket.create_connection((host, port), _SECONDS))
            if tls is not None:
                line = stack.enter_context(tls.wrap_socket(line, server_hostname=host))
            if not _answers(line, _API_VERSIONS, 0, b""):
                return None
            return not _answers(line, _METADATA, _METADATA_VERSION, _NO_TOPICS)
    except OSError:
        return None


def _answers(line: socket.socket, api: int, version: int, body: bytes) -> bool:
    """Send one request; whether its answer came."""
    head = struct.pack(">hhih", api, version, api, 7) + b"saffron"
    line.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    size = struct.unpack(">i", _exactly(line, 4) or bytes(4))[0]
    if not _HEAD <= size <= _LARGEST:
        return False
    return (_exactly(line, size) or bytes(_HEAD))[:_HEAD] == struct.pack(">i", api)


def _exactly(line: socket.socket, size: int) -> bytes | None:
    """So many bytes; None: the other side has closed before."""
    read = b""
    while len(read) < size:
        try:
            part = line.recv(size - len(read))
        except ConnectionError:
            return None
        if not part:
            return None
        read += part
    return read


def _untrusted(host: str, port: int, ca: str) -> str:
    """Why TLS's certificate is not believed; empty where it is."""
    try:
        context = ssl.create_default_context(cafile=ca or None)
        with socket.create_connection((host, port), _SECONDS) as line, context.wrap_socket(line, server_hostname=host):
            return ""
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError as error:
        return str(error.strerror or error)
