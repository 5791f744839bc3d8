"""The user's own editor, for corrections of a text."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from saffron.errors import InputError


def edit(text: str, suffix: str) -> str:
    """The text as saved in $VISUAL or $EDITOR (else vi). InputError: the editor failed, or nothing was changed."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="saffron-") as folder:
        path = Path(folder) / f"message{suffix}"
        path.write_text(text, "utf-8")
        try:
            status = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
        except OSError as error:
            raise InputError(f"the editor {command!r} cannot be started: {error.strerror}; set EDITOR") from error
        edited = path.read_text("utf-8")
    if status:
        raise InputError(f"the editor {command!r} ended with status {status}: nothing is sent")
    if edited.removesuffix("\n") == text.removesuffix("\n"):
        raise InputError("nothing was changed in the editor, so nothing is sent")
    return edited
