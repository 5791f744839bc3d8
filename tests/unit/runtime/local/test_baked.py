from __future__ import annotations

import os
from pathlib import Path

from saffron.runtime.local.baked import bake, unpack


def baked(tmp_path: Path, name: str = "baked", code: str = "code") -> Path:
    """An image's copy of what was compiled into a cache."""
    cache = tmp_path / "built"
    (cache / "kernels").mkdir(parents=True)
    (cache / "kernels" / "one.py").write_text(code)
    (cache / "kernels" / "one.lock").write_text("")
    os.utime(cache / "kernels" / "one.py", (1_000, 1_000))
    bake(cache, tmp_path / name)
    assert not cache.exists()
    return tmp_path / name


def test_a_cache_is_filled_once(tmp_path: Path) -> None:
    source, cache = baked(tmp_path), tmp_path / "cache"
    assert unpack(source, cache)
    assert not unpack(source, cache)
    files = {str(one.relative_to(cache)) for one in cache.rglob("*") if one.is_file()}
    assert files == {"baked", "kernels/one.py"}
    assert (cache / "kernels" / "one.py").stat().st_mtime == 1_000


def test_another_image_takes_its_place_and_what_was_added_stays(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    unpack(baked(tmp_path), cache)
    (cache / "kernels" / "mine.py").write_text("mine")
    assert unpack(baked(tmp_path, "newer", "newer code"), cache)
    assert (cache / "kernels" / "one.py").read_text() == "newer code"
    assert (cache / "kernels" / "mine.py").read_text() == "mine"


def test_what_was_broken_off_is_done_again(tmp_path: Path) -> None:
    source, cache = baked(tmp_path), tmp_path / "cache"
    unpack(source, cache)
    (cache / "baked").unlink()
    (cache / "kernels" / "one.py").unlink()
    assert unpack(source, cache)
    assert (cache / "kernels" / "one.py").read_text() == "code"


def test_files_of_an_image_may_be_read_only_and_its_copies_not(tmp_path: Path) -> None:
    source, cache = baked(tmp_path), tmp_path / "cache"
    (source / "kernels" / "one.py").chmod(0o444)
    unpack(source, cache)
    assert (cache / "kernels" / "one.py").stat().st_mode & 0o777 == 0o644


def test_where_nothing_was_baked_nothing_is_put(tmp_path: Path) -> None:
    assert not unpack(tmp_path / "none", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
