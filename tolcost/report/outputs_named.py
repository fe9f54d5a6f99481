"""A closed form in the lengths of the output, where that is how a person would write it.

A convolution costs ``2*n*m*c*k*(x - k + 1)``; with ``y = x - k + 1``, which is the length of its
output, that is ``2*n*m*c*k*y``.  The rewriting is a substitution, so it is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tolcost.algebra import Poly, atom, length, substitute, symbols_of, to_text


@dataclass(frozen=True, slots=True)
class Named:
    """A form, and what the names of output lengths in it stand for."""

    form: Poly
    where: tuple[tuple[str, Poly], ...] = ()

    @property
    def text(self) -> str:
        """The form, followed by what its names stand for."""
        said = ", ".join(f"{name} = {to_text(meaning)}" for name, meaning in self.where)
        return to_text(self.form) + (f"  where {said}" if said else "")


def in_output_lengths(form: Poly, output: str, lengths: Sequence[Poly]) -> Named:
    """Write a form in the lengths of an output, if it gets shorter by that.

    >>> x, k, n = length("x"), length("k"), length("n")
    >>> in_output_lengths(2 * n * k * (x - k + 1) * x, "Y", (n, x - k + 1)).text
    '2*k*n*x*(x - k + 1)'
    >>> in_output_lengths(2 * n * k * (x - k + 1), "Y", (n, x - k + 1)).text
    '2*Y_2*k*n  where Y_2 = x - k + 1'
    """
    where: list[tuple[str, Poly]] = []
    found = form
    for name, meaning in _compound(output, lengths):
        shorter = min(_substituted(found, name, meaning), key=_length, default=found)
        if _length(shorter) < _length(found):
            found = shorter
            where.append((name, meaning))
    return Named(found, tuple(where))


def _compound(output: str, lengths: Sequence[Poly]) -> Iterator[tuple[str, Poly]]:
    """The lengths that are sums of several symbols, by the names they would get."""
    for n, meaning in enumerate(lengths, start=1):
        if len(symbols_of(meaning)) > 1:
            yield f"{output}_{n}", meaning


def _substituted(form: Poly, name: str, meaning: Poly) -> Iterator[Poly]:
    """The form with a symbol of the length replaced, wherever the length is that symbol and a rest."""
    for symbol in sorted(symbols_of(meaning), key=lambda one: one.name):
        rest = meaning - atom(symbol)
        if symbol not in symbols_of(rest):
            yield substitute(form, {symbol: length(name) - rest})


def _length(form: Poly) -> int:
    return len(to_text(form))
