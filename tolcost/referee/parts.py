"""What a formula for a model forgets, in words: the parts that a model's operations fall into.

``parts.toml`` beside the programs of a library gives each part a name and its form; a test holds their sum to
what is derived from the program.

    [gpt2.products]
    "the logits" = "2*b*s*h*e*v"
    [gpt2.rest]
    "softmax" = "5*b*s*s*l*h"

Each part has a term that no other has: its coefficient in a difference says how much of the part is missing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tolcost.algebra import ZERO, Monomial, Poly, total_of
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import scale
from tolcost.dataclass import dataclass
from tolcost.platform import specs_root

_LARGEST_SHARE = 4
"""Half, a third or a quarter of a part is told as such."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelPart:
    """A part of a model's operations; ``product`` where it is products of matrices."""

    words: str
    form: Poly
    product: bool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A difference as shares of parts, below 0 where a part is counted too often, and what is left."""

    shares: tuple[tuple[ModelPart, Fraction], ...] = ()
    rest: Poly = ZERO


NOTHING = Explanation()


def parts_of(path: str) -> tuple[ModelPart, ...]:
    """The parts of a program of a library; none where nobody says."""
    folder, _, name = path.partition("/")
    file = specs_root().joinpath(folder, "parts.toml")
    table = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return tuple(
        ModelPart(words, parse_text(form), kind == "products")
        for kind, forms in table.get(name, {}).items()
        for words, form in forms.items()
    )


def explained(parts: Sequence[ModelPart], gap: Poly) -> Explanation:
    """Say a difference in parts, and what is left of it."""
    shares = list(_shares(parts, gap))
    told = (scale(part.form, share.numerator, share.denominator) for part, share in shares)
    rest = gap - total_of(told)
    for part in parts:
        if _mark(part, parts) is None and _within(part.form, rest):
            shares.append((part, Fraction(1)))
            rest -= part.form
    return Explanation(tuple(shares), rest)


def _within(part: Poly, whole: Poly) -> bool:
    return all(0 < _coefficient(part, mono) <= _coefficient(whole, mono) for mono in part.terms)


def _shares(parts: Sequence[ModelPart], gap: Poly) -> Iterator[tuple[ModelPart, Fraction]]:
    for part in parts:
        mark = _mark(part, parts)
        share = _coefficient(gap, mark) / _coefficient(part.form, mark) if mark is not None else Fraction(0)
        if share.denominator > _LARGEST_SHARE:  # no share that means something: the part, and a remainder
            share = Fraction(share > 0)
        if share:
            yield part, share


def _mark(part: ModelPart, parts: Sequence[ModelPart]) -> Monomial | None:
    """The longest term that only this part has."""
    others = {mono for other in parts if other is not part for mono in other.form.terms}
    own = [mono for mono in part.form.terms if mono not in others]
    return max(own, key=len, default=None)


def _coefficient(p: Poly, mono: Monomial) -> Fraction:
    return Fraction(p.terms.get(mono, 0), p.den)
