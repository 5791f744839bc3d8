"""`saffron bench` finds every benchmark of the checkout, each by a name of its own."""

from __future__ import annotations

from saffron.cli.bench import benchmarks
from saffron.cli.checkout import TOOLS


def test_every_file_that_measures_is_a_benchmark() -> None:
    measuring = [
        path.relative_to(TOOLS).with_suffix("").as_posix().replace("/", ".")
        for path in (TOOLS / "bench").rglob("*.py")
        if '\nif __name__ == "__main__":\n' in path.read_text("utf-8")
    ]
    assert sorted(benchmarks().values()) == sorted(measuring)
