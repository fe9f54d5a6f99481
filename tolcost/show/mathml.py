"""Closed forms as MathML, for browsers; only for reading, never read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from tolcost.algebra import Floor, Generator, Monomial, Poly, Relu, Sum, Symbol, display_names
from tolcost.algebra.factor import (
    Factored,
    factored,
    for_reading,
    is_product,
    product_and_rest,
    reading_order,
)
from tolcost.algebra.text import binder_name
from tolcost.cost import Quotient
from tolcost.diagnostics import visible
from tolcost.result.forms import lowest

Names = Mapping[Symbol, str]
_TIMES = "<mo>&#x2062;</mo>"
_SIMPLE = re.compile(r"([A-Za-z][A-Za-z]*)(?:_([0-9]+))?")


def mathml(form: Poly | Quotient) -> str:
    """Give a ``math`` element.

    >>> from tolcost.algebra import length
    >>> print(mathml(2 * length("n")))
    <math><mn>2</mn><mo>&#x2062;</mo><mi>n</mi></math>
    """
    if isinstance(form, Poly):
        return f"<math>{_form(form, display_names(form.free))}</math>"
    top, bottom = lowest(form)
    if not isinstance(bottom, Poly):
        raise TypeError("a depth has no MathML")
    names = display_names(top.free | bottom.free)
    if bottom == 1:
        return f"<math>{_form(top, names)}</math>"
    return f"<math>{_fraction(_form(top, names), _form(bottom, names))}</math>"


def _form(p: Poly, names: Names) -> str:
    split = factored(p)
    if len(p.terms) > 1 and is_product(split):
        return _product(for_reading(split), names)
    if (found := product_and_rest(p)) is not None:
        return _plus([_product(for_reading(found[0]), names)], found[1], names)
    return _plus([], p, names)


def _plus(parts: list[str], p: Poly, names: Names) -> str:
    """Go on with the terms of a sum."""
    for mono in reading_order(p):
        coef = p.terms[mono]
        if coef < 0:
            parts.append("<mo>&#x2212;</mo>")
        elif parts:
            parts.append("<mo>+</mo>")
        parts.append(_term(abs(coef), mono, names))
    return _over("".join(parts) or "<mn>0</mn>", p.den)


def _over(inside: str, den: int) -> str:
    return inside if den == 1 else _fraction(inside, f"<mn>{den}</mn>")


def _fraction(top: str, bottom: str) -> str:
    return f"<mfrac><mrow>{top}</mrow><mrow>{bottom}</mrow></mfrac>"


def _product(split: Factored, names: Names) -> str:
    parts = [f"<mn>{abs(split.number)}</mn>"] if abs(split.number) != 1 else []
    parts += [_term(1, split.monomial, names)] if split.monomial else []
    for factor, times in split.factors:
        inside = f"<mrow><mo>(</mo>{_form(factor, names)}<mo>)</mo></mrow>"
        parts.append(_raised(inside, times))
    minus = "<mo>&#x2212;</mo>" if split.number < 0 else ""
    return minus + _over(_TIMES.join(parts), split.den)


def _raised(base: str, times: int) -> str:
    return base if times == 1 else f"<msup>{base}<mn>{times}</mn></msup>"


def _term(number: int, mono: Monomial, names: Names) -> str:
    parts = [f"<mn>{number}</mn>"] if number != 1 or not mono else []
    for generator in sorted(set(mono), key=lambda g: g.key):
        parts.append(_raised(_generator(generator, names), mono.count(generator)))
    return _TIMES.join(parts)


def _generator(generator: Generator, names: Names) -> str:
    match generator:
        case Symbol():
            return _name(names.get(generator, generator.name))
        case Floor(p=p, q=q):
            quotient = _fraction(_form(p, names), _form(q, names))
            return f"<mrow><mo>&#x230A;</mo>{quotient}<mo>&#x230B;</mo></mrow>"
        case Relu(p=p):
            return f"<mrow><mi>max</mi><mo>(</mo>{_form(p, names)}<mo>,</mo><mn>0</mn><mo>)</mo></mrow>"
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            binder = binder_name(set(names.values()))
            inside = _form(body, {**names, symbol: binder})
            start = f"<mrow><mi>{binder}</mi><mo>=</mo>{_form(lo, names)}</mrow>"
            return (
                f"<mrow><munderover><mo>&#x2211;</mo>{start}<mrow>{_form(hi, names)}</mrow></munderover>"
                f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow></mrow>"
            )


def _name(name: str) -> str:
    simple = _SIMPLE.fullmatch(name)
    if simple is None or simple[2] is None:
        return f"<mi>{escape(visible(name))}</mi>"
    return f"<msub><mi>{simple[1]}</mi><mn>{simple[2]}</mn></msub>"
