"""What the grammar's rules for statements make of their parts; those for expressions are inherited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from tolcost.syntax.build_expressions import ExpressionBuilder, Values, names_of
from tolcost.syntax.tree import (
    Call,
    Define,
    Ellipsis,
    Expr,
    Index,
    Input,
    ListDecl,
    Name,
    Operator,
    SpaceDecl,
    Statement,
    Tuple,
    Unpack,
    Use,
    Zeros,
)


@dataclass(frozen=True, slots=True)
class _Declared:
    name: str
    mark: str


class Builder(ExpressionBuilder):
    """Makes the statements of one source."""

    def operator(self, values: Values, start: int, end: int) -> Operator:
        """``operator Name 13``."""
        since = values[2] if len(values) > 2 else None
        if since is not None and not (since.isdecimal() and len(since) < 10):
            self._complain("T0108", "a version is a whole number", self._span(end - len(since), end))
            since = None
        return Operator(values[1], int(since) if since else None, self._span(start, end))

    def use(self, values: Values, start: int, end: int) -> Use:
        """``use a, b``."""
        return Use(tuple(values[1]), self._span(start, end))

    def space(self, values: Values, start: int, end: int) -> SpaceDecl:
        """``space s: N [0, 255]``."""
        low, high = (values[5], values[7]) if len(values) > 4 else (None, None)
        return SpaceDecl(values[1], values[3], low, high, self._span(start, end))

    def list(self, values: Values, start: int, end: int) -> ListDecl:
        """``list p: [R, R], B``."""
        return ListDecl(values[1], tuple(values[3]), self._span(start, end))

    def declared(self, values: Values, start: int, end: int) -> _Declared:
        """The name of an input, perhaps marked optional or variadic."""
        return _Declared(values[0], values[1] if len(values) > 1 else "")

    def declare(self, values: Values, start: int, end: int, default: Expr | None = None) -> Input:
        """``tol x: R [n]``."""
        kind = cast(Literal["tol", "static", "attr"], values[0])
        name, mark = values[1].name, values[1].mark
        shape = tuple(values[4]) if len(values) > 4 else ()
        span = self._span(start, end)
        return Input(kind, name, values[3], shape, mark == "?", mark == "...", default, span)

    def declare_default(self, values: Values, start: int, end: int) -> Input:
        """``attr x: R = 1``."""
        return self.declare(values[:-2], start, end, default=values[-1])

    def ellipsis(self, values: Values, start: int, end: int) -> Ellipsis:
        """``...`` among lengths."""
        return Ellipsis(self._span(start, end))

    def zeros(self, values: Values, start: int, end: int) -> Zeros:
        """``tol x = [n, m]``."""
        kind, declared, _, shape = values
        if kind != "tol" or declared.mark:
            hint = f"write `{kind} {declared.name}{declared.mark}: R` and then the shape or the default"
            self._complain("T0104", "an input needs a space", self._span(start, shape.span.start), hint)
        return Zeros(declared.name, shape, self._span(start, end))

    def zeros_filled(self, values: Values, start: int, end: int) -> Zeros:
        """``tol x := e``, which is neither a declaration nor an output."""
        kind, declared, _, shape = values
        hint = f"drop `{kind}` to define an output, or write `=` and a shape to declare zeros"
        span = self._span(start, start + len(kind))
        self._complain("T0109", f"`{kind}` cannot stand before `:=`", span, hint)
        return Zeros(declared.name, shape, self._span(start, end))

    def variadic_output(self, values: Values, start: int, end: int) -> Define:
        """``ys... := e``."""
        return Define(values[0], None, values[3], True, True, self._span(start, end))

    def output(self, values: Values, start: int, end: int) -> Statement:
        """``y := e``."""
        return self.define(values, start, end, output=True)

    def define(self, values: Values, start: int, end: int, output: bool = False) -> Statement:
        """``x = e``, ``f(i) = e``, ``(a, b) = e``."""
        span = self._span(start, end)
        target, value = values[0], values[2]
        match target:
            case Name(name):
                return Define(name, None, value, output, False, span)
            case Call(Name(name), args, ()) if (params := names_of(args)) is not None:
                return Define(name, params, value, output, False, span)
            case Tuple(items) if (names := names_of(items)) is not None:
                if output:
                    hint = "name the outputs one by one"
                    self._complain("T0110", "a list of names cannot be an output", target.span, hint)
                return Unpack(names, value, span)
        self._complain("T0111", "this cannot be defined", target.span, _definition_hint(target))
        return Define("", None, value, output, False, span)


def _definition_hint(target: Expr) -> str:
    match target:
        case Index(Name(name)):
            return f"define the whole of `{name}`: `{name} = map(…, …, [i])`"
        case Call():
            return "the parameters of a function are names: `f(i, j) = …`"
        case _:
            return "a definition starts with a name: `x = …`, `f(i) = …` or `(a, b) = …`"
