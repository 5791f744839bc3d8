"""Settings: which of flag, variable, file and default wins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.errors import SettingsError
from saffron.runtime.process.config import Settings, environment_of, explain, load, user_cache_directory


def test_flag_beats_variable_beats_file_beats_default(tmp_path: Path) -> None:
    file = tmp_path / "saffron.toml"
    file.write_text("commit_ms = 1\nflush_ms = 2\npartitions = 3\n")
    environ = {"SAFFRON_CONFIG": str(file), "SAFFRON_COMMIT_MS": "10", "SAFFRON_FLUSH_MS": "20"}
    loaded = load({"commit_ms": 100, "flush_ms": None}, environ)
    chosen = loaded.settings
    assert (chosen.commit_ms, chosen.flush_ms, chosen.partitions, chosen.credit_events) == (100, 20, 3, 131_072)
    assert [loaded.origins[name] for name in ("commit_ms", "flush_ms", "partitions", "credit_events")] == [
        "flag",
        "SAFFRON_FLUSH_MS",
        f"{file}: partitions",
        "default",
    ]


def test_blocks_keep_a_latency_bound() -> None:
    found = {}
    for bound in (1000, 200, 50):
        shed = load({"latency_bound_ms": bound, "overload": "shed"}, {}).settings
        found[bound] = (shed.block_ms, shed.largest_block)
    assert found == {1000: (20, 1024), 200: (20, 1024), 50: (5, 1024)}
    free = load({"latency_bound_ms": 50}, {}).settings
    assert (free.block_ms, free.largest_block) == (20, 8192)


def test_data_and_snapshots_follow_the_users_directories() -> None:
    chosen = load({}, {"XDG_DATA_HOME": "/x", "XDG_CONFIG_HOME": "/nowhere"}).settings
    assert (chosen.data, chosen.snapshots) == (Path("/x/saffron"), Path("/x/saffron/snapshots"))
    assert load({"data": Path("/y")}, {"XDG_CONFIG_HOME": "/nowhere"}).settings.snapshots == Path("/y/snapshots")
    assert user_cache_directory({"SAFFRON_CACHE": "/c"}) == Path("/c")
    assert user_cache_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/saffron")


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"SAFFRON_COMIT_MS": "5"}, r"^variable SAFFRON_COMIT_MS: there is no such setting; did you mean 'commit_ms'"),
        ({"SAFFRON_COMMIT_MS": "soon"}, r"^setting 'commit_ms' is 'soon' \(from SAFFRON_COMMIT_MS\): a whole number"),
        ({"SAFFRON_COMMIT_MS": "0"}, r"^setting 'commit_ms' is 0 \(from SAFFRON_COMMIT_MS\): it must be at least 1$"),
        ({"SAFFRON_RESULT_BYTES": "99000000"}, r"^setting 'result_bytes' is 99000000 .*: it must be at most 16000000$"),
        ({"SAFFRON_CONFIG": "/no/such.toml"}, r"^settings file /no/such.toml \(from SAFFRON_CONFIG\) does not exist$"),
    ],
)
def test_a_wrong_setting_names_its_place(environ: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load({}, {"XDG_CONFIG_HOME": "/nowhere", **environ})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("commit_ms = ", "cannot be read"),
        ("prefx = 'a'", "line `prefx` of .*: there is no such setting; did you mean 'prefix'"),
        ("commit_ms = true", "setting 'commit_ms' is True"),
        ("prefix = 3", "setting 'prefix' is 3 .*: a text is needed"),
    ],
)
def test_a_wrong_line_of_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "saffron.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load({}, {"SAFFRON_CONFIG": str(file)})


def test_a_child_process_reads_the_same_settings() -> None:
    chosen = load({"data": Path("/d"), "commit_ms": 7, "prefix": "p."}, {"XDG_CONFIG_HOME": "/nowhere"}).settings
    assert load({}, environment_of(chosen) | {"XDG_CONFIG_HOME": "/nowhere"}).settings == chosen


def test_names_carry_the_prefix() -> None:
    assert Settings(prefix="p.").topic("events") == "p.events"
    assert Settings(prefix="p.").group("matcher") == "p.matcher"
    assert explain("prefix").startswith("put before every topic's name")
