"""A real browser without a window: Chromium, spoken to by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--disable-background-networking", "--disable-extensions", "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip
_SECONDS = 30.0
_A_MOMENT = "await new Promise((go) => setTimeout(go, 10));"


class Tab:
    """One page of the browser. `complaints`: errors of its scripts, and what it logged as an error."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []

    async def open(self) -> None:
        """Make the tab."""
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        self._session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ("Runtime", "Page", "Log"):
            await self.call(f"{domain}.enable")

    async def call(self, method: str, **parameters: Any) -> Any:
        """One command; its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        await self._socket.send_json(message)
        async with asyncio.timeout(_SECONDS):
            while True:
                answer = await self._socket.receive_json()
                if answer.get("id") == self._number:
                    assert "error" not in answer, f"{method}: {answer['error']}"
                    return answer["result"]
                self._heard(answer)

    async def go(self, url: str) -> None:
        """Load a page, and wait until its scripts have run once."""
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'", url)

    async def value(self, expression: str) -> Any:
        """What the page says this is; promises are awaited."""
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    async def until(self, expression: str, what: str, seconds: float = _SECONDS) -> Any:
        """Until the expression is true in the page, which looks at it again and again; its value."""
        looks = f"for (let n = 0; n < 20; n++) {{ const found = {expression}; if (found) return found; {_A_MOMENT} }}"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not (found := await self.value(f"(async () => {{ {looks} }})()")):
                    pass
                return found
        words = await self.value("document.body.innerText")
        raise AssertionError(f"no {what} in the page within {seconds:g} s; {self.complaints}\n{words}")

    async def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Make the window so large, and say which colours the user likes."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        likes = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=likes)

    async def picture(self, path: Path) -> None:
        """The whole page as a PNG file."""
        shot = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _heard(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        if message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")


@contextlib.asynccontextmanager
async def browser(program: str, folder: Path) -> AsyncIterator[Tab]:
    """A browser with one empty tab; `folder` holds its profile."""
    process = await asyncio.create_subprocess_exec(
        program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        address = await asyncio.wait_for(_address(process), _SECONDS)
        async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=0) as socket:
            tab = Tab(socket)
            await tab.open()
            yield tab
            await tab.call("Page.close")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    said = ""
    async for line in process.stderr:
        said += line.decode("utf-8", "replace")
        if found := re.search(r"DevTools listening on (ws://\S+)", said):
            return found[1]
    raise AssertionError(f"the browser ended before it listened:\n{said}")
