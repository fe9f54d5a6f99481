"""Expressions as LaTeX, for papers and notebooks; only for reading, never read back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tolcost.algebra.factor import (
    Factored,
    factored,
    for_reading,
    is_product,
    product_and_rest,
    reading_order,
)
from tolcost.algebra.poly import Monomial, Poly, as_poly
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol
from tolcost.algebra.text import binder_name, display_names

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{c: "\\" + c for c in "{}_%$#&"},
}
_MAX_NAME = 60
Names = Mapping[Symbol, str]


def to_latex(p: Poly | int) -> str:
    r"""Give LaTeX for math mode.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> print(to_latex((n * n + n) // 2))
    \frac{n \left(n + 1\right)}{2}
    """
    value = as_poly(p)
    return _latex(value, display_names(value.free))


def _latex(p: Poly, names: Names) -> str:
    split = factored(p)
    if len(p.terms) > 1 and is_product(split):
        return _product(for_reading(split), names)
    if (found := product_and_rest(p)) is not None:
        return _plus(_product(for_reading(found[0]), names), found[1], names)
    return _plus("", p, names)


def _plus(text: str, p: Poly, names: Names) -> str:
    """Go on with the terms of a sum."""
    for mono in reading_order(p):
        coef = p.terms[mono]
        term = _term(abs(coef), mono, names)
        text += (" - " if coef < 0 else " + ") + term if text else ("-" if coef < 0 else "") + term
    return _over(text or "0", p.den)


def _over(text: str, den: int) -> str:
    if den == 1:
        return text
    minus = "-" if text.startswith("-") and " " not in text else ""
    return rf"{minus}\frac{{{text[len(minus) :]}}}{{{den}}}"


def _product(split: Factored, names: Names) -> str:
    parts = []
    if abs(split.number) != 1:
        parts.append(str(abs(split.number)))
    if split.monomial:
        parts.append(_term(1, split.monomial, names))
    for factor, times in split.factors:
        power = f"^{{{times}}}" if times > 1 else ""
        parts.append(rf"\left({_latex(factor, names)}\right){power}")
    minus = "-" if split.number < 0 else ""
    return minus + _over(" ".join(parts), split.den)


def _term(number: int, mono: Monomial, names: Names) -> str:
    parts = [str(number)] if number != 1 or not mono else []
    for generator in sorted(set(mono), key=lambda g: g.key):
        times = mono.count(generator)
        base = _generator(generator, names)
        if times > 1 and isinstance(generator, Sum):
            base = rf"\left({base}\right)"
        parts.append(base + (f"^{{{times}}}" if times > 1 else ""))
    return " ".join(parts)


def _generator(generator: Generator, names: Names) -> str:
    match generator:
        case Symbol():
            return name_latex(names.get(generator, generator.name))
        case Floor(p=p, q=q):
            return rf"\left\lfloor\frac{{{_latex(p, names)}}}{{{_latex(q, names)}}}\right\rfloor"
        case Relu(p=p):
            return rf"\max\left({_latex(p, names)}, 0\right)"
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            binder = binder_name(set(names.values()))
            inside = _latex(body, {**names, symbol: binder})
            return rf"\sum_{{{binder}={_latex(lo, names)}}}^{{{_latex(hi, names)}}} \left({inside}\right)"


def name_latex(name: str) -> str:
    r"""Set one letter, with a number as index, as a variable and anything else upright and escaped.

    >>> print(name_latex("n"), name_latex("n_2"), name_latex("batch_size"))
    n n_{2} \mathrm{batch\_size}
    """
    simple = re.fullmatch(r"([A-Za-z])(?:_?([0-9]+))?", name)
    if simple:
        return simple[1] if simple[2] is None else f"{simple[1]}_{{{simple[2]}}}"
    shown = name if len(name) <= _MAX_NAME else name[:_MAX_NAME] + "..."
    safe = "".join(_SPECIAL.get(c, c) if c.isprintable() else "?" for c in shown)
    return rf"\mathrm{{{safe}}}"
