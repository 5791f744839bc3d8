"""The credentials of schema registries are sent where the setting holds, and nowhere else."""

from __future__ import annotations

import pytest

from saffron.runtime.process.registry_auth import credentials_for, held_to

OURS, OTHER = "https://registry.example", "http://elsewhere:1"


@pytest.mark.parametrize("place", [OURS, "HTTPS://Registry.Example", " https://registry.example:443/v1 "])
@pytest.mark.parametrize("credentials", ["svc:secret", "svc:p@ss,w:örd"])
def test_credentials_go_to_their_registry_alone_however_its_url_is_written(place: str, credentials: str) -> None:
    for setting in (f"{credentials}@{place}", held_to(credentials, [place])):
        assert credentials_for(OURS, setting) == credentials
        assert credentials_for(OTHER, setting) == ""
        assert held_to(setting, [OTHER]) == setting


@pytest.mark.parametrize("places", [[], ["no url"], ["ftp://host"], ["http://"]])
def test_credentials_that_are_held_to_no_registry_go_nowhere(places: list[str]) -> None:
    assert credentials_for(OTHER, held_to("svc:secret", places)) == ""


def test_credentials_without_a_place_go_to_every_registry() -> None:
    assert credentials_for(OTHER, "svc:secret") == "svc:secret"
