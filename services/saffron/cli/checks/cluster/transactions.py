"""The check of open transactions: readers of committed records wait behind them."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok


def check_transactions(look: Look) -> Iterator[Finding]:
    """Findings on transactions that are open for longer than ours ever are."""
    longest = 2 * look.settings.transaction_ms
    hanging = {where: since for where, since in look.open.items() if look.now - since > longest}
    for where, since in sorted(hanging.items()):
        what = f"a transaction is open for {(look.now - since) / 1000:,.0f} s; nobody reads what comes after it"
        fix = (
            f"kafka-transactions find-hanging --topic {where.topic} --partition {where.partition}, then abort; end the"
            " producer that has it"
        )
        yield error("transactions", what, f"{where.topic}/{where.partition}", fix)
    if not hanging:
        yield ok("transactions", "none hangs")
