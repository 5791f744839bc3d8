"""Partial evaluation: straight-line kernels for one query, from the text of kernels and the query's constants.

Kernels are written once, over arrays that describe any plan (`arrays.Wiring`), and run so as plain Python. Compiled in
that form they would be slow, and take long to compile: each function would take all arrays, and each loop would look up
the plan. Specialised, everything that a plan decides is a literal. Loops over states and transitions are unrolled, and
branches that cannot be taken are left out. A function is made anew for each set of literal arguments. It takes only
those arrays of the store and the batch that it, or what it calls, uses.

The kernels are a subset of Python. Functions have positional parameters without defaults. Names are bound by plain
assignments and `for ... in range(...)`. A loop that is unrolled has no `break` or `continue` of its own.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.trends.codegen.folding import (
    STRUCTURES,
    UNKNOWN,
    Folder,
    Known,
    Made,
    Path,
)
from saffron.engine.trends.codegen.syntax import assigned_once, attribute_of, leaves_early, text_of


@dataclass
class Specialiser:
    """Makes functions for one query out of those of `functions`, by name; `made` are those so far, callees first."""

    functions: Mapping[str, ast.FunctionDef]
    known: Known
    made: list[ast.FunctionDef] = field(default_factory=list)
    _by_call: dict[tuple[str, tuple[Any, ...]], Made] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def entry(self, name: str) -> list[str]:
        """Make an entry point: it keeps its parameters, and hands out the arrays of `store` and `batch`, which are
        returned."""
        source = self.functions[name]
        names = [argument.arg for argument in source.args.args]
        made = _Body(self, source, tuple(Path(n) if n in STRUCTURES else UNKNOWN for n in names)).made(name)
        function = made.function
        paths = {part: path for part, path in made.handed.items() if isinstance(path, str)}
        handed = [ast.parse(f"{part} = {self._sized(path)}").body[0] for part, path in paths.items()]
        parameters = [ast.arg(argument.arg) for argument in source.args.args]
        function.args = ast.arguments([], parameters, None, [], [], None, [])
        function.body = [*handed, *function.body]
        self.made.append(function)
        return list(paths.values())

    def _sized(self, path: str) -> str:
        """An array with its known sizes."""
        text = path
        for (told, axis), size in self.known.told.items():
            if told == path:
                text = f"sized({text}, {axis}, {size})"
        return text

    def function(self, name: str, arguments: tuple[Any, ...]) -> Made:
        """The function for these arguments, literals or UNKNOWN."""
        key = (name, arguments)
        if key not in self._by_call:
            source = self.functions[name]
            made = _named(_Body(self, source, arguments).made(name))
            self._by_call[key] = made
            if made.value is UNKNOWN and made.function.body and made.function.name not in self._names:
                self._names.add(made.function.name)
                self.made.append(made.function)
        return self._by_call[key]


def _named(made: Made) -> Made:
    """The function, renamed by a hash of its text, in which the functions that it calls have such names."""
    digest = hashlib.sha256(ast.unparse(made.function).encode()).hexdigest()
    made.function.name = f"{made.function.name}_{digest[:16]}"
    return made


class _Body(Folder):
    """One function being made."""

    def __init__(self, maker: Specialiser, source: ast.FunctionDef, arguments: tuple[Any, ...]) -> None:
        super().__init__(maker.functions, maker.known, maker.function, common=source.name in maker.known.common)
        self._source = source
        names = [argument.arg for argument in source.args.args]
        given = {n: v for n, v in zip(names, arguments, strict=True) if v is not UNKNOWN}
        self._structures = {n: v.path for n, v in given.items() if isinstance(v, Path)}
        self._literals = {n: v for n, v in given.items() if n not in self._structures}
        self._parameters = [n for n in names if n not in given and n != "wiring"]

    def made(self, name: str) -> Made:
        """The function, evaluated as far as it goes."""
        literals = dict(self._literals)
        body, before = self._source.body, ""
        while (text := text_of(body)) != before:
            before = text
            self._literals, self._wanted, self._handed = dict(literals), self._handed, {}
            self._once = assigned_once(body)
            body = self._block(body)
        value: Any = None if not body else UNKNOWN
        if len(body) == 1 and isinstance(body[0], ast.Return):
            value = self._literal(body[0].value)
        arguments = [ast.arg(n) for n in (*self._parameters, *self._handed)]
        signature = ast.arguments([], arguments, None, [], [], None, [])
        return Made(ast.FunctionDef(name, signature, body, [], lineno=0), dict(self._handed), value)

    # ---------------------------------------------------------------- statements

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            result += self._statement(statement)
            if result and isinstance(result[-1], ast.Return | ast.Break | ast.Continue):
                break
        return result

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements that are left of one: none where it has no effect, several where a loop is unrolled."""
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
        """The assignment of a folded value; no statement where the name is bound once and the value is known.

        The value, array or structure is then noted, and stands in place of the name from here on.
        """
        if isinstance(target, ast.Name) and target.id in self._once:
            if isinstance(value, ast.Constant):
                self._literals[target.id] = value.value
                return []
            if attribute_of(value, "wiring") or (isinstance(value, ast.Name) and value.id in self._handed):
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
        return [ast.Assign([self._place(target)], value, lineno=0)]

    def _place(self, target: ast.expr) -> ast.expr:
        """The target of an assignment, folded, except for names."""
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
        """The statements of a loop over `range` or `between`.

        The loop is unrolled if its bounds are literals, its rounds are few (`Known.unrolled`), and nothing leaves it
        early.
        """
        bounds = [self._fold(argument) for argument in called.args]
        if isinstance(called.func, ast.Name) and called.func.id == "between":
            return self._between(target.id, bounds, body)
        literals = [bound.value for bound in bounds if isinstance(bound, ast.Constant)]
        if len(literals) == len(bounds):
            numbers = range(*(int(str(literal)) for literal in literals))
            if len(numbers) <= self._known.unrolled and not leaves_early(body):
                return [statement for number in numbers for statement in self._round(target.id, number, body)]
        inner = self._block(body)
        return [ast.For(target, ast.Call(called.func, bounds, []), inner, [], lineno=0)] if inner else []

    def _between(self, slot: str, bounds: list[ast.expr], body: list[ast.stmt]) -> list[ast.stmt]:
        """A loop over the slots of windows, of which there is at least one (`arrays.between`)."""
        assert not leaves_early(body)
        if self._literal(bounds[2]) == 1:
            return self._round(slot, 0, body)
        first, last, size = map(ast.unparse, bounds)
        text = f"{slot} = ({first}) % {size}\nfor _ in range(({last}) - ({first}) + 1):\n    pass"
        assign, loop = ast.parse(text).body
        assert isinstance(loop, ast.For)
        following = ast.parse(f"{slot} = {slot} + 1 if {slot} + 1 < {size} else 0").body
        loop.body = [*self._block(body), *following]
        return [assign, loop]

    def _round(self, name: str, number: int, body: list[ast.stmt]) -> list[ast.stmt]:
        self._literals[name] = number
        result = self._block(body)
        del self._literals[name]
        return result
