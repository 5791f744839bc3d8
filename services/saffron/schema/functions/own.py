"""Functions of a user's own, registered with `@saffron.function`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from saffron.errors import FunctionError, one_line
from saffron.schema.functions.function import Function, Takes
from saffron.schema.functions.registry import Registry
from saffron.schema.functions.text import LONGEST
from saffron.schema.numbers import fits
from saffron.schema.schema import Kind

_TAKES: Mapping[Any, Takes] = {str: Takes.TEXT, float: Takes.NUMBER, int: Takes.NUMBER, bool: Takes.TRUTH}
_GIVES: Mapping[Any, Kind] = {str: Kind.STRING, float: Kind.FLOAT, int: Kind.LONG, bool: Kind.BOOL}
_WRITE = "write def f(text: str, number: float) -> str, with str, float, int or bool"

_own = Registry[Function]("a function", FunctionError)
find, require, registered, forget, changes = _own.find, _own.require, _own.registered, _own.forget, _own.changes


def register(name: str, function: Callable[..., Any], taken: frozenset[str]) -> Function:
    """Make a function known to queries of this process that are bound from now on; one of that name is replaced.

    Its annotations say what it takes and gives. `taken`: names that it cannot have. FunctionError: such a name, or
    annotations that say something else.
    """
    _own.check_name(name, taken=name in taken)
    if not isinstance(function, FunctionType):
        raise FunctionError(f"function {name!r} is a {type(function).__name__}; {_WRITE}")
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise FunctionError(f"function {name!r}: an annotation is not known: {error}; {_WRITE}") from error
    words = []
    for parameter in inspect.signature(function).parameters.values():
        takes = _TAKES.get(hints.get(parameter.name))
        if takes is None or parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise FunctionError(f"function {name!r}: it is not known what {parameter.name} is; {_WRITE}")
        words.append(takes.value if parameter.default is parameter.empty else f"[{takes.value}]")
    gives = _GIVES.get(_without_none(hints.get("return")))
    if gives is None:
        raise FunctionError(f"function {name!r}: it is not known what it gives; {_WRITE}")
    made = Function(f"{name}({', '.join(words)})", gives, _checked(name, function, gives))
    add(made)
    return made


def add(made: Function) -> None:
    """Register a function that another process has registered."""
    _own.add(made.name, made)


def _without_none(hint: Any) -> Any:
    """The type hint `str` of `str | None`."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    left = [one for one in get_args(hint) if one is not NoneType]
    return left[0] if len(left) == 1 else None


def _checked(name: str, function: Callable[..., Any], gives: Kind) -> Callable[..., Any]:
    """The function, with a FunctionError where it fails or gives what it should not. None is null."""

    def called(*values: Any) -> Any:
        """The function's value for these arguments, whole numbers as floats where it gives a float.

        None is null, and so is a text that is longer than allowed. FunctionError: it failed, or gave another kind.
        """
        try:
            found = function(*values)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in it, too, is the function's failure, and not the process's end
            shown = ", ".join(repr(value)[:60] for value in values)
            raise FunctionError(f"function {name!r} failed on ({shown}): {one_line(error, repr)}") from error
        if found is None:
            return None
        if what := _misfit(found, gives):
            raise FunctionError(f"function {name!r} gave {one_line(found, repr):.60}, which is {what}")
        if gives is Kind.STRING and len(found) > LONGEST:
            return None
        return float(found) if gives is Kind.FLOAT else found

    return called


def _misfit(found: Any, gives: Kind) -> str:
    """What a value is instead of one of this kind; "" if it is one."""
    good = isinstance(found, {Kind.STRING: str, Kind.BOOL: bool}.get(gives, int | float))
    if not good or (gives.is_number and isinstance(found, bool)):
        return f"not {gives.noun}"
    if gives.is_whole and not fits(found, gives):
        return "no whole number of 64 bits"
    try:
        if gives is Kind.FLOAT:
            float(found)
        elif gives is Kind.STRING:
            found.encode()
    except OverflowError:
        return "beyond every float of 64 bits"
    except UnicodeEncodeError:
        return "no text: it has half of a surrogate pair"
    return ""
