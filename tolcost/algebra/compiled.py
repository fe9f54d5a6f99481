"""Polynomials and conditions as one Python function of numbers, for those that are asked at very many points.

What they have in common is worked out once: every floor, clip and logarithm has a variable of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.intervals import log2_of_number
from tolcost.algebra.poly import Poly
from tolcost.algebra.symbols import Floor, Generator, Log2, NotInteger, Relu, Sum, Symbol

Compiled: TypeAlias = Callable[..., tuple[int, ...]]
"""The values at a point: a number for each polynomial, 1 or 0 for each condition."""


def compiled(asked: Sequence[Poly | Cond], symbols: Sequence[Symbol]) -> Compiled | None:
    """Give the function from the values of symbols to those of what is asked; None where a sum is in it.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> compiled([n * n // 3, n + 1], [the_symbol(n)])(5)
    (8, 6)
    """
    writer = _Writer({symbol: f"x{place}" for place, symbol in enumerate(symbols)})
    try:
        values = [writer.poly(one) if isinstance(one, Poly) else writer.condition(one) for one in asked]
    except KeyError:  # a symbol without a value, or a sum
        return None
    lines = [f"def function({', '.join(writer.names[symbol] for symbol in symbols)}):", *writer.lines]
    lines.append(f"    return ({''.join(f'{value}, ' for value in values)})")
    scope: dict[str, Compiled] = {}
    exec("\n".join(lines), dict(_HELPERS), scope)  # noqa: S102 - nothing in it but numbers and our own names
    return scope["function"]


@dataclass(slots=True)
class _Writer:
    """The lines so far, and the variable of each generator."""

    names: dict[Generator, str]
    lines: list[str] = field(default_factory=list)

    def poly(self, p: Poly) -> str:
        """A polynomial as an expression."""
        terms = [
            "*".join((*(() if coef == 1 and mono else (str(coef),)), *map(self.generator, mono)))
            for mono, coef in p.terms.items()
        ]
        whole = f"({' + '.join(terms)})" if terms else "0"
        return whole if p.den == 1 else f"whole({whole}, {p.den})"

    def generator(self, generator: Generator) -> str:
        """The variable of a generator."""
        name = self.names.get(generator)
        if name is None:
            if isinstance(generator, (Symbol, Sum)):
                raise KeyError(generator)
            value = self._value(generator)
            name = self.names[generator] = f"g{len(self.names)}"
            self.lines.append(f"    {name} = {value}")
        return name

    def _value(self, generator: Floor | Relu | Log2) -> str:
        match generator:
            case Floor(p=p, q=q):
                divisor = q.constant
                plain = divisor is not None and divisor >= 1
                return f"{self.poly(p)} // {divisor}" if plain else f"floor({self.poly(p)}, {self.poly(q)})"
            case Relu(p=p):
                return f"max({self.poly(p)}, 0)"
            case Log2(p=p):
                return f"log2({self.poly(p)})"

    def condition(self, cond: Cond) -> str:
        """A condition as an expression."""
        match cond:
            case Truth(value=value):
                return str(int(value))
            case Ge(p=p):
                return f"({self.poly(p)} >= 0)"
            case Eq(p=p):
                return f"({self.poly(p)} == 0)"
            case Not(part=part):
                return f"(not {self.condition(part)})"
            case And(parts=parts):
                return f"({' and '.join(map(self.condition, parts))})"
            case Or(parts=parts):
                return f"({' or '.join(map(self.condition, parts))})"


def _floor(number: int, divisor: int) -> int:
    if divisor < 1:
        raise NotInteger(f"a divisor is {divisor} at this point; it must be at least 1")
    return number // divisor


def _whole(number: int, divisor: int) -> int:
    result, rest = divmod(number, divisor)
    if rest:
        raise NotInteger("an expression is not an integer at this point")
    return result


_HELPERS: Mapping[str, object] = {"floor": _floor, "whole": _whole, "log2": log2_of_number, "max": max}
