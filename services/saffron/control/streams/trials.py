"""Trials of queries, each in a process of its own, which ends when its time is over."""

from __future__ import annotations

import asyncio
import pickle
import sys
from typing import Any

import orjson

from saffron.control.checks import Refused
from saffron.control.streams.trial_request import Trial
from saffron.errors import QueryError

SECONDS = 10.0
"""Longest matching of a trial."""
LONGEST = 90.0
"""Seconds after which the process is ended: imports and compilation take some of them."""


class Trials:
    """Runner of trials, one after another.

    `modules`: the user's modules, imported first. `longest`: seconds after which a process is ended.
    """

    def __init__(self, modules: str = "", longest: float = LONGEST) -> None:
        self._command = [sys.executable, "-m", "saffron.control.streams.trial", modules]
        self._longest = longest
        self._running = asyncio.Lock()

    async def run(self, trial: Trial) -> dict[str, Any]:
        """The outcome (see `trial.try_query`). QueryError: the query is wrong. Refused: it cannot be tried."""
        async with self._running:
            outcome = await self._outcome(await asyncio.to_thread(pickle.dumps, trial))
        if "query_error" in outcome:
            parts = outcome["query_error"]
            raise QueryError(parts.pop("message"), **parts)
        if "error" in outcome:
            raise Refused(400, "trial", outcome["error"])
        return outcome

    async def _outcome(self, request: bytes) -> dict[str, Any]:
        """The outcome that the process of a trial writes, as JSON values. `request`: the pickled trial.

        Refused: the process failed, or was killed at the time limit.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            async with asyncio.timeout(self._longest):
                answer, errors = await process.communicate(request)
        except TimeoutError:
            raise Refused(
                400, "trial", f"the query has not ended after {self._longest:g} s: try it on fewer messages"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise Refused(400, "trial", f"the query could not be tried (status {process.returncode}): {last}")
        found: dict[str, Any] = orjson.loads(answer)
        return found
