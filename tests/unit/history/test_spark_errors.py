"""What Spark says, as one sentence; settings of its JVM and sessions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from saffron.errors import InputError, SaffronError
from saffron.history.session import java_options, opened, settings
from saffron.history.spark_errors import translated

TASK = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/x/worker.py", line 5, in main
{0}

	at org.apache.spark.api.python.BasePythonRunner
"""


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (TASK.format("saffron.errors.InputError: a.csv: is not CSV"), InputError, "a.csv: is not CSV"),
        (TASK.format("ModuleNotFoundError: No module named 'x'"), SaffronError, "No module named 'x'"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/no. SQLSTATE: 42K03", InputError, "no such file"),
        ("[CANNOT_MERGE_SCHEMAS] Failed merging", InputError, "two types"),
        (
            "an error occurred\n: x.E: [FAILED_READ_FILE.X] reading file file:/a.parquet\n",
            InputError,
            "file:/a.parquet",
        ),
        ("something else\nat org.x", SaffronError, "Spark: something else"),
        ("", SaffronError, "(no message)"),
    ],
)
def test_an_error_of_sparks_is_one_sentence(text: str, kind: type[SaffronError], said: str) -> None:
    error = translated(text)
    assert type(error) is kind
    assert said in str(error)
    assert "\n" not in str(error)


def test_settings_of_a_driver_become_options_of_its_jvm() -> None:
    conf = {"spark.driver.memory": "3GB", "spark.driver.extraJavaOptions": '-Da="b c" -Xss9m'}
    assert java_options("local[2]", conf) == ["-Xmx3g", "-XX:+UseSerialGC", "-Da=b c", "-Xss9m"]
    assert java_options("spark://head:7077", {}) == ["-Xmx2g", "-XX:+UseParallelGC"]


def test_what_the_user_sets_counts_most(tmp_path: Path) -> None:
    found = settings("local[3]", {"spark.ui.enabled": "true"}, tmp_path, submitted=False)
    assert found["spark.master"] == "local[3]"
    assert found["spark.sql.shuffle.partitions"] == "3"
    assert found["spark.ui.enabled"] == "true"
    far = settings("yarn", {}, tmp_path, submitted=False)
    assert not any("adaptive" in name or "shuffle" in name for name in far)
    assert "spark.master" not in settings("local[*]", {}, tmp_path, submitted=True)


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SaffronError, match=r"pip install 'saffron-cep\[spark\]'"), opened("local[1]", {}):
        raise AssertionError("there is no Spark")
