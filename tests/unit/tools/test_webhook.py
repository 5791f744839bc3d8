"""The small consumer of docs/sinks.md: every result reaches the webhook, again after an error, under its id."""

from __future__ import annotations

import json
import re
import runpy
import sys
import threading
import urllib.error
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "sinks.md"
PROGRAM = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]


class EndOfTestError(Exception):
    """The consumer has polled all there is."""


class Message:
    def __init__(self, offset: int) -> None:
        self.offset = offset

    def value(self) -> bytes:
        return json.dumps({"id": f"id{self.offset}", "query": "alarms", "return": {"n": self.offset}}).encode()

    def error(self) -> None:
        return None


class Topic:
    """Three results, and the position that is committed."""

    committed = 0
    settings: dict[str, Any]

    def consumer(self, settings: dict[str, Any]) -> Any:
        self.settings = settings
        topic, at = self, iter([None, *map(Message, range(self.committed, 3))])

        class Consumer:
            def subscribe(self, topics: list[str]) -> None:
                assert topics == ["alerts"]

            def poll(self, seconds: float) -> Message | None:
                for message in at:
                    return message
                raise EndOfTestError

            def commit(self, message: Message, *, asynchronous: bool) -> None:
                assert not asynchronous
                topic.committed = message.offset + 1

        return Consumer()


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Its URL, and what it got: it answers the second request with an error."""
    got: list[tuple[str, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.headers["Idempotency-Key"], body))
            self.send_response(500 if len(got) == 2 else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", got
    server.shutdown()
    server.server_close()


def test_each_result_is_sent_again_until_it_is_taken(
    webhook: tuple[str, list[tuple[str, dict[str, Any]]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url, got = webhook
    topic, kafka = Topic(), ModuleType("confluent_kafka")
    kafka.Consumer = topic.consumer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "confluent_kafka", kafka)
    monkeypatch.setenv("WEBHOOK", url)
    program = tmp_path / "webhook.py"
    program.write_text(PROGRAM, "utf-8")
    with pytest.raises(urllib.error.HTTPError):
        runpy.run_path(str(program))
    assert topic.committed == 1
    with pytest.raises(EndOfTestError):
        runpy.run_path(str(program))
    assert [key for key, _ in got] == ["id0", "id1", "id1", "id2"]
    assert got[3][1] == {"text": "alarms: {'n': 2}"}
    assert topic.committed == 3
    assert topic.settings["isolation.level"] == "read_committed"
