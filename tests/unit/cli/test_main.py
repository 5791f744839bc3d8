"""The command as a user meets it: exit status, messages, help."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from saffron.api.query import compile as compiled
from saffron.cli import main
from saffron.errors import GapError, QueryError, SaffronError, SettingsError, UnavailableError

COMMANDS = [
    "demo",
    "replay",
    "backfill",
    "warm",
    "explain",
    "enumerate",
    "up",
    "down",
    "status",
    "top",
    "completion",
    "produce",
    "tail",
    "run",
    "doctor",
    "bench",
    "experiment",
]
COMMANDS += [f"stream {name}" for name in ("infer", "check", "apply", "show", "add", "set", "remove", "list")] + [
    "config show"
]
COMMANDS += [f"dlq {name}" for name in ("list", "show", "send-again")]
COMMANDS += [
    f"query {name}" for name in ("add", "check", "list", "show", "why", "pause", "resume", "replace", "remove")
]

DATA = Path(main.__file__).parents[1] / "data"


def saffron(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process; its exit status."""
    monkeypatch.setattr(sys, "argv", ["saffron", *arguments])
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    with pytest.raises(SystemExit) as ended:
        main.run()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SaffronError("x"), 1),
        (GapError("x"), 1),
        (SettingsError("x"), 2),
        (QueryError("x", stage="syntax", text="PATTERN", start=0, end=7), 2),
        (UnavailableError("x"), 3),
    ],
)
def test_every_error_has_its_exit_status(error: SaffronError, status: int) -> None:
    assert main.exit_status(error) == status


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert saffron(monkeypatch, *command.split(), "--help") == 0
    shown = capsys.readouterr().out
    lines = [line.rstrip() for line in shown.splitlines()]
    assert " Examples:" in lines, "a line of its own"
    if "--prefix" in shown:
        assert re.search(r"name[^.]*\[default:", shown), "brackets are no markup"
    examples = lines[lines.index(" Examples:") + 1 : next(at for at, line in enumerate(lines) if line.startswith("╭"))]
    assert any(f"saffron {command}" in line for line in examples)
    assert all(line.startswith("  ") for line in examples if line), "set apart"


def test_the_list_of_commands_imports_none_of_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"imported {name}"))
    assert saffron(monkeypatch, "--help") == 0
    assert "Exit status: 0 done, 1 failed" in capsys.readouterr().out


def test_commands_that_run_no_engine_do_not_wait_for_numba() -> None:
    modules = [module for name, (module, _) in main._COMMANDS.items() if name not in ("warm", "dlq")]
    code = f"import {', '.join(f'saffron.cli.{module}' for module in modules)}, sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("command", ["query list", "query pause x", "query remove x", "tail", "status", "down", "up"])
def test_commands_on_a_running_system_load_neither_arrays_nor_the_language(command: str, tmp_path: Path) -> None:
    """`up` too, whose supervisor stays. Typer reads options with Pydantic from 0.29 on."""
    heavy = ("numpy", "pydantic", "pyarrow", "saffron.language.plan", "saffron.language.syntax")
    words = command.split() if command != "up" else ["up", "--latency-bound", "soon"]
    code = f"""import sys
from saffron.cli import main
sys.argv = ["saffron", *{words!r}, "--data", {str(tmp_path)!r}]
try:
    main.run()
except SystemExit:
    import saffron.runtime.local.supervisor
    print([name for name in {heavy!r} if name in sys.modules])
"""
    environ = {"PYTHONPATH": str(Path(main.__file__).parents[2]), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_a_wrong_query_is_shown_with_its_place_and_ends_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert saffron(monkeypatch, "query", "check", "-e", "PATTERN SEQ(Stock a Stock b) WITHIN 1 hour") == 2
    error = capsys.readouterr().err
    assert error.startswith("query error: ")
    assert "^^^" in error
    assert "Traceback" not in error


def test_a_right_query_is_said_to_be(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = "QUERY two PATTERN SEQ(Stock a, Stock b) WITHIN 1 hour"
    assert saffron(monkeypatch, "query", "check", "-e", text, "--json") == 0
    assert '"name":"two"' in capsys.readouterr().out


@pytest.mark.parametrize("command", [("query", "check"), ("explain",)])
def test_a_query_that_can_cost_too_much_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    text = "PATTERN SEQ(A a, B+ b[]) WHERE skip-till-any-match WITHIN 1 hour"
    assert saffron(monkeypatch, *command, "-e", text) == 0
    assert capsys.readouterr().err.startswith("query warning: the number of matches can grow exponentially")


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("produce", "x.ndjson", "--rate", "0"),
        ("produce", "x.ndjson", "--rate", "5", "--speedup", "2"),
        ("run", "nonsense"),
        ("up", "--without", "nonsense"),
        ("query", "check"),
        ("dlq", "send-again", "events/0/17", "--stream", "s"),
        ("stream", "add", "s", "--disorder", "soon"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAFFRON_DATA", str(tmp_path))
    assert saffron(monkeypatch, *arguments) == 2


def test_a_number_without_a_unit_is_no_duration_of_any_command() -> None:
    """It was so many milliseconds, and people meant seconds."""
    takers = []
    for path, one in options_of(typer.main.get_command(main.app)):
        if one.metavar == "DURATION":
            takers.append(f"{path} {one.opts[0]}")
            assert one.type.convert("10s", one, None) == 10_000
            with pytest.raises(typer.BadParameter, match=r"'10' is no duration\. A unit is missing: write 10s or 10ms"):
                one.type.convert("10", one, None)
    assert len(takers) == 9
    assert {one.split()[-1] for one in takers} == {"--disorder", "--idle", "--silence", "--latency-bound"}


def options_of(command: Any, path: str = "saffron") -> Iterator[tuple[str, Any]]:
    """Every option of a command and of those below it, with the command's words."""
    for one in command.params:
        yield path, one
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from options_of(command.get_command(None, name), f"{path} {name}")


def test_results_in_avro_need_a_registry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ("up", "--data", str(tmp_path), "--without", "model-builder", "--results-format", "avro")
    assert saffron(monkeypatch, *arguments) == 2
    assert "results_format is 'avro', but no registry is named" in capsys.readouterr().err
    assert saffron(monkeypatch, *arguments[:-1], "arvo") == 2
    assert "is not one of 'json', 'avro', 'protobuf'" in " ".join(capsys.readouterr().err.replace("│", " ").split())


@pytest.mark.parametrize("command", ["query list", "tail", "produce x.ndjson", "stream list", "run matcher"])
def test_without_a_system_the_status_is_3_and_says_what_to_do(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SAFFRON_DATA", str(tmp_path))
    assert saffron(monkeypatch, *command.split()) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"saffron: nothing runs under {tmp_path}: `saffron up` starts it there")


def test_status_and_down_of_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert saffron(monkeypatch, "status", "--json", "--data", str(tmp_path)) == 1
    assert capsys.readouterr().out == '{"phase":"stopped","broker":null,"prefix":null,"services":[]}\n'
    assert saffron(monkeypatch, "down", "--data", str(tmp_path)) == 0


def test_config_show_says_where_a_value_comes_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAFFRON_COMMIT_MS", "77")
    monkeypatch.setenv("SAFFRON_TOKEN", "secret")
    assert saffron(monkeypatch, "config", "show", "--origin") == 0
    shown = capsys.readouterr().out
    line = next(one for one in shown.splitlines() if one.startswith("commit_ms"))
    assert line.split() == ["commit_ms", "77", "SAFFRON_COMMIT_MS"]
    assert "secret" not in shown


@pytest.mark.parametrize("command", [["--version"], ["--help"], ["explain", str(DATA / "rally.saf")]])
def test_a_disk_that_is_full_is_one_message(command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "saffron", *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ran.returncode, ran.stderr) == (1, "saffron: writing the output: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["--version", "replay -e 'PATTERN A a WITHIN 1 ms' --lenient -"])
def test_a_standard_stream_that_the_caller_closed_is_empty_or_goes_nowhere(words: str, closed: str) -> None:
    command = f"{sys.executable} -m saffron {words} {closed}"
    ran = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
    assert "warning" not in ran.stdout


def test_dead_letters_that_cannot_be_written_name_their_file(tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    events.write_text('{"type":"A","ts":1}\nno event\n')
    words = ["replay", "-e", "PATTERN A a WITHIN 1 ms", "--count", str(events), "--dead-letters", "/dev/full"]
    ran = subprocess.run([sys.executable, "-m", "saffron", *words], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "saffron: cannot write /dev/full: No space left on device\n")


@pytest.mark.parametrize(
    "words",
    [
        "replay -q q.saf events.ndjson --dead-letters events.ndjson",
        "replay -q q.saf other.ndjson events.ndjson --dead-letters link.ndjson",
        "replay -q q.saf events.ndjson --dead-letters q.saf",
        "replay -q q.saf --stream shop.yaml orders=events.ndjson --dead-letters events.ndjson",
        "replay -q q.saf --stream shop.yaml orders=events.ndjson --dead-letters ./shop.yaml",
        "replay -q q.saf events.ndjson --latency-bound 1s --rate 5 --save-models events.ndjson",
        "stream infer events.ndjson --name shop --out events.ndjson",
    ],
)
def test_a_file_that_is_read_is_not_written(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("events.ndjson", '{"type":"A","ts":1}\n'),
        ("other.ndjson", '{"type":"A","ts":1}\n'),
        ("q.saf", "PATTERN A a WITHIN 1 ms"),
        ("shop.yaml", "stream: shop\nsources: [{topic: orders}]\n"),
    ):
        (tmp_path / name).write_text(content)
    (tmp_path / "link.ndjson").symlink_to("events.ndjson")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert saffron(monkeypatch, *words.split()) == 1
    assert "it is read, and its content would be lost; name another file" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", ["explain", "query check", "replay events.ndjson -q"])
def test_a_query_file_that_is_not_utf8_is_refused_with_the_place(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.ndjson").write_text('{"type":"A","ts":1,"city":"Köln"}\n')
    (tmp_path / "q.saf").write_bytes("PATTERN A a WHERE a.city = 'Köln' WITHIN 1 ms".encode("latin-1"))
    assert saffron(monkeypatch, *command.split(), "q.saf") == 2
    told = capsys.readouterr().err
    assert "Save the query as UTF-8." in told
    assert told.index("^") - told.index("LINE 1") > len("PATTERN A a WHERE a.city = 'K")
    with pytest.raises(QueryError, match="half of a character"):
        compiled(tmp_path / "q.saf")


def test_a_wrong_schema_names_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text("[]")
    assert saffron(monkeypatch, "explain", str(DATA / "rally.saf"), "--schema", str(schema)) == 1
    assert f"saffron: {schema}: #: should be a JSON object" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "bench engine --json",
        "experiment p-q1 --json",
        "experiment p-q1 --plot",
        f"replay -q {DATA / 'rally.saf'} {DATA / 'stock_quotes.ndjson.zst'} --latency-bound 1s --rate 2x --save-models",
    ],
)
@pytest.mark.parametrize(("place", "why"), [("", "Is a directory"), ("none/x", "there is no directory")])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    command: str,
    place: str,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert saffron(monkeypatch, *command.split(), str(tmp_path / place)) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.startswith(f"saffron: cannot write {tmp_path / place}: {why}")) == ("", True)


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    events.write_text('{"type":"A","ts":1}\n' * 1000, "utf-8")
    words = ["replay", str(events), "-e", "PATTERN A a WITHIN 1 s"]
    with subprocess.Popen(
        [sys.executable, "-m", "saffron", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        assert (run.stderr.read(), run.wait()) == (b"", 0)


def test_memory_that_is_not_enough_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def app() -> None:
        raise MemoryError("Unable to allocate 1. TiB")

    monkeypatch.setattr(main, "app", app)
    monkeypatch.setattr(main, "_discard_output", lambda: None)
    assert saffron(monkeypatch, "replay") == 1
    told = "saffron: memory is not enough: Unable to allocate 1. TiB. A query needs less with a shorter WITHIN"
    assert capfd.readouterr().err.startswith(told)
