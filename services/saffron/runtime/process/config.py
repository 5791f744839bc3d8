"""Settings from flags, SAFFRON_* variables, a TOML file, and defaults, in this order. `Loaded.origins` has the origins.

Every service and command uses the frozen `Settings`. Nothing else reads settings from the environment.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from saffron.errors import SettingsError

_ENVIRONMENT = "SAFFRON_"
_NOT_SETTINGS = frozenset({"SAFFRON_CONFIG", "SAFFRON_CACHE"})
"""SAFFRON_* variables with paths of files, which are no settings of a service."""


def _setting(
    default: Any,
    explain: str,
    low: int | None = None,
    one_of: tuple[str, ...] = (),
    *,
    high: int | None = None,
    secret: bool = False,
    form: tuple[str, str] = ("", ""),
) -> Any:
    """A field of `Settings`. Numbers lie between `low` and `high`, texts are among `one_of`, if these are given.

    `form`: a pattern for the whole text, and the same in words; `secret`: `repr` leaves the value out.
    """
    metadata = {"explain": explain, "low": low, "high": high, "one_of": one_of, "secret": secret, "form": form}
    return field(default=default, metadata=metadata, repr=not secret)


_HOST = r"\s*(?:\w+://)?(?:\[[0-9a-fA-F:.%\w]+\]|[\w.-]+)(?::0*[1-9]\d{0,4})?\s*"
_BROKERS = (rf"(?:{_HOST}(?:,{_HOST})*)?", "HOST:PORT, several apart by commas")
_TOPIC_PART = (r"[A-Za-z0-9._-]{0,150}", "letters, digits, '.', _ and -, at most 150 of them")
"""Forms of texts: a pattern, and the same in words."""


def user_data_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """The default directory of a user's data: $XDG_DATA_HOME/saffron."""
    base = environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "saffron"


def user_cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """The directory of reproducible files (jars, JVM archives, kernels): SAFFRON_CACHE, or $XDG_CACHE_HOME/saffron."""
    if given := environ.get("SAFFRON_CACHE"):
        return Path(given).expanduser()
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "saffron"


WHERE_SHED, ALWAYS = "where-shed", "always"
PASS, SHED, CATCH_UP = "pass", "shed", "catch-up"
"""Policies under overload: lose time, lose complex events, or either by what caused it."""
MOST_PANE = 65_536
SCRAM_512 = "SCRAM-SHA-512"
JSON, AVRO, PROTOBUF = "json", "avro", "protobuf"
"""Formats of results."""


@dataclass(frozen=True)
class Settings:
    """All settings. Times are in ms, sizes as named. `bootstrap` empty: the system running under `data`."""

    data: Path = _setting(Path(), "data directory: broker, snapshots, logs, state of the running system")
    bootstrap: str = _setting(
        "", "Kafka's HOST:PORT,...; empty: the system that `saffron up` started under `data`", form=_BROKERS
    )
    security: str = _setting(
        "plaintext",
        "how Kafka is spoken to: ssl encrypts, sasl says who is speaking",
        one_of=("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    )
    mechanism: str = _setting(
        SCRAM_512,
        "how name and password are sent, where security is sasl",
        one_of=("PLAIN", "SCRAM-SHA-256", SCRAM_512),
    )
    ca: str = _setting("", "file (PEM) with the certificate that Kafka's brokers are known by; empty: the system's")
    username: str = _setting("", "name at Kafka, where security is sasl")
    password: str = _setting("", "password at Kafka, where security is sasl", secret=True)
    certificate: str = _setting("", "file (PEM) with the client's certificate, where Kafka asks for one (mutual TLS)")
    certificate_key: str = _setting(
        "", "file (PEM) with the private key of the client's certificate; empty: in the same file"
    )
    certificate_key_password: str = _setting("", "password of that key; empty: it has none", secret=True)
    kafka: str = _setting(
        "",
        "further settings of Kafka's clients in librdkafka's names: NAME=VALUE,... or a file with one on each line",
        secret=True,
    )
    prefix: str = _setting(
        "saffron.", "put before every topic's name, consumer group and transactional id", form=_TOPIC_PART
    )
    snapshots: Path = _setting(
        Path(), "where operators keep snapshots; every member must reach it (default data/snapshots)"
    )
    tables: Path = _setting(
        Path(), "folder with the files of streams' tables, for windowing and control (default data/tables)"
    )
    host: str = _setting("127.0.0.1", "address on which metrics, health and the control API listen")
    metrics_port: int = _setting(0, "port of /metrics, /healthz and /readyz; 0 takes a free one", 0)
    control_port: int = _setting(0, "port of the control API and the live page; 0 takes a free one", 0)
    token: str = _setting(
        "", "what the control API asks for as bearer token; empty: nothing (only for 127.0.0.1)", secret=True
    )
    registry_auth: str = _setting(
        "",
        "USER:PASSWORD@URL for the schema registry at URL (several apart by commas); without @URL it is sent to the"
        " registry of every stream; empty: none",
        secret=True,
    )
    results_format: str = _setting(
        JSON,
        "what results are written as: json, or avro or protobuf in a schema registry's wire format",
        one_of=(JSON, AVRO, PROTOBUF),
    )
    results_registry: str = _setting("", "URL of the schema registry of results, where they are avro or protobuf")
    partitions: int = _setting(1, "partitions of a topic that `up` creates", 1)
    replication: int = _setting(0, "replicas of a topic that is created; 0: three, or as many as there are brokers", 0)
    commit_ms: int = _setting(10, "least time between two transactions of matcher and greta", 1)
    result_bytes: int = _setting(
        16_000_000,
        "largest result that matcher and greta send; a dead letter says of a larger one what to do. No more than their"
        " topics take (16 MiB), less what a message has around it",
        1_000,
        high=16_000_000,
    )
    flush_ms: int = _setting(20, "least time between two blocks of windowing that are not full", 0)
    block_events: int = _setting(
        0,
        "most events in a block; 0: 8,192, or 1,024 where load is shed, so that a block is done well within the bound",
        0,
    )
    poll_records: int = _setting(2000, "most messages taken from the log at once", 1)
    credit_events: int = _setting(131_072, "events the shedder may have in flight to each reader", 1)
    snapshot_ms: int = _setting(10_000, "time between two snapshots of an operator", 1)
    checkpoint_events: int = _setting(200_000, "events between two checkpoint records in a partition", 1)
    disorder_ms: int = _setting(0, "how late an event of the default stream may be", 0)
    idle_ms: int = _setting(
        0, "default stream: a partition silent this long follows the others' watermark; 0 is off", 0
    )
    max_future_ms: int = _setting(86_400_000, "furthest an event's ts may be ahead of its message's time", 0)
    latency_bound_ms: int = _setting(1000, "the bound on detection latency, LB", 1)
    overload: str = _setting(
        PASS,
        "when the bound cannot be held: pass (drop nothing), shed, or catch-up (shed, but not after an outage)",
        one_of=(PASS, SHED, CATCH_UP),
    )
    observe: str = _setting(
        WHERE_SHED,
        "events carry features that models learn from: where load is shed, or always",
        one_of=(WHERE_SHED, ALWAYS),
    )
    pane_events: int = _setting(
        10,
        "events just before an event whose types decide its utility: more where what matters lies further back",
        1,
        high=MOST_PANE,
    )
    session_ms: int = _setting(6_000, "a member not heard of this long loses its partitions", 1000)
    transaction_ms: int = _setting(10_000, "an open transaction of a dead producer ends after this", 1000)
    model_interval_ms: int = _setting(10_000, "time between two batches of the model builder", 100)
    model_half_life_batches: int = _setting(
        360,
        "batches of the model builder (an hour of them, where one comes every 10 s) after which what was observed"
        " before counts half; as often models are made anew in any case",
        1,
    )
    spark_jars: str = _setting("", "jars of Spark's Kafka connector, comma separated; empty: resolved into the cache")
    aggregates: str = _setting(
        "",
        "modules, comma separated, that register aggregates or functions when imported (docs/python.md)",
    )
    log_level: str = _setting("info", "debug, info, warning or error")

    @property
    def largest_block(self) -> int:
        """Most events in a block."""
        return self.block_events or (8192 if self.overload == PASS else 1024)

    @property
    def block_ms(self) -> int:
        """The least time between two blocks that are not full: a tenth of a latency bound at most."""
        return self.flush_ms if self.overload == PASS else min(self.flush_ms, self.latency_bound_ms // 10)

    def topic(self, name: str) -> str:
        """The full name of a topic."""
        return self.prefix + name

    def group(self, service: str) -> str:
        """The consumer group of a service."""
        return self.prefix + service


@dataclass(frozen=True)
class Loaded:
    """Settings, and the origin of each value ("flag", "SAFFRON_X", "FILE: x", "default")."""

    settings: Settings
    origins: Mapping[str, str]


def load(
    flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ, ignored: Collection[str] = ()
) -> Loaded:
    """All settings. `flags`: from the command line, by setting; None: not given. `ignored`: unknown names to skip.

    The file is SAFFRON_CONFIG, else ./saffron.toml, else $XDG_CONFIG_HOME/saffron/saffron.toml, if it exists.
    SettingsError: an unknown name, an invalid value, or an unreadable file.
    """
    file, path = _file(environ)
    _refuse_unknown(environ, ignored)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for one in fields(Settings):
        variable = _ENVIRONMENT + one.name.upper()
        given = (flags or {}).get(one.name)
        if given is not None:
            raw, origin = given, "flag"
        elif variable in environ:
            raw, origin = environ[variable], variable
        elif one.name in file:
            raw, origin = file[one.name], f"{path}: {one.name}"
        else:
            raw, origin = one.default, "default"
        values[one.name] = _convert(one.name, raw, one.default, (one.metadata["low"], one.metadata["high"]), origin)
        if (allowed := one.metadata["one_of"]) and values[one.name] not in allowed:
            close = difflib.get_close_matches(str(raw), allowed, 1)
            near = f"; did you mean {close[0]!r}?" if close else ""
            raise SettingsError(
                f"setting {one.name!r} is {raw!r} (from {origin}): it is one of {', '.join(allowed)}{near}"
            )
        require_form(one.name, values[one.name], f" (from {origin})")
        origins[one.name] = origin
    if origins["data"] == "default":
        values["data"] = user_data_directory(environ)
    values["data"] = values["data"].expanduser().absolute()
    if origins["snapshots"] == "default":
        values["snapshots"] = values["data"] / "snapshots"
    if origins["tables"] == "default":
        values["tables"] = values["data"] / "tables"
    return Loaded(Settings(**values), origins)


def require_form(name: str, value: object, where: str = "") -> None:
    """SettingsError: a text is not of the form that its setting has."""
    pattern, words = next(one.metadata["form"] for one in fields(Settings) if one.name == name)
    if pattern and not re.fullmatch(pattern, str(value)):
        raise SettingsError(f"setting {name!r} is {value!r}{where}: it is {words}")


def explain(name: str) -> str:
    """The explanation of a setting."""
    return next(str(one.metadata["explain"]) for one in fields(Settings) if one.name == name)


def environment_of(settings: Settings) -> dict[str, str]:
    """Settings as SAFFRON_* variables, for services that the supervisor starts."""
    return {_ENVIRONMENT + one.name.upper(): str(getattr(settings, one.name)) for one in fields(Settings)}


def _file(environ: Mapping[str, str]) -> tuple[Mapping[str, Any], str]:
    """The settings in a file, and its path; empty without a file. SettingsError: unreadable, or named and missing."""
    named = environ.get("SAFFRON_CONFIG")
    base = Path(environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    candidates = [Path(named)] if named else [Path("saffron.toml"), base / "saffron" / "saffron.toml"]
    for path in candidates:
        if not path.is_file():
            continue
        try:
            return tomllib.loads(path.read_text("utf-8")), str(path)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"settings file {path} cannot be read: {error}") from error
    if named:
        raise SettingsError(f"settings file {named} (from SAFFRON_CONFIG) does not exist")
    return {}, ""


@dataclass(frozen=True)
class Unknown:
    """An unknown setting. `name`: of the variable, or of the line in the file."""

    name: str
    what: str
    where: str
    fix: str


def unknown(environ: Mapping[str, str] = os.environ) -> Iterator[Unknown]:
    """Unknown settings in the environment and the file. SettingsError: the file cannot be read."""
    file, path = _file(environ)
    known = [one.name for one in fields(Settings)]
    spelt = [(name, f"variable {name}", name.removeprefix(_ENVIRONMENT).lower()) for name in environ]
    given = [(full, where, name) for full, where, name in spelt if full.startswith(_ENVIRONMENT)]
    given = [one for one in given if one[0] not in _NOT_SETTINGS]
    for full, where, name in [*given, *((name, f"line `{name}` of {path}", name) for name in file)]:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            fix = f"did you mean {close[0]!r}?" if close else "`saffron config show` lists all settings"
            yield Unknown(full, "there is no such setting", where, fix)


def _refuse_unknown(environ: Mapping[str, str], ignored: Collection[str]) -> None:
    """SettingsError: an unknown setting. Ignoring a misspelt one silently would be worse."""
    for one in unknown(environ):
        if one.name not in ignored:
            raise SettingsError(f"{one.where}: {one.what}; {one.fix}")


def _convert(name: str, raw: Any, default: Any, bounds: tuple[int | None, int | None], origin: str) -> Any:
    """A setting's value, of the type of its default. SettingsError: it is of another type, or out of bounds.

    `origin`: the source of the value, for the message.
    """
    if isinstance(default, Path):
        if isinstance(raw, str | Path):
            return Path(raw)
    elif isinstance(default, int):
        try:
            number = int(raw) if isinstance(raw, str) else raw
        except ValueError:
            number = None
        if isinstance(number, int) and not isinstance(number, bool):
            low, high = bounds
            if low is not None and number < low:
                raise SettingsError(f"setting {name!r} is {number} (from {origin}): it must be at least {low}")
            if high is not None and number > high:
                raise SettingsError(f"setting {name!r} is {number} (from {origin}): it must be at most {high}")
            return number
        unit = " of milliseconds" if name.endswith("_ms") else ""
        raise SettingsError(f"setting {name!r} is {raw!r} (from {origin}): a whole number{unit} is needed")
    elif isinstance(raw, str):
        return raw
    raise SettingsError(f"setting {name!r} is {raw!r} (from {origin}): a text is needed")
