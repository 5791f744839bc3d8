"""Every error that Saffron raises on purpose.

    SaffronError
    ├── QueryError        a query's text is wrong (stage, place and hint; `carets` renders it)
    ├── SchemaError       a stream's schema is wrong, or an operation does not fit it
    ├── InputError        a file or an event given by the user is wrong
    │   └── ForkError         what has threads or connections was begun before this process was forked
    ├── AggregateError    a user-defined aggregate is wrong, or fails on its input
    ├── FunctionError     a user-defined function is wrong, or fails on its input
    ├── FailedError       a query that was right ended with an exception: its own data's, or a fault of ours
    ├── OvertakenError    others change the same query or stream at the same moment
    ├── SettingsError     a flag, a SAFFRON_* variable or a line of the settings file is wrong
    └── LogError          the log (Kafka or its in-memory twin) refused or failed
        ├── FencedError       another owner has taken over: stop, write nothing more
        ├── AbortableError    the open transaction must be aborted and the state reloaded
        ├── StreamError       one stream cannot go on: it waits, the others go on
        │   ├── RowsError         the schema of a query's rows is not registered yet
        │   ├── SearchError       the place to go on from is still looked for
        │   ├── RemadeError       a topic was deleted and made anew: never read on at the old offset
        │   ├── TruncatedError    a topic has lost its end: what was read of it does not stand in it any more
        │   └── CutOffError       retention took what the stream is taken up from: it must begin anew
        ├── GapError          a block is missing from an internal topic: never skipped over
        ├── DeniedError       the user lacks a right, or is not known: only whoever grants it can fix that
        ├── UnwritableError   a topic takes nothing, until its settings or rights change: others go on
        │   ├── WriteDeniedError  the user may not write to it: only whoever grants the right can fix that
        │   └── TooLargeError     a message is larger than its topic takes: only another setting fixes that
        ├── RefusedError      a schema registry answers, and says no
        └── UnavailableError  no broker answers

A message says what is wrong (with the value), where, and how to fix it.
"""

from __future__ import annotations

from collections.abc import Callable

from saffron.carets import CUT, printable, render

BEGIN_ANEW = "saffron stream remove NAME, then the command that it names"
"""How a stream begins anew with its settings, in messages."""
CREATE_ANEW = "saffron down, then saffron up, which creates what is missing"
"""How a topic that belongs to no stream is there again, in messages."""
MOST = 400
"""Characters of what an exception says, in a message; a log has the rest."""


def one_line(thing: object, write: Callable[[object], str] = str) -> str:
    """What a user's value or exception is as text (`write`: str or repr), fit for any record, log and terminal.

    One line of printable characters, MOST of them at most. A user's own class may fail at telling it: that is said.
    """
    try:
        text = write(thing)
    except Exception as error:
        return f"(what it says cannot be had: {type(error).__name__})"
    line = " ".join(text.split())
    return printable(line) if len(line) <= MOST else printable(line[:MOST]) + CUT


class SaffronError(Exception):
    """Base of all errors raised on purpose; the command line prints it without a traceback."""


class SchemaError(SaffronError):
    """A stream's schema is wrong, or an operation does not fit it."""


class InputError(SaffronError):
    """A file or an event given by the user is wrong."""


class ForkError(InputError):
    """Something that has threads or connections was begun in another process, and a fork has neither."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was begun before this process was forked, and cannot go on in it: begin it anew here")


class OvertakenError(SaffronError):
    """Others change the same query or stream at the same moment, again and again."""


class AggregateError(SaffronError):
    """A user-defined aggregate is wrong, or fails on its input."""


class FunctionError(SaffronError):
    """A user-defined function is wrong, or fails on its input."""


class FailedError(SaffronError):
    """A query that was right has ended with an exception; others go on."""


class SettingsError(SaffronError):
    """A flag, a SAFFRON_* variable or a line of the settings file is wrong."""


class LogError(SaffronError):
    """The log (Kafka or its in-memory twin) refused or failed."""


class FencedError(LogError):
    """Another owner has taken over: stop at once and write nothing more."""


class AbortableError(LogError):
    """The open transaction must be aborted and the state reloaded from the committed position."""


class GapError(LogError):
    """A block is missing from an internal topic; going on would lose events silently."""


class StreamError(LogError):
    """One stream cannot go on until its user removes the obstacle in the message. The others go on."""


class RowsError(StreamError):
    """Rows of a query cannot be written, since their schema is not registered yet."""


class SearchError(StreamError):
    """A chain cannot go on yet: its last record is still looked for, in a topic that may be long."""


class RemadeError(StreamError):
    """A topic was deleted and made anew under its name: its old offsets are void.

    `topic`: its full name.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(
            f"topic {topic} was deleted and made anew while it was in use: what it held is gone. Remove its stream and "
            f"add it again: {BEGIN_ANEW}"
        )


class TruncatedError(StreamError):
    """A partition of an internal topic has lost its end, from `offset` on: what was read there is gone."""

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        self.offset = offset
        super().__init__(
            f"{topic}/{partition} has lost its end: its records from offset {offset} on are not those that were read "
            "(a broker without replicas lost power, or an out-of-sync replica was elected). Remove its stream and add "
            f"it again: {BEGIN_ANEW}"
        )


class CutOffError(StreamError):
    """Retention took the blocks of an internal topic that a stream is taken up from; it now begins at offset `low`."""

    def __init__(self, topic: str, partition: int, low: int) -> None:
        super().__init__(
            f"{topic}/{partition}: its records before offset {low} are gone, and with them what its stream is taken up "
            "from: the topic was trimmed, or nobody was there for its whole retention. Remove its stream and add it "
            f"again: {BEGIN_ANEW}"
        )


class DeniedError(LogError):
    """The user that speaks to the log lacks a right, or its name or password is wrong. To be told, and tried again.

    `topic`: the full name of the only topic that it concerns; "": others may be closed too.
    """

    def __init__(self, message: str, topic: str = "") -> None:
        self.topic = topic
        super().__init__(message)


class UnwritableError(LogError):
    """A topic takes nothing, until somebody changes its settings or grants the right. Others go on.

    `topic`: its full name, if known.
    """

    def __init__(self, message: str, topic: str = "") -> None:
        self.topic = topic
        super().__init__(message)


class WriteDeniedError(UnwritableError):
    """The user that speaks to the log may not write to a topic."""


class TooLargeError(UnwritableError):
    """A message is larger than its topic takes."""


class RefusedError(LogError):
    """A schema registry refuses a request: only another schema, right or setting fixes that."""


class UnavailableError(LogError):
    """No broker answers at the given address."""


class QueryError(SaffronError):
    """A query's text is wrong.

    `stage` is one of "syntax", "schema", "plan"; `start` and `end` are character offsets into `text`
    (end exclusive) of the whole offending range; `expected` and `hint` are sentences or empty.
    `unknown`: a type or an attribute is not in the schema. `str(error)` is the full rendering with carets (see
    `carets.render`).
    """

    def __init__(
        self, message: str, *, stage: str, text: str, start: int, end: int, hint: str = "", unknown: bool = False
    ) -> None:
        self.message = message
        self.stage = stage
        self.text = text
        self.start = start
        self.end = end
        self.hint = hint
        self.unknown = unknown
        super().__init__(render(message, text=text, start=start, end=end, hint=hint))
