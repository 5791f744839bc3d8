"""Event time: records put in order and numbered, watermarks, windows, and control records at their positions."""

from saffron.engine.windows.operator import DeadLetter, WindowingOperator
from saffron.engine.windows.registered import Notice

__all__ = ["DeadLetter", "Notice", "WindowingOperator"]
