"""Forms and conditions as one function of numbers, for what is asked at very many points.

All of them together are written as a few lines of Python, in which every floor and clip stands once, and
compiled.  In the text are numbers and places, never names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.evaluate import prepared
from tolcost.algebra.poly import Poly, atom
from tolcost.algebra.symbols import Floor, Generator, NotInteger, Relu, Symbol

Compiled = Callable[[Mapping[Symbol, int]], list[int]]

_MOST_TERMS = 500
"""A longer form is not written out: Python compiles sums term inside of term."""


def compiled(asked: Sequence[Poly | Cond]) -> Compiled:
    """The function from the values of symbols to those of forms, and to whether conditions hold.

    >>> from tolcost.algebra import ge, length, the_symbol
    >>> n = length("n")
    >>> compiled((n * n // 3 + 1, ge(n - 6)))({the_symbol(n): 5})
    [9, False]
    """
    writer = _Writer()
    found = [writer.form(one) if isinstance(one, Poly) else writer.condition(one) for one in asked]
    text = "\n  ".join(("def function(values):", *writer.lines, f"return [{', '.join(found)}]"))
    exec(text, writer.names)  # noqa: S102  # of numbers and places
    function: Compiled = writer.names["function"]
    return function


def _exact(total: int, den: int) -> int:
    result, rest = divmod(total, den)
    if rest:
        raise NotInteger(f"{total}/{den} is not an integer")
    return result


class _Writer:
    """Writes expressions; ``lines`` give a name to every generator, those inside of others first."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"exact": _exact}
        self._known: dict[Generator, str] = {}

    def form(self, form: Poly) -> str:
        if len(form.terms) > _MOST_TERMS:
            return self._called(form)
        rows = ("*".join((repr(coef), *map(self._generator, mono))) for mono, coef in form.terms.items())
        total = "+".join(rows) or "0"
        return f"({total})" if form.den == 1 else f"exact({total}, {form.den})"

    def condition(self, condition: Cond) -> str:
        match condition:
            case Truth(value=value):
                return repr(value)
            case Ge(p=p):
                return f"({self.form(p)}>=0)"
            case Eq(p=p):
                return f"({self.form(p)}==0)"
            case Not(part=part):
                return f"(not {self.condition(part)})"
            case And(parts=parts):
                return f"({' and '.join(map(self.condition, parts))})"
            case Or(parts=parts):
                return f"({' or '.join(map(self.condition, parts))})"

    def _generator(self, generator: Generator) -> str:
        if generator not in self._known:
            text = self._text(generator)
            name = self._known[generator] = f"v{len(self._known)}"
            self.lines.append(f"{name} = {text}")
        return self._known[generator]

    def _text(self, generator: Generator) -> str:
        match generator:
            case Symbol():
                return f"values[{self._named(generator)}]"
            case Floor(p=p, q=q) if (q.constant or 0) >= 1:
                return f"{self.form(p)}//{q.constant}"
            case Relu(p=p):
                return f"max({self.form(p)}, 0)"
            case _:
                return self._called(atom(generator))

    def _called(self, form: Poly) -> str:
        """What is not written out is worked out as everywhere."""
        return f"{self._named(prepared(form))}(values)"

    def _named(self, thing: object) -> str:
        name = f"n{len(self.names)}"
        self.names[name] = thing
        return name
