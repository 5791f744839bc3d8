"""The strings of all engines, under the name by which `query` knows them."""

from saffron.engine.strings import Strings

__all__ = ["Strings"]
