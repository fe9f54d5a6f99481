"""Guards as signed sums of conjunctions, so that sums only ever meet ``Ge`` and ``Eq``."""

from __future__ import annotations

from typing import TypeAlias

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.errors import AlgebraBudget

Atom: TypeAlias = Ge | Eq
Atoms: TypeAlias = tuple[Atom, ...]
Cases: TypeAlias = dict[frozenset[Atom], int]

_MAX_CASES = 512
_ALWAYS: Cases = {frozenset(): 1}


def signed_cases(cond: Cond) -> Cases:
    """Write the indicator of a condition as integer multiples of indicators of conjunctions.

    >>> from tolcost.algebra.conditions import eq, negate
    >>> from tolcost.algebra.poly import length
    >>> signed_cases(negate(eq(length("n") - 3)))
    {frozenset(): 1, frozenset({Eq(p=n - 3)}): -1}
    """
    match cond:
        case Truth(value=value):
            return dict(_ALWAYS) if value else {}
        case Ge() | Eq():
            return {frozenset((cond,)): 1}
        case Not(part=part):
            return _complement(signed_cases(part))
        case And(parts=parts):
            return _product([signed_cases(part) for part in parts])
        case Or(parts=parts):
            return _complement(_product([_complement(signed_cases(part)) for part in parts]))


def _complement(cases: Cases) -> Cases:
    result = dict(_ALWAYS)
    for atoms, times in cases.items():
        result[atoms] = result.get(atoms, 0) - times
    return {atoms: times for atoms, times in result.items() if times}


def _product(factors: list[Cases]) -> Cases:
    result = dict(_ALWAYS)
    for factor in factors:
        grown: Cases = {}
        for left, x in result.items():
            for right, y in factor.items():
                both = left | right
                grown[both] = grown.get(both, 0) + x * y
        result = {atoms: times for atoms, times in grown.items() if times}
        if len(result) > _MAX_CASES:
            raise AlgebraBudget(f"a condition splits into more than {_MAX_CASES} cases")
    return result
