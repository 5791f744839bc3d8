"""Partial evaluation: the text of kernels, and what is known of a query, give straight-line kernels for that query.

Kernels are written once, over arrays that describe any plan (`layout.Wiring`), and run so as plain Python. Compiled so
they would be slow, and long in compiling: each function would be handed all arrays, each loop would look up what the
plan says. Here everything that a plan says becomes a literal: loops over states and transitions are unrolled, branches
that cannot be taken are left out, functions are made anew for each set of literal arguments, and of the store and the
batch each is handed the arrays alone that it (or what it calls) uses.

The kernels are a subset of Python: functions of positional parameters without defaults; names are bound by plain
assignments and `for ... in range(...)`; loops that are unrolled have neither `break` nor `continue` of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

STRUCTURES = ("store", "batch")
"""What is handed on array by array; `wiring` is known whole."""


@dataclass(frozen=True)
class Known:
    """What is known of a query. `wiring`: its arrays by name; `shapes`: sizes of the store's arrays by name and axis;
    `names`: constants; `unrolled`: how long a loop may be to be unrolled; `variable`: parameters of functions of which
    literals are not made use of, so that one function serves all of them.
    """

    wiring: Mapping[str, Any]
    shapes: Mapping[tuple[str, int], int]
    names: Mapping[str, Any]
    unrolled: int = 64
    variable: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass
class Specialiser:
    """Makes functions for one query out of those of `functions`, by name; `made` are those so far, callees first."""

    functions: Mapping[str, ast.FunctionDef]
    known: Known
    made: list[ast.FunctionDef] = field(default_factory=list)
    _by_call: dict[tuple[str, tuple[Any, ...]], _Made] = field(default_factory=dict)

    def entry(self, name: str) -> None:
        """Make an entry point: it keeps its parameters, and hands out the arrays of `store` and `batch`."""
        source = self.functions[name]
        names = [argument.arg for argument in source.args.args]
        made = _Body(self, source, tuple(_Path(n) if n in STRUCTURES else _UNKNOWN for n in names)).made(name)
        function = made.function
        handed = [ast.parse(f"{part} = {path}").body[0] for part, path in made.handed.items()]
        parameters = [ast.arg(argument.arg) for argument in source.args.args]
        function.args = ast.arguments([], parameters, None, [], [], None, [])
        function.body = [*handed, *function.body]
        self.made.append(ast.fix_missing_locations(function))

    def function(self, name: str, arguments: tuple[Any, ...]) -> _Made:
        """The function for these arguments, literals or _UNKNOWN."""
        key = (name, arguments)
        if key not in self._by_call:
            source = self.functions[name]
            body = _Body(self, source, arguments)
            number = sum(other == name for other, _ in self._by_call)
            made = body.made(f"{name}_{number}")
            self._by_call[key] = made
            if made.value is _UNKNOWN and made.function.body:
                self.made.append(made.function)
        return self._by_call[key]


@dataclass(frozen=True)
class _Made:
    """`handed`: arrays it wants besides its parameters, and where they are; `value`: what it returns if known."""

    function: ast.FunctionDef
    handed: dict[str, str]
    value: Any


@dataclass(frozen=True)
class _Path:
    """One of STRUCTURES, as an argument."""

    path: str


class _Unknown:
    pass


_UNKNOWN = _Unknown()


class _Body:
    """One function being made."""

    def __init__(self, maker: Specialiser, source: ast.FunctionDef, arguments: tuple[Any, ...]) -> None:
        self._maker = maker
        self._known = maker.known
        self._source = source
        self._handed: dict[str, str] = {}
        names = [argument.arg for argument in source.args.args]
        given = {n: v for n, v in zip(names, arguments, strict=True) if v is not _UNKNOWN}
        self._structures = {n: v.path for n, v in given.items() if isinstance(v, _Path)}
        self._literals = {n: v for n, v in given.items() if n not in self._structures}
        self._parameters = [n for n in names if n not in given and n != "wiring"]
        self._arrays: dict[str, ast.expr] = {}
        self._wanted: dict[str, str] = {}

    def made(self, name: str) -> _Made:
        """The function, evaluated as far as it goes."""
        literals = dict(self._literals)
        body, before = self._source.body, ""
        while _text(body) != before:
            before = _text(body)
            self._literals, self._wanted, self._handed = dict(literals), self._handed, {}
            self._once = _assigned_once(body)
            body = self._block(body)
        value: Any = None if not body else _UNKNOWN
        if len(body) == 1 and isinstance(body[0], ast.Return):
            value = self._literal(body[0].value)
        arguments = [ast.arg(n) for n in (*self._parameters, *self._handed)]
        signature = ast.arguments([], arguments, None, [], [], None, [])
        function = ast.FunctionDef(name, signature, body, [], None, None)
        return _Made(ast.fix_missing_locations(function), dict(self._handed), value)

    # ---------------------------------------------------------------- statements

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            result += self._statement(statement)
            if result and isinstance(result[-1], ast.Return | ast.Break | ast.Continue):
                break
        return result

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr(value=value):
                folded = self._fold(value)
                return [] if isinstance(folded, ast.Constant) else [ast.Expr(folded)]
            case ast.Assign(targets=[target], value=value):
                return self._assign(target, self._fold(value))
            case ast.AugAssign(target=target, op=op, value=value):
                place = self._place(target)
                assert isinstance(place, ast.Name | ast.Subscript)
                return [ast.AugAssign(place, op, self._fold(value))]
            case ast.Return(value=value):
                return [ast.Return(None if value is None else self._fold(value))]
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(self._fold(test), body, orelse)
            case ast.While(test=test, body=body):
                folded = self._fold(test)
                return [ast.While(folded, self._block(body) or [ast.Pass()], [])]
            case ast.For(target=ast.Name() as target, iter=ast.Call() as called, body=body):
                return self._for(target, called, body)
        return [node]

    def _assign(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name) and target.id in self._once:
            if isinstance(value, ast.Constant):
                self._literals[target.id] = value.value
                return []
            if _path(value, "wiring") or (isinstance(value, ast.Name) and value.id in self._handed):
                self._arrays[target.id] = value
                return []
            structure = self._structure(value)
            if structure is not None:
                self._structures[target.id] = structure
                return []
        if isinstance(target, ast.Name):  # it may have been known in the loop's round before
            self._literals.pop(target.id, None)
            self._arrays.pop(target.id, None)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            names = {part.id for part in target.elts if isinstance(part, ast.Name)}
            if len(names) == len(target.elts) and names <= self._once:
                return [
                    statement
                    for one, its in zip(target.elts, value.elts, strict=True)
                    for statement in self._assign(one, its)
                ]
        return [ast.Assign([self._place(target)], value)]

    def _place(self, target: ast.expr) -> ast.expr:
        """What is assigned to: a name stays, the parts of anything else are folded."""
        if isinstance(target, ast.Name):
            return target
        if isinstance(target, ast.Tuple):
            return ast.Tuple([self._place(part) for part in target.elts], ast.Store())
        return self._fold(target)

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> list[ast.stmt]:
        if isinstance(test, ast.Constant):
            return self._block(body if test.value else orelse)
        then, other = self._block(body), self._block(orelse)
        if not then and not other:
            return [ast.Expr(test)] if any(isinstance(part, ast.Call) for part in ast.walk(test)) else []
        if not then:
            return [ast.If(ast.UnaryOp(ast.Not(), test), other, [])]
        return [ast.If(test, then, other)]

    def _for(self, target: ast.Name, called: ast.Call, body: list[ast.stmt]) -> list[ast.stmt]:
        bounds = [self._fold(argument) for argument in called.args]
        literals = [bound.value for bound in bounds if isinstance(bound, ast.Constant)]
        if len(literals) == len(bounds):
            numbers = range(*(int(str(literal)) for literal in literals))
            if len(numbers) <= self._known.unrolled and not _leaves(body):
                return [statement for number in numbers for statement in self._round(target.id, number, body)]
        inner = self._block(body)
        return [ast.For(target, ast.Call(called.func, bounds, []), inner, [])] if inner else []

    def _round(self, name: str, number: int, body: list[ast.stmt]) -> list[ast.stmt]:
        self._literals[name] = number
        result = self._block(body)
        del self._literals[name]
        return result

    # ---------------------------------------------------------------- expressions

    def _literal(self, node: ast.expr | None) -> Any:
        return node.value if isinstance(node, ast.Constant) else _UNKNOWN

    def _fold(self, node: ast.expr) -> ast.expr:
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
                return _evaluated(ast.BinOp(left, op, right))
            case ast.UnaryOp(op=op, operand=operand):
                return _evaluated(ast.UnaryOp(op, self._fold(operand)))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return _evaluated(ast.Compare(self._fold(left), ops, [self._fold(other) for other in others]))
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
        if name in self._literals:
            return ast.Constant(self._literals[name])
        if name in self._arrays:
            return self._fold(self._arrays[name])
        if name in self._wanted:
            self._handed[name] = self._wanted[name]
        if name in self._structures:
            return ast.Name(self._structures[name], ast.Load())
        if name in self._known.names and name not in self._parameters:
            return ast.Constant(self._known.names[name])
        return node

    def _item(self, base: ast.expr, index: ast.expr, context: ast.expr_context) -> ast.expr:
        wired = _path(base, "wiring")
        if wired is not None:
            place = ast.literal_eval(index)
            return ast.Constant(self._known.wiring[wired][place].item())
        if isinstance(base, ast.Attribute) and base.attr == "shape" and isinstance(base.value, ast.Name):
            size = self._size(base.value, self._literal(index))
            if size is not None:
                return ast.Constant(size)
        return ast.Subscript(base, index, context)

    def _logic(self, op: ast.boolop, values: list[ast.expr]) -> ast.expr:
        """and, or: operands that say nothing are left out, what one decides is decided."""
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
        assert not node.keywords
        if isinstance(node.func, ast.Name) and node.func.id in self._maker.functions:
            return self._own(node.func.id, node.args)
        arguments = [self._fold(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            return self._length(arguments[0])
        return ast.Call(node.func, arguments, [])

    def _length(self, array: ast.expr) -> ast.expr:
        wired = _path(array, "wiring")
        if wired is not None:
            return ast.Constant(len(self._known.wiring[wired]))
        size = self._size(array, 0)
        return ast.Constant(size) if size is not None else ast.Call(ast.Name("len", ast.Load()), [array], [])

    def _size(self, array: ast.expr, axis: Any) -> int | None:
        """The size of an array of the store, if it is known."""
        if isinstance(array, ast.Name) and array.id in self._handed:
            return self._known.shapes.get((self._handed[array.id], axis))
        return None

    def _structure(self, node: ast.expr) -> str | None:
        """Which of STRUCTURES the expression is."""
        if isinstance(node, ast.Attribute):
            whole = self._structure(node.value)
            path = f"{whole}.{node.attr}"
            return path if whole is not None and path in STRUCTURES else None
        if not isinstance(node, ast.Name):
            return None
        return self._structures.get(node.id, node.id if "." in node.id else None)

    def _own(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        """A call of another of the functions: of the one for these literals."""
        parameters = [argument.arg for argument in self._maker.functions[name].args.args]
        folded = {
            parameter: self._fold(argument)
            for parameter, argument in zip(parameters, arguments, strict=True)
            if parameter != "wiring"
        }
        paths = {p: path for p, value in folded.items() if (path := self._structure(value)) is not None}
        changed = {p for statement in self._maker.functions[name].body for p in _bound(statement)}
        changed |= self._known.variable.get(name, frozenset())
        literal = {p: self._literal(value) for p, value in folded.items() if p not in changed}
        literal |= {p: _Path(path) for p, path in paths.items()}
        made = self._maker.function(name, tuple(literal.get(p, _UNKNOWN) for p in parameters))
        if made.value is not _UNKNOWN:
            return ast.Constant(made.value)
        self._handed |= made.handed
        given = [value for p, value in folded.items() if literal.get(p, _UNKNOWN) is _UNKNOWN]
        handed = [ast.Name(part, ast.Load()) for part in made.handed]
        return ast.Call(ast.Name(made.function.name, ast.Load()), [*given, *handed], [])


def _text(statements: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(statements, [])))


def _path(node: ast.expr, whole: str) -> str | None:
    """The attribute, where the expression is one of `whole`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == whole:
        return node.attr
    return None


def _evaluated(node: ast.expr) -> ast.expr:
    """The expression, worked out if all its parts are literals."""
    parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if not all(isinstance(part, ast.Constant) for part in parts):
        return node
    whole = ast.fix_missing_locations(ast.Expression(node))
    return ast.Constant(eval(compile(whole, "literal", "eval"), {"__builtins__": {}}))


def _assigned_once(statements: list[ast.stmt]) -> set[str]:
    """Names that one statement alone binds."""
    names = [name for statement in statements for name in _bound(statement)]
    return {name for name in names if names.count(name) == 1}


def _bound(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id


def _leaves(statements: list[ast.stmt]) -> bool:
    """Whether a loop with this body has a `break` or `continue` of its own."""
    for statement in statements:
        if isinstance(statement, ast.Break | ast.Continue):
            return True
        if isinstance(statement, ast.If) and (_leaves(statement.body) or _leaves(statement.orelse)):
            return True
    return False
