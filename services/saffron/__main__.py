"""`python -m saffron`: the same as the `saffron` command."""

from saffron.cli.main import run

run()
