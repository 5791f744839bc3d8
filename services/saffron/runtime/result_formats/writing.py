"""How a service writes its results: as JSON, or framed, once a registry has given the topic's schema an id."""

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
from saffron.runtime.streams.registry import RegistryWait, WriterSchema, posting, register
from saffron.runtime.telemetry.health import Health

_LOG = logging.getLogger(__name__)
_AGAIN_MS = 1_000


@dataclass(frozen=True)
class Written:
    """`headers`: that say what a value is. `encode`: a result's JSON as it is written; None: as it is."""

    headers: tuple[tuple[str, bytes], ...] = (("content-type", b"application/json"),)
    encode: Callable[[bytes], bytes] | None = None


def require_writable(settings: Settings) -> None:
    """SettingsError: results cannot be written as the settings say: for want of a registry, or of a package."""
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


class ResultForm:
    """Of one service's results. `written`: at once for JSON, else when the registry has answered.

    `topic`: as its file in schemas/ is named; `full_name`: in Kafka. `background`: where the registry is asked.
    """

    def __init__(self, settings: Settings, topic: str, full_name: str, health: Health, background: Background) -> None:
        require_writable(settings)
        self.written = Written() if settings.results_format == JSON else None
        self._settings = settings
        self._topic, self._subject = topic, f"{full_name}-value"
        self._background = background
        self._asked: Future[int] | None = None
        self._again_at = 0
        self._awaited = RegistryWait(health, _LOG, "results wait")
        if self.written is None:
            health.waiting("registry", f"registering {self._subject} at {settings.results_registry}")

    def step(self, now_ms: int) -> None:
        """Ask the registry until it has answered. Never waits."""
        if self.written is not None or now_ms < self._again_at:
            return
        if self._asked is None:
            self._asked = self._background(self._register)
        elif self._asked.done():
            self._answered(self._asked, now_ms)
            self._asked = None

    def _register(self) -> int:
        """On any thread."""
        form, settings = self._settings.results_format, self._settings
        post = posting(settings.results_registry, settings.registry_auth)
        return register(post, self._subject, WriterSchema(FORMS[form].kind, schema_text(form, self._topic)))

    def _answered(self, asked: Future[int], now_ms: int) -> None:
        try:
            number = asked.result()
        except LogError as error:
            self._awaited.wait(str(error), now_ms)
            self._again_at = now_ms + _AGAIN_MS
            return
        form, head = self._settings.results_format, frame_head(number)
        payload = codec(form, self._topic).payload
        headers = (("content-type", FORMS[form].content_type), (DATASCHEMA, dataschema(self._topic)))
        self.written = Written(headers, lambda text: head + payload(text))
        self._awaited.done()
