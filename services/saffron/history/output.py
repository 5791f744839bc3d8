"""The output of a backfill: a directory of JSON lines or Parquet, on any file system that Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saffron.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMS = ("jsonl", "parquet")
ORDER = ("end", "start", "query", "id", "line")
"""Sort order of results, equal in every run. "end" is the time of the last event, or the end of a trend's window."""
DEAD_LETTERS = "_dead-letters"
"""Subdirectory of the results. Readers of the whole directory ignore names that begin with _."""


class Output:
    """A new directory of results. `form`: "jsonl", the lines of a replay; "parquet", with id, query and times too."""

    def __init__(self, session: SparkSession, directory: str, form: str) -> None:
        self._session = session
        self._directory = directory
        self._form = form

    def require_free(self) -> None:
        """Raise InputError if the directory exists; called before the work."""
        system, path = self._system(self._directory)
        if system.exists(path):
            raise InputError(
                f"{self._directory} is there already: results go to a new directory (remove it, or name another)"
            )

    def write(self, results: DataFrame) -> None:
        """Write all results; they are in order if files are read by name."""
        ordered = results.orderBy(*ORDER)
        if self._form == "parquet":
            ordered.select("id", "query", "start", "end", "line").write.parquet(self._directory)
        else:
            self._write_lines(ordered, self._directory)

    def write_dead_letters(self, letters: DataFrame) -> None:
        """Write the dead letters, in the order of arrival."""
        self._write_lines(letters, f"{self._directory}/{DEAD_LETTERS}")

    def _write_lines(self, frame: DataFrame, directory: str) -> None:
        """Write lines to .jsonl files, which Spark names .txt."""
        frame.select("line").write.text(directory)
        system, path = self._system(directory)
        for status in system.listStatus(path):
            name = status.getPath().getName()
            if name.endswith(".txt"):
                system.rename(status.getPath(), self._path(f"{directory}/{name.removesuffix('.txt')}.jsonl"))

    def _system(self, directory: str) -> tuple[Any, Any]:
        """The file system of a directory, and its path, as Hadoop's objects."""
        context: Any = self._session.sparkContext
        path = self._path(directory)
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path

    def _path(self, name: str) -> Any:
        context: Any = self._session.sparkContext
        return context._jvm.org.apache.hadoop.fs.Path(name)
