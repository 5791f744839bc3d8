"""Output format of a service's results: JSON, or framed once a registry has given the topic's schema an id."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from saffron.engine.events.formats.framed import frame_head
from saffron.errors import LogError, SettingsError
from saffron.runtime.process.background import Background
from saffron.runtime.process.config import JSON, Settings
from saffron.runtime.result_formats.forms import DATASCHEMA, FORMS, codec, dataschema, schema_text
from saffron.runtime.streams.registry import RegistryLog, WriterSchema, posting, register
from saffron.runtime.telemetry.health import Health

_LOG = logging.getLogger(__name__)
_RETRY_MS = 1_000


@dataclass(frozen=True)
class OutputFormat:
    """The output format of results. `headers`: describe the value. `encode`: from a result's JSON; None: unchanged."""

    headers: tuple[tuple[str, bytes], ...] = (("content-type", b"application/json"),)
    encode: Callable[[bytes], bytes] | None = None


def require_writable(settings: Settings) -> None:
    """SettingsError: results cannot be written as set, since a registry or package is missing."""
    form = settings.results_format
    if form == JSON:
        return
    if not settings.results_registry:
        raise SettingsError(
            f"results_format is {form!r}, but no registry is named that its schemas go to: set results_registry "
            "(SAFFRON_RESULTS_REGISTRY, saffron up --registry URL)"
        )
    posting(settings.results_registry, settings.registry_auth)
    codec(form, "trends")


class ResultOutput:
    """The output format of one service's results. `written`: at once for JSON, else once the registry has answered.

    `topic`: base name of its file in schemas/; `full_name`: in Kafka. `background`: runs registry requests.
    """

    def __init__(self, settings: Settings, topic: str, full_name: str, health: Health, background: Background) -> None:
        require_writable(settings)
        self.written = OutputFormat() if settings.results_format == JSON else None
        self._settings = settings
        self._topic, self._subject = topic, f"{full_name}-value"
        self._background = background
        self._request: Future[int] | None = None
        self._retry_at = 0
        self._health = health
        self._wait_log = RegistryLog(_LOG, "results wait")
        if self.written is None:
            health.waiting("registry", f"registering {self._subject} at {settings.results_registry}")

    def step(self, now_ms: int) -> None:
        """Sends the registry request until it is answered. Never waits."""
        if self.written is not None or now_ms < self._retry_at:
            return
        if self._request is None:
            self._request = self._background(self._register)
        elif self._request.done():
            self._take_answer(self._request, now_ms)
            self._request = None

    def _register(self) -> int:
        """Registers the schema, on any thread; returns its id."""
        form, settings = self._settings.results_format, self._settings
        post = posting(settings.results_registry, settings.registry_auth)
        return register(post, self._subject, WriterSchema(FORMS[form].kind, schema_text(form, self._topic)))

    def _take_answer(self, request: Future[int], now_ms: int) -> None:
        """Sets `written` with the schema's id that the registry has given.

        After a LogError `written` stays None, and the next request follows a second later.
        """
        try:
            number = request.result()
        except LogError as error:
            self._health.waiting("registry", str(error))
            self._wait_log.waits(str(error), now_ms)
            self._retry_at = now_ms + _RETRY_MS
            return
        form, head = self._settings.results_format, frame_head(number)
        payload = codec(form, self._topic).payload
        headers = (("content-type", FORMS[form].content_type), (DATASCHEMA, dataschema(self._topic)))
        self.written = OutputFormat(headers, lambda text: head + payload(text))
        self._health.done("registry")
