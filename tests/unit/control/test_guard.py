from __future__ import annotations

import logging

import pytest

from saffron.control.guard import require_safe
from saffron.control.quiet import OnceInAWhile
from saffron.errors import SettingsError


def test_an_api_open_to_the_network_needs_a_token() -> None:
    require_safe("127.0.0.1", "")
    require_safe("0.0.0.0", "secret")
    with pytest.raises(SettingsError, match="SAFFRON_TOKEN"):
        require_safe("0.0.0.0", "")


def test_a_library_repeats_itself_only_once_in_a_while() -> None:
    now = [0.0]
    once = OnceInAWhile(10.0, lambda: now[0])

    def passes(text: str) -> bool:
        return once.filter(logging.LogRecord("aiokafka", logging.ERROR, "", 0, text, None, None))

    assert passes("away")
    assert not passes("away")
    assert passes("other")
    now[0] = 11.0
    assert passes("away")
    assert not passes("away")


def test_memory_of_what_was_said_is_bounded() -> None:
    once = OnceInAWhile(10.0, lambda: 0.0)
    for number in range(5000):
        once.filter(logging.LogRecord("aiokafka", logging.ERROR, "", 0, str(number), None, None))
    assert len(once._seen) <= 1000
