from __future__ import annotations

import pytest

from saffron.cli.system.launch import prepare
from saffron.errors import SettingsError
from saffron.runtime.process.config import Settings
from saffron.runtime.process.listening import require_safe


def test_an_api_open_to_the_network_needs_a_token() -> None:
    require_safe("127.0.0.1", "")
    require_safe("0.0.0.0", "secret")
    with pytest.raises(SettingsError, match="SAFFRON_TOKEN"):
        require_safe("0.0.0.0", "")


def test_up_says_so_before_it_starts_anything() -> None:
    with pytest.raises(SettingsError, match="for everybody: set a token"):
        prepare(Settings(host="192.0.2.7"), ["windowing", "control"])
