"""Constant folding of expressions with known facts on the query, for `specialise`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.trends.codegen.syntax import attribute_of, bound_in, evaluated

STRUCTURES = ("store", "batch")
"""Structures that are passed array by array; `wiring` is a constant as a whole."""


@dataclass(frozen=True)
class Known:
    """Facts on a query that its code may rely on.

    `wiring`: its arrays by name. `shapes`: sizes of the store's arrays by name and axis. `told`: sizes on which the
    text does not depend, for the compiler that optimises it. `names`: constants. `unrolled`: the longest loop that is
    unrolled.

    `common`: functions whose text is the same for many queries. No use is made of literals in them. They are handed the
    values of the wiring's `params` that they read, if a value is more than 1 or its place is in `varied`.
    """

    wiring: Mapping[str, Any]
    shapes: Mapping[tuple[str, int], int]
    names: Mapping[str, Any]
    unrolled: int = 64
    common: frozenset[str] = frozenset()
    varied: frozenset[int] = frozenset()
    told: Mapping[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """A function after folding.

    `handed`: arrays and numbers that it needs besides its parameters: their places, or their values. `value`: its
    result, if known.
    """

    function: ast.FunctionDef
    handed: dict[str, str | int]
    value: Any


@dataclass(frozen=True)
class Path:
    """One of STRUCTURES, as an argument."""

    path: str


class Unknown:
    pass


UNKNOWN = Unknown()


Make = Callable[[str, tuple[Any, ...]], Made]
"""The function of this name for these arguments."""


class Folder:
    """The expressions of one function being made: the known values of its names, and the arguments that it needs."""

    def __init__(
        self, functions: Mapping[str, ast.FunctionDef], known: Known, made: Make, *, common: bool = False
    ) -> None:
        self._functions = functions
        self._common = common
        self._known = known
        self._make = made
        self._literals: dict[str, Any] = {}
        self._structures: dict[str, str] = {}
        self._arrays: dict[str, ast.expr] = {}
        self._parameters: list[str] = []
        self._handed: dict[str, str | int] = {}
        self._wanted: dict[str, str | int] = {}

    def _literal(self, node: ast.expr | None) -> Any:
        return node.value if isinstance(node, ast.Constant) else UNKNOWN

    def _fold(self, node: ast.expr) -> ast.expr:
        """The expression with all known parts worked out; other kinds of expression stay as they are.

        An array of a structure becomes a name, and is noted among the arguments that the function needs (`_handed`).
        """
        match node:
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute(value=base, attr=attribute) if self._structure(base) is not None:
                path = f"{self._structure(base)}.{attribute}"
                if path in STRUCTURES:
                    return ast.Name(path, ast.Load())
                self._handed[path.replace(".", "_")] = path
                return ast.Name(path.replace(".", "_"), ast.Load())
            case ast.Subscript(value=base, slice=index):
                return self._item(self._fold(base), self._fold(index), node.ctx)
            case ast.Attribute(value=base, attr=attribute):
                return ast.Attribute(self._fold(base) if attribute == "shape" else base, attribute, ast.Load())
            case ast.Tuple(elts=parts):
                return ast.Tuple([self._fold(part) for part in parts], ast.Load())
            case ast.BinOp(left=left, op=op, right=right):
                left, right = self._fold(left), self._fold(right)
                if isinstance(op, ast.Mod) and self._literal(right) == 1:
                    return ast.Constant(0)  # one window at a time
                return evaluated(ast.BinOp(left, op, right))
            case ast.UnaryOp(op=op, operand=operand):
                return evaluated(ast.UnaryOp(op, self._fold(operand)))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return evaluated(ast.Compare(self._fold(left), ops, [self._fold(other) for other in others]))
            case ast.BoolOp(op=op, values=values):
                return self._logic(op, values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                folded = self._fold(test)
                if isinstance(folded, ast.Constant):
                    return self._fold(body if folded.value else orelse)
                return ast.IfExp(folded, self._fold(body), self._fold(orelse))
            case ast.Call():
                return self._call(node)
        return node

    def _name(self, node: ast.expr, name: str) -> ast.expr:
        """The literal, array or constant that a name is known to be, else a name.

        An argument of an earlier pass (`_wanted`) stays an argument.
        """
        if name in self._literals:
            return ast.Constant(self._literals[name])
        if name in self._arrays:
            return self._fold(self._arrays[name])
        if name in self._wanted:
            self._handed[name] = self._wanted[name]
        if name in self._structures:
            return ast.Name(self._structures[name], ast.Load())
        if name in self._known.names and name not in self._parameters:
            value = self._known.names[name]
            return ast.Constant(value, kind=name if type(value) is int else None)  # see `named`
        return node

    def _item(self, base: ast.expr, index: ast.expr, context: ast.expr_context) -> ast.expr:
        """An element of an array; both parts are folded already.

        The index of an array of the wiring must be a literal, as its elements are known. The size of an array becomes a
        literal where it is known.
        """
        wired = attribute_of(base, "wiring")
        if wired is not None:
            place = ast.literal_eval(index)
            value = self._known.wiring[wired][place].item()
            return self._number(f"{wired}_{place}", value, place) if wired == "params" else ast.Constant(value)
        if isinstance(base, ast.Attribute) and base.attr == "shape" and isinstance(base.value, ast.Name):
            size = self._size(base.value, self._literal(index))
            if size is not None:
                return ast.Constant(size)
        return ast.Subscript(base, index, context)

    def _number(self, name: str, value: int, place: int) -> ast.expr:
        """A number of the query: a literal, but where many have the function."""
        if not self._common or (value in (0, 1) and place not in self._known.varied):
            return ast.Constant(value)
        self._handed[name] = value
        return ast.Name(name, ast.Load())

    def _logic(self, op: ast.boolop, values: list[ast.expr]) -> ast.expr:
        """A folded `and` or `or`: neutral operands are left out, a deciding one is the result."""
        deciding = isinstance(op, ast.Or)
        rest: list[ast.expr] = []
        for value in map(self._fold, values):
            if not isinstance(value, ast.Constant):
                rest.append(value)
            elif bool(value.value) is deciding:
                if not rest:
                    return ast.Constant(deciding)
                rest.append(ast.Constant(deciding))
                break
        if not rest:
            return ast.Constant(not deciding)
        return rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)

    def _call(self, node: ast.Call) -> ast.expr:
        """The call with its arguments folded.

        A call of one of our functions becomes one of its version for the literals among them, or its result. `len`
        becomes the size of the array, where that is known.
        """
        assert not node.keywords
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            return self._own(node.func.id, node.args)
        arguments = [self._fold(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            return self._length(arguments[0])
        return ast.Call(node.func, arguments, [])

    def _length(self, array: ast.expr) -> ast.expr:
        wired = attribute_of(array, "wiring")
        if wired is not None:
            return ast.Constant(len(self._known.wiring[wired]))
        size = self._size(array, 0)
        return ast.Constant(size) if size is not None else ast.Call(ast.Name("len", ast.Load()), [array], [])

    def _size(self, array: ast.expr, axis: Any) -> int | None:
        """The size of an array of the store, if it is known."""
        place = self._handed.get(array.id) if isinstance(array, ast.Name) else None
        return self._known.shapes.get((place, axis)) if isinstance(place, str) else None

    def _structure(self, node: ast.expr) -> str | None:
        """The name of the structure in STRUCTURES that the expression is."""
        if isinstance(node, ast.Attribute):
            whole = self._structure(node.value)
            path = f"{whole}.{node.attr}"
            return path if whole is not None and path in STRUCTURES else None
        if not isinstance(node, ast.Name):
            return None
        return self._structures.get(node.id, node.id if "." in node.id else None)

    def _own(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        """A call of another of the functions: of the one for these literals."""
        parameters = [argument.arg for argument in self._functions[name].args.args]
        folded = {
            parameter: self._fold(argument)
            for parameter, argument in zip(parameters, arguments, strict=True)
            if parameter != "wiring"
        }
        paths = {p: path for p, value in folded.items() if (path := self._structure(value)) is not None}
        changed = folded.keys() if name in self._known.common else bound_in(self._functions[name])
        literal = {p: self._literal(value) for p, value in folded.items() if p not in changed}
        literal |= {p: Path(path) for p, path in paths.items()}
        made = self._make(name, tuple(literal.get(p, UNKNOWN) for p in parameters))
        if made.value is not UNKNOWN:
            return ast.Constant(made.value)
        given = [value for p, value in folded.items() if literal.get(p, UNKNOWN) is UNKNOWN]
        given += [self._hand(part, what) for part, what in made.handed.items()]
        return ast.Call(ast.Name(made.function.name, ast.Load()), given, [])

    def _hand(self, part: str, what: str | int) -> ast.expr:
        """The expression for one argument of a called function: a number from the wiring, or a name."""
        if isinstance(what, int):
            return self._number(part, what, int(part.rpartition("_")[2]))
        self._handed[part] = what
        return ast.Name(part, ast.Load())
