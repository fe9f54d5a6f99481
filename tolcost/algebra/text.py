"""The text form of expressions and conditions: readable, stable, and read back by ``parse``.

Terms come high degree first, then by name.  A product of factors is shown where it is
shorter than the sum.  Names that are not plain words are quoted with backquotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.factor import (
    Factored,
    factored,
    for_reading,
    is_product,
    product_and_rest,
    reading_order,
)
from tolcost.algebra.poly import UNIT, Monomial, Poly, as_poly, define_text, scale
from tolcost.algebra.symbols import AlgebraBudget, Floor, Generator, Relu, Sum, Symbol

RESERVED = frozenset(("floor", "ceiling", "Min", "Max", "Sum", "Piecewise", "and", "or", "not"))
MAX_DIGITS = 4_000
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_BINDERS = "ijklpqrstuvw"
Names = Mapping[Symbol, str]


@dataclass(frozen=True, slots=True)
class _Writer:
    """The names to show, and the generators written so far: large results repeat them a lot."""

    names: Names
    done: dict[Generator, str] = field(default_factory=dict)


def to_text(p: Poly | int, names: Names | None = None) -> str:
    """Give the text form: the shorter of sum and product.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> to_text(n * (n + 1) // 2), to_text(2 * n + 4), to_text((n + 1) // 2 - m)
    ('n*(n + 1)/2', '2*n + 4', 'floor((n + 1)/2) - m')
    """
    value = as_poly(p)
    return _shorter(value, _Writer(display_names(value.free) if names is None else names))


define_text(to_text)


def _shorter(p: Poly, writer: _Writer) -> str:
    flat = _sum_text(p, writer)
    if len(p.terms) < 2:
        return flat
    split = factored(p)
    product = _product_text(split, writer) if is_product(split) else _mixed_text(p, writer)
    return product if product is not None and len(product) < len(flat) else flat


def _mixed_text(p: Poly, writer: _Writer) -> str | None:
    """A product and a few terms, where a sum is one."""
    found = product_and_rest(p)
    if found is None:
        return None
    rest = _sum_text(found[1], writer)
    sign = f" - {rest[1:]}" if rest.startswith("-") else f" + {rest}"
    return _product_text(found[0], writer) + sign


def factor_text(p: Poly | int) -> str:
    """Give the text form as a product."""
    value = as_poly(p)
    return _product_text(factored(value), _Writer(display_names(value.free)))


def display_names(symbols: Iterable[Symbol]) -> dict[Symbol, str]:
    """Give each symbol a name to show, different for different symbols."""
    used: set[str] = set()
    names: dict[Symbol, str] = {}
    ordered = sorted(symbols, key=lambda s: s.key)
    taken = {s.name for s in ordered}
    for symbol in ordered:
        name, turn = symbol.name, 2
        while name in used or (turn > 2 and name in taken):
            name, turn = f"{symbol.name}_{turn}", turn + 1
        used.add(name)
        names[symbol] = name
    return names


def quoted(name: str) -> str:
    """Write a name so that it reads back as itself."""
    if _PLAIN.match(name) and name not in RESERVED:
        return name
    return "`" + "".join(_escaped(c) for c in name) + "`"


def _escaped(character: str) -> str:
    if character in "\\`":
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{{{ord(character):x}}}"


def _number(value: int) -> str:
    if value.bit_length() > 3 * MAX_DIGITS:
        raise AlgebraBudget(f"a number has more than {MAX_DIGITS} digits")
    return str(value)


def _sum_text(p: Poly, writer: _Writer) -> str:
    order = reading_order(p)
    if not order:
        return "0"
    text = ""
    for mono in order:
        coef = p.terms[mono]
        term = _term(abs(coef), mono, writer)
        text += (" - " if coef < 0 else " + ") + term if text else ("-" if coef < 0 else "") + term
    if p.den == 1:
        return text
    return (f"({text})" if len(order) > 1 else text) + f"/{_number(p.den)}"


def _term(number: int, mono: Monomial, writer: _Writer) -> str:
    if mono == UNIT:
        return _number(number)
    factors = [_number(number)] if number != 1 else []
    for generator in sorted(set(mono), key=lambda g: g.key):
        times = mono.count(generator)
        factors.append(_generator(generator, writer) + (f"**{times}" if times > 1 else ""))
    return "*".join(factors)


def _product_text(split: Factored, writer: _Writer) -> str:
    read = for_reading(split)
    number = read.number
    factors = [_term(1, split.monomial, writer)] if split.monomial else []
    for factor, times in read.factors:
        factors.append(f"({_shorter(factor, writer)})" + (f"**{times}" if times > 1 else ""))
    if abs(number) != 1 or not factors:
        factors.insert(0, _number(abs(number)))
    text = ("-" if number < 0 else "") + "*".join(factors)
    return text if split.den == 1 else f"{text}/{_number(split.den)}"


def _generator(generator: Generator, writer: _Writer) -> str:
    if generator not in writer.done:
        writer.done[generator] = _written(generator, writer)
    return writer.done[generator]


def _written(generator: Generator, writer: _Writer) -> str:
    match generator:
        case Symbol():
            return quoted(writer.names.get(generator, generator.name))
        case Floor(p=p, q=q):
            top, bottom = _shorter(p, writer), _shorter(q, writer)
            return f"floor({top if ' ' not in top else f'({top})'}/{_divisor(bottom)})"
        case Relu(p=p):
            return f"Max({_shorter(p, writer)}, 0)"
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            binder = binder_name(set(writer.names.values()))
            inner = _Writer({**writer.names, symbol: binder})
            return f"Sum({_shorter(body, inner)}, ({binder}, {_shorter(lo, writer)}, {_shorter(hi, writer)}))"


def binder_name(used: set[str]) -> str:
    """Give a short name for a summation variable that is not used yet."""
    for letter in _BINDERS:
        if letter not in used:
            return letter
    turn = 1
    while f"i{turn}" in used:
        turn += 1
    return f"i{turn}"


def _divisor(text: str) -> str:
    """Put brackets around what does not bind tighter than a division."""
    return text if re.fullmatch(r"[A-Za-z0-9_]+(\*\*[0-9]+)?", text) else f"({text})"


def cond_text(cond: Cond, names: Names | None = None) -> str:
    """Give a condition for reading, with its constant on the right.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> cond_text(ge(length("n") - 5))
    'n >= 5'
    """
    match cond:
        case Truth(value=value):
            return "true" if value else "false"
        case Ge(p=p):
            return _comparison(p, ">=", "<=", names)
        case Eq(p=p):
            return _comparison(p, "==", "==", names)
        case Not(part=part):
            inner = cond_text(part, names)
            return inner.replace(" == ", " != ", 1) if isinstance(part, Eq) else f"not ({inner})"
        case And(parts=parts):
            return " and ".join(_bracketed(part, names) for part in parts)
        case Or(parts=parts):
            return " or ".join(_bracketed(part, names) for part in parts)


def _bracketed(cond: Cond, names: Names | None) -> str:
    text = cond_text(cond, names)
    return f"({text})" if isinstance(cond, (And, Or)) else text


def _comparison(p: Poly, sign: str, reverse: str, names: Names | None) -> str:
    """Keep positive terms on the left and move the others, so that no minus is shown."""
    given = display_names(p.free) if names is None else names
    value = scale(p, p.den)
    offset = value.terms.get(UNIT, 0)
    plus = Poly({mono: coef for mono, coef in value.terms.items() if mono and coef > 0})
    minus = Poly({mono: -coef for mono, coef in value.terms.items() if mono and coef < 0})
    if not plus.terms:
        return f"{to_text(minus, given)} {reverse} {_number(offset)}"
    return f"{to_text(plus, given)} {sign} {to_text(minus - offset, given)}"
