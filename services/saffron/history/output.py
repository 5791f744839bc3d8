"""Where results go: a directory of JSON lines or of Parquet, on any file system that Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from saffron.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMS = ("jsonl", "parquet")
ORDER = ("end", "start", "query", "id", "line")
"""Results stand by their last event's time (of a trend: its window's end), then by these: the same in every run."""
DEAD_LETTERS = "_dead-letters"
"""Under the directory of results; whoever reads that as a whole passes over names that begin with _."""


class Output:
    """A directory that is not there yet. `form`: "jsonl", results as replay writes them, or "parquet", with their id,
    query and times beside the text."""

    def __init__(self, session: SparkSession, directory: str, form: str) -> None:
        self._session = session
        self._directory = directory
        self._form = form

    def require_free(self) -> None:
        """InputError where something is there: it is asked before the work, not after."""
        system, path = self._system(self._directory)
        if system.exists(path):
            raise InputError(
                f"{self._directory} is there already: results go to a new directory (remove it, or name another)"
            )

    def write(self, results: DataFrame) -> None:
        """All results, in their order over all files by name."""
        ordered = results.orderBy(*ORDER)
        if self._form == "parquet":
            ordered.select("id", "query", "start", "end", "line").write.parquet(self._directory)
        else:
            self._write_lines(ordered, self._directory)

    def write_dead_letters(self, letters: DataFrame) -> None:
        """What was no event, in the order of arrival."""
        self._write_lines(letters, f"{self._directory}/{DEAD_LETTERS}")

    def _write_lines(self, frame: DataFrame, directory: str) -> None:
        """Spark calls a text .txt; ours are JSON lines, and named so."""
        frame.select("line").write.text(directory)
        system, path = self._system(directory)
        for status in system.listStatus(path):
            name = status.getPath().getName()
            if name.endswith(".txt"):
                system.rename(status.getPath(), self._path(f"{directory}/{name.removesuffix('.txt')}.jsonl"))

    def _system(self, directory: str) -> tuple[Any, Any]:
        context: Any = self._session.sparkContext
        path = self._path(directory)
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path

    def _path(self, name: str) -> Any:
        context: Any = self._session.sparkContext
        return context._jvm.org.apache.hadoop.fs.Path(name)
