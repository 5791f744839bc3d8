"""What a rule of a definition reads a value as."""

from enum import Enum


class As(Enum):
    """What a value is read as, whatever it is written as."""

    NUMBER = "number"
    TEXT = "text"
    BOOLEAN = "boolean"
