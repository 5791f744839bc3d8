"""The kinds as which a rule of a definition reads a value."""

from enum import Enum


class As(Enum):
    """The kind as which a value is read, whatever it is written as."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
