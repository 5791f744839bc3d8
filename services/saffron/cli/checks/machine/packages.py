"""The check of Python and of the packages in pyproject.toml: installed, in fitting versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from saffron.cli.finding import Finding, error, ok, warning
from saffron.distribution import NAME, install

_EXTRAS = {
    "control": "the live page and the API (`saffron run control`)",
    "model-builder": "learning on Spark (`saffron run model-builder`)",
    "local": "the embedded broker of `saffron up`",
    "registry": "streams or results in Avro or Protobuf",
}
"""Extra -> the parts that do not run without it."""


@dataclass(frozen=True)
class Wanted:
    """A package, the versions that fit (">=1,<2"), and the extra that asks for it ("": all do)."""

    name: str
    versions: str
    extra: str = ""

    def fits(self, version: str) -> bool:
        """True if this version is in the range."""
        return SpecifierSet(self.versions).contains(version, prereleases=True)


def required() -> tuple[str, list[Wanted]]:
    """The requirements of the installed package: versions of Python, and packages. Empty if it is not installed."""
    try:
        asked = metadata.requires(NAME) or []
        python = metadata.metadata(NAME)["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        return "", []
    return python, [one for text in asked for one in _wanted(Requirement(text))]


def _wanted(one: Requirement) -> Iterator[Wanted]:
    """The packages of one requirement: of all users, or of the first extra that names it."""
    if one.name == NAME:
        return
    if one.marker is None or one.marker.evaluate({"extra": ""}):
        yield Wanted(one.name, str(one.specifier))
    elif extra := next((name for name in _EXTRAS if one.marker.evaluate({"extra": name})), None):
        yield Wanted(one.name, str(one.specifier), extra)


def installed(requirements: Iterable[Wanted]) -> dict[str, str]:
    """Versions of installed packages, by name."""
    found = {}
    for one in requirements:
        try:
            found[one.name] = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            continue
    return found


def check_python(wanted: str, version: str | None = None) -> Iterator[Finding]:
    """Findings on the version of Python. `version`: of this Python, unless given."""
    version = version or platform.python_version()
    if Wanted("python", wanted).fits(version):
        yield ok("python", version, sys.executable)
    else:
        fix = "make setup PYTHON=python3.12, or another that fits"
        yield error("python", f"Python {version}, but {wanted} is needed", sys.executable, fix)


def check_packages(requirements: Iterable[Wanted], versions: Mapping[str, str]) -> Iterator[Finding]:
    """Findings on packages that are missing or of a wrong version."""
    good = 0
    for one in requirements:
        have = versions.get(one.name)
        wanted = f"'{one.name}{one.versions}'"
        if have is None and one.extra:
            what = f"{one.name} is not installed; it is needed for {_EXTRAS[one.extra]}"
            yield warning("packages", what, f"extra {one.extra}", install(one.extra))
        elif have is None:
            yield error("packages", f"{one.name} is not installed", sys.prefix, f"pip install {wanted}")
        elif not one.fits(have):
            what = f"{one.name} is {have}, but {one.versions} is needed"
            yield error("packages", what, sys.prefix, f"pip install {wanted}")
        else:
            good += 1
    yield ok("packages", f"{good} of the versions that are asked for", sys.prefix)
