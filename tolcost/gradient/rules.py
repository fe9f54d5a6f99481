"""The table of derivatives: rows of ``derivatives.tol`` as functions of expressions.

A row is read by ToLang's own parser, and translated here for numbers alone: names, numerals, infix operators,
calls of elementary functions, lists and blocks. An item of the list that nobody needs is not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

from msgspec import Struct, field

from tolcost.diagnostics import InternalError
from tolcost.elementary import INFIX
from tolcost.gradient.equations import Expression
from tolcost.syntax import parse, read_source, tree

TABLE = Path(__file__).parents[1] / "derivatives.tol"

Applies = Callable[[str, tuple[Expression, ...]], Expression]
"""Applies an elementary function."""
MakesNumber = Callable[[int | Fraction | float], Expression]
"""Makes a static number."""


@cache
def rows() -> Mapping[str, tree.Define]:
    """Return the rows of the table by their names."""
    found = parse(read_source(str(TABLE)))
    return {row.name: row for row in found.statements if isinstance(row, tree.Define)}


def row_of(function: str, count: int, is_last_static: bool) -> tree.Define | None:
    """Return the row for a function of so many arguments; None if there is none."""
    table = rows()
    names = [f"{function}_static"] if is_last_static else []
    for name in (*names, function, f"{function}_base"):
        row = table.get(name)
        if row is not None and len(row.params or ()) == count + 2:
            return row
    return None


class Adjoints(Struct, eq=False):
    """The adjoints of the arguments of one application, each made when it is asked for."""

    row: tree.Define
    args: tuple[Expression, ...]
    apply: Applies
    literal: MakesNumber
    names: dict[str, Expression] = field(default_factory=dict)
    lazy: dict[str, tree.Expr] = field(default_factory=dict)

    def of_argument(self, n: int) -> Expression:
        """Return the adjoint of an argument."""
        self.names.update(zip(self.row.params or (), self.args, strict=True))
        value = self.row.value
        if isinstance(value, tree.BlockExpr):
            for statement in value.statements:
                if isinstance(statement, tree.Define):
                    self.lazy[statement.name] = statement.value
            value = value.result
        return self.value(value.items[n] if isinstance(value, tree.Tuple) else value)

    def value(self, expr: tree.Expr) -> Expression:
        """Translate an expression."""
        match expr:
            case tree.Name(name=name):
                if name not in self.names:
                    self.names[name] = self.value(self.lazy[name])
                return self.names[name]
            case tree.Numeral(text=text):
                return self.literal(int(text) if text.isdigit() else float(text))
            case tree.Unary(op="-", value=value):
                return self.apply("neg", (self.value(value),))
            case tree.Infix(first=first, rest=rest):
                result = self.value(first)
                for op, right in rest:
                    result = self.apply(INFIX[op], (result, self.value(right)))
                return result
            case tree.Call(function=tree.Name(name=name), args=args):
                return self.apply(name, tuple(map(self.value, args)))
            case _:
                raise InternalError(f"a row of {TABLE.name} has something that is not translated: {expr}")
