"""A Spark session on a JVM of our own, or on the one that spark-submit started."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from saffron.spark.gateway import Gateway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_session(gateway: Gateway, settings: Mapping[str, str]) -> SparkSession:
    """A session with these settings on the gateway's JVM."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _environment(gateway):
        session: SparkSession = builder.getOrCreate()
    return session


def close_session(session: SparkSession) -> None:
    """End a session and the connections to its JVM, so that this process can open another one."""
    from pyspark import SparkContext

    context: Any = SparkContext
    with contextlib.suppress(Exception):  # the JVM may be gone, which the user of the session has seen
        session.stop()
    if context._gateway is not None:
        context._gateway.close(keep_callback_server=False, close_callback_server_connections=True)
        context._gateway = context._jvm = None


@contextlib.contextmanager
def _environment(gateway: Gateway) -> Iterator[None]:
    """A context with the environment by which PySpark finds the JVM; later child processes must not inherit it."""
    before = dict(os.environ)
    os.environ.update(gateway.environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
