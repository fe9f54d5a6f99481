"""Conversion of expressions to sympy objects, for users who continue with sympy.

Floors and clips become functions of our own that evaluate only on integers, because sympy's ``floor`` and
``Max`` rewrite themselves wrongly under ordinary substitutions. No text reaches sympy's parser: everything is
built from objects, and names are made safe first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any, TypeAlias

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from tolcost.algebra.floors import generator_range
from tolcost.algebra.piecewise import relu
from tolcost.algebra.poly import (
    Exponential,
    Floor,
    Log2,
    Poly,
    Relu,
    Sum,
    Symbol,
    as_poly,
)
from tolcost.algebra.printers import display_names
from tolcost.algebra.walk import FormWalk, Rule, RuleTable

SympyExpr: TypeAlias = sympy.Expr
"""The type of expressions, for modules that pass them on without importing sympy."""


class FloorDiv(sympy.Function):  # type: ignore[misc]  # sympy is not typed
    """The floor of a quotient; evaluates when both arguments are integers."""

    nargs = 2

    @classmethod
    def eval(cls, top: SympyExpr, bottom: SympyExpr) -> SympyExpr | None:
        """Divide integers; leave everything else unevaluated."""
        if isinstance(top, sympy.Integer) and isinstance(bottom, sympy.Integer) and bottom > 0:
            return sympy.Integer(int(top) // int(bottom))
        return None

    def _eval_is_integer(self) -> bool:
        return True

    def _sympystr(self, printer: StrPrinter) -> str:
        top, bottom = (printer.doprint(a) for a in self.args)
        return f"floor({_bracketed(top)}/{_bracketed(bottom)})"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        top, bottom = (printer.doprint(a) for a in self.args)
        return rf"\left\lfloor\frac{{{top}}}{{{bottom}}}\right\rfloor" + _power(exp)


class Clip(sympy.Function):  # type: ignore[misc]  # sympy is not typed
    """The larger of an expression and 0; evaluates on integers."""

    nargs = 1

    @classmethod
    def eval(cls, inside: SympyExpr) -> SympyExpr | None:
        """Clip an integer; leave everything else unevaluated."""
        return sympy.Integer(max(int(inside), 0)) if isinstance(inside, sympy.Integer) else None

    def _eval_is_integer(self) -> bool:
        return True

    def _eval_is_nonnegative(self) -> bool:
        return True

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"Max({printer.doprint(self.args[0])}, 0)"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        return rf"\max\left({printer.doprint(self.args[0])}, 0\right)" + _power(exp)


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _power(exp: str | None) -> str:
    return "" if exp is None else f"^{{{exp}}}"


def sympy_symbols(symbols: Iterable[Symbol]) -> dict[Symbol, sympy.Symbol]:
    """Return a sympy symbol with a safe, unique name for each symbol; a known sign becomes an assumption."""
    names = display_names(symbols, safe_name)
    return {s: sympy.Symbol(name, integer=True, **_assumptions(s)) for s, name in names.items()}


def _assumptions(symbol: Symbol) -> dict[str, bool]:
    low = generator_range(symbol)[0]
    if low is None or low < 0:
        return {}
    return {"positive": True} if low else {"nonnegative": True}


def length_symbols(names: str) -> Any:
    """Return the sympy symbols of lengths that are at least 1: a single one, or a tuple of several."""
    return sympy.symbols(names, integer=True, positive=True)


def safe_name(name: str) -> str:
    """Replace each character that is not a letter, digit or underscore by its code.

    >>> safe_name("batch size")
    'batch_u20_size'
    """
    text = re.sub(r"[^A-Za-z0-9_]", lambda m: f"_u{ord(m[0]):x}_", name[:200])
    return text if re.match(r"[A-Za-z_]", text) else f"_{text}"


_BINDERS = "ijklpqrstuvw"


def _fresh_binder(symbols: Mapping[Symbol, sympy.Symbol]) -> sympy.Symbol:
    """Return a summation variable whose name, with the underscore that sympy prints, no symbol in scope has.

    Variables of one name would be the same variable when their text is parsed again.
    """
    taken = {str(symbol) for symbol in symbols.values()}
    names = chain(_BINDERS, (f"i{n}" for n in count()))
    return sympy.Dummy(next(name for name in names if f"_{name}" not in taken), integer=True)


class InSympy(FormWalk[SympyExpr, SympyExpr]):
    """Conversion of forms to sympy, whatever the rules make of generators."""

    symbols: dict[Symbol, sympy.Symbol]

    def form(self, p: Poly) -> SympyExpr:
        """Convert a form."""
        terms = ((sympy.Rational(coef, p.den), mono) for mono, coef in p.terms.items())
        return sympy.Add(*(sympy.Mul(coef, *map(self.generator, mono)) for coef, mono in terms))


def _own_sum(walk: InSympy, generator: Sum) -> SympyExpr:
    # sympy defines a sum over an empty range as the negative of the reversed sum; here it is 0.
    lo, hi = generator.lo, generator.hi
    end = lo - 1 + relu(hi - lo + 1)
    binder = _fresh_binder(walk.symbols)
    inside = _WithOurFunctions({**walk.symbols, generator.symbol: binder}).form(generator.body)
    return sympy.Sum(inside, (binder, walk.form(lo), walk.form(end)))


IN_SYMPY: RuleTable[Rule[SympyExpr]] = RuleTable(
    "sympy",
    {
        Symbol: lambda walk, symbol: walk.symbols[symbol],
        Floor: lambda walk, floor: FloorDiv(walk.form(floor.p), walk.form(floor.q)),
        Relu: lambda walk, clip: Clip(walk.form(clip.p)),
        Log2: lambda walk, log: sympy.ceiling(sympy.log(walk.form(log.p), 2)),
        Exponential: lambda walk, power: sympy.Pow(sympy.Integer(power.base), walk.form(power.p)),
        Sum: _own_sum,
    },
)


class _WithOurFunctions(InSympy):
    rules = IN_SYMPY


def to_sympy(p: Poly | int, symbols: Mapping[Symbol, sympy.Symbol] | None = None) -> SympyExpr:
    """Convert an expression to sympy.

    >>> from tolcost.algebra.poly import length
    >>> to_sympy(length("n") * 2 + 1)
    2*n + 1
    """
    value = as_poly(p)
    return _WithOurFunctions(dict(sympy_symbols(value.free) if symbols is None else symbols)).form(value)


def largest_to_sympy(candidates: Sequence[Poly]) -> SympyExpr:
    """Convert the largest of several forms to sympy.

    >>> from tolcost.algebra.poly import length
    >>> largest_to_sympy([length("n"), length("m")])
    Max(m, n)
    """
    symbols = sympy_symbols({s for p in candidates for s in p.free})
    forms = [to_sympy(candidate, symbols) for candidate in candidates]
    return forms[0] if len(forms) == 1 else sympy.Max(*forms, evaluate=False)
