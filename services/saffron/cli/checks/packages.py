"""Python and the packages of pyproject.toml: there, and of versions that fit."""

from __future__ import annotations

import operator
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

from saffron.cli.checks.finding import Finding, error, ok, warning

_PACKAGE = "saffron"
_EXTRAS = {
    "control": "the live page and the API (`saffron run control`)",
    "model-builder": "learning on Spark (`saffron run model-builder`)",
    "local": "the embedded broker of `saffron up`",
    "registry": "streams in Avro or Protobuf",
}
"""Extra -> what does not run without it."""
_COMPARE: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<": operator.lt,
    "==": operator.eq,
}
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*])?\s*([^;]*)(?:;.*extra\s*==\s*['\"]([^'\"]+)['\"])?")


@dataclass(frozen=True)
class Requirement:
    """A package by name, the versions that fit (">=1,<2"), and the extra that asks for it ("": all do)."""

    name: str
    versions: str
    extra: str = ""

    def fits(self, version: str) -> bool:
        """Whether this version is one of them."""
        return all(_fits(version, one.strip()) for one in self.versions.split(",") if one.strip())


def required() -> tuple[str, list[Requirement]]:
    """What the installed package asks for: versions of Python, and packages. Nothing where it is not installed."""
    try:
        asked = metadata.requires(_PACKAGE) or []
        python = metadata.metadata(_PACKAGE)["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        return "", []
    matches = (match for one in asked if (match := _REQUIREMENT.match(one)))
    found = [Requirement(match[1], match[2].strip(), match[3] or "") for match in matches]
    return python, [one for one in found if one.name != _PACKAGE and (not one.extra or one.extra in _EXTRAS)]


def installed(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Versions of those that are there, by name."""
    found = {}
    for one in requirements:
        try:
            found[one.name] = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            continue
    return found


def check_python(wanted: str, version: str | None = None) -> Iterator[Finding]:
    """`version`: of this Python, unless given."""
    version = version or platform.python_version()
    if Requirement("python", wanted).fits(version):
        yield ok("python", version, sys.executable)
    else:
        fix = "make setup PYTHON=python3.12, or another that fits"
        yield error("python", f"Python {version}, but {wanted} is needed", sys.executable, fix)


def check_packages(requirements: Iterable[Requirement], versions: Mapping[str, str]) -> Iterator[Finding]:
    """Each that is missing or of a wrong version."""
    good = 0
    for one in requirements:
        have = versions.get(one.name)
        wanted = f"'{one.name}{one.versions}'"
        if have is None and one.extra:
            what = f"{one.name} is not installed; without it there is no {_EXTRAS[one.extra]}"
            yield warning("packages", what, f"extra {one.extra}", f"pip install 'saffron[{one.extra}]'")
        elif have is None:
            yield error("packages", f"{one.name} is not installed", sys.prefix, f"pip install {wanted}")
        elif not one.fits(have):
            what = f"{one.name} is {have}, but {one.versions} is needed"
            yield error("packages", what, sys.prefix, f"pip install {wanted}")
        else:
            good += 1
    yield ok("packages", f"{good} of the versions that are asked for", sys.prefix)


def _fits(version: str, wanted: str) -> bool:
    sign = next((one for one in _COMPARE if wanted.startswith(one)), None)
    if sign is None:
        return True
    have, than = _numbers(version), _numbers(wanted.removeprefix(sign))
    size = max(len(have), len(than))
    padded = (one + (0,) * (size - len(one)) for one in (have, than))
    return _COMPARE[sign](*padded)


def _numbers(version: str) -> tuple[int, ...]:
    """1.2.3rc1 is taken as 1.2.3."""
    found = re.match(r"\d+(?:\.\d+)*", version.strip())
    return tuple(int(one) for one in found[0].split(".")) if found else ()
