"""Event time: records put in order and numbered, watermarks, windows, and control records at their positions."""

from saffron.engine.windows.dead_letters import DeadLetter
from saffron.engine.windows.operator import WindowingOperator
from saffron.engine.windows.registered import Notice

__all__ = ["DeadLetter", "Notice", "WindowingOperator"]
