"""The parts of a model's operations: what a formula omits, and what it leaves out by convention.

``parts.toml`` beside the programs of a library gives each part a name and its form; a test compares their sum
with the form derived from the program.

    [gpt2.products]
    "the logits" = "2*b*s*h*e*v"
    [gpt2.rest]
    "softmax" = "5*b*s*s*l*h"
    [gpt2.conventions]
    "the logits are left out" = "-2*b*s*h*e*v"

What formulas for models leave out, or count besides, by convention is a change of the products.  Each part
has a term that no other has: its coefficient in a difference determines the missing share of the part.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import ZERO, Monomial, Poly, total_of
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import scale
from tolcost.platform import specs_root

_LARGEST_SHARE = 4
"""The largest denominator of a share: a half, a third or a quarter of a part is named."""


class ModelPart(Struct, frozen=True, eq=False):
    """A part of a model's operations; ``product`` if it consists of products of matrices."""

    words: str
    form: Poly
    product: bool


class Explanation(Struct, frozen=True, eq=False):
    """A difference as shares of parts, negative where a part is counted too often, and the remainder."""

    shares: tuple[tuple[ModelPart, Fraction], ...] = ()
    rest: Poly = ZERO


NOTHING = Explanation()
BESIDES = "norms, softmax, activations, biases and sums, with their gradients"
"""What a step of training does besides products of matrices."""


def parts_of(path: str) -> tuple[ModelPart, ...]:
    """Return the parts of a library program; nothing if none are recorded."""
    return tuple(
        ModelPart(words, parse_text(form), kind == "products")
        for kind in ("products", "rest")
        for words, form in _recorded(path).get(kind, {}).items()
    )


def parts_of_step(path: str, times: int, whole: Poly) -> tuple[ModelPart, ...]:
    """Return the parts of a step of training: products, done so many times, and all else of the whole.

    That backward has each product of matrices twice is held to the derivative by a test.
    """
    products = [replace(part, form=part.form * times) for part in parts_of(path) if part.product]
    rest = whole - total_of(part.form for part in products)
    return (*products, ModelPart(BESIDES, rest, False)) if products else ()


def _recorded(path: str) -> Mapping[str, Mapping[str, str]]:
    """Return what is recorded about the parts of a library program."""
    folder, _, name = path.partition("/")
    return _parts_file(folder).get(name, {})


@cache
def _parts_file(folder: str) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    file = specs_root().joinpath(folder, "parts.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if folder and file.is_file() else {}


def conventions_of(path: str) -> tuple[tuple[str, Poly], ...]:
    """Return what formulas for a family of models do by convention, each as a change of the products."""
    return tuple((words, parse_text(form)) for words, form in _recorded(path).get("conventions", {}).items())


def explained(parts: Sequence[ModelPart], gap: Poly) -> Explanation:
    """Express a difference in parts, with a remainder."""
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
        if share.denominator > _LARGEST_SHARE:  # not meaningful: take the whole part
            share = Fraction(share > 0)
        if share:
            yield part, share


def _mark(part: ModelPart, parts: Sequence[ModelPart]) -> Monomial | None:
    """Return the longest term that only this part has."""
    others = {mono for other in parts if other is not part for mono in other.form.terms}
    own = [mono for mono in part.form.terms if mono not in others]
    return max(own, key=len, default=None)


def _coefficient(p: Poly, mono: Monomial) -> Fraction:
    return Fraction(p.terms.get(mono, 0), p.den)
