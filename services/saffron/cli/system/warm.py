"""`saffron warm`: the kernels that no query decides, compiled ahead."""

from __future__ import annotations

from saffron.cli import console
from saffron.cli.progress import bar
from saffron.runtime.kernels.library import compile_all
from saffron.runtime.process.config import user_cache_directory


def warm() -> None:
    """Compile ahead what no query decides, on all cores: half a minute, once for each version and machine.

    Without it everything works, and the first query waits for that as well. An image is built with it, so that its
    containers start with machine code; the kernels are kept beside the package and under `SAFFRON_CACHE`.

    Examples:

        saffron warm
    """
    compile_all(user_cache_directory() / "kernels", _show)
    console.done()
    console.say("warm: all kernels that no query decides are compiled")


def _show(done: int, total: int) -> None:
    """Shows the progress; in a log only its begin and its end."""
    if console.is_live() or done in (0, total):
        console.step(f"compiling {total} kernels, once: {bar(done, total)}")
