"""Closed forms for the browser: small trees of JSON that a few lines of script evaluate exactly.

number            3, or "3" where it is large
symbol            {"v": "n"}
sum, product      ["+", a, b, ...]    ["*", a, b, ...]
exact quotient    ["/", a, 2]
floor of a / b    ["f", a, b]
larger of a and 0 ["m", a]
sum over i        ["s", body, "i", low, high]
"""

from __future__ import annotations

from collections.abc import Mapping

from tolcost.algebra import Floor, Generator, Monomial, Poly, Relu, Sum, Symbol, display_names
from tolcost.algebra.factor import display_order
from tolcost.algebra.text import binder_name
from tolcost.show.json import LARGEST_EXACT, Json

Names = Mapping[Symbol, str]


def tree_of(form: Poly) -> Json:
    """Give an expression as a tree.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> tree_of(2 * n), tree_of((n + 1) // 2)
    (['*', 2, {'v': 'n'}], ['f', ['+', {'v': 'n'}, 1], 2])
    """
    return _tree(form, display_names(form.free))


def _tree(p: Poly, names: Names) -> Json:
    terms = [_term(p.terms[mono], mono, names) for mono in display_order(p)]
    total: Json = _joined("+", terms) if terms else 0
    return total if p.den == 1 else ["/", total, _number(p.den)]


def _joined(sign: str, parts: list[Json]) -> Json:
    return parts[0] if len(parts) == 1 else [sign, *parts]


def _term(number: int, mono: Monomial, names: Names) -> Json:
    factors: list[Json] = [_number(number)] if number != 1 or not mono else []
    factors += [_generator(generator, names) for generator in mono]
    return _joined("*", factors)


def _number(value: int) -> Json:
    return value if abs(value) <= LARGEST_EXACT else str(value)


def _generator(generator: Generator, names: Names) -> Json:
    match generator:
        case Symbol():
            return {"v": names.get(generator, generator.name)}
        case Floor(p=p, q=q):
            return ["f", _tree(p, names), _tree(q, names)]
        case Relu(p=p):
            return ["m", _tree(p, names)]
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            binder = binder_name(set(names.values()))
            inner = _tree(body, {**names, symbol: binder})
            return ["s", inner, binder, _tree(lo, names), _tree(hi, names)]
