"""Arithmetic of plain integers that the algebra needs."""

from __future__ import annotations

from functools import lru_cache

from tolcost.algebra.symbols import MAX_EXPONENT, AlgebraBudget, NotInteger


def number_power(base: int, exponent: int) -> int:
    """Give a power; one below 0 is no integer, and one that is too large is not worked out."""
    if exponent < 0:
        raise NotInteger(f"{base} to the power of {exponent} is no integer")
    if exponent > MAX_EXPONENT:
        raise AlgebraBudget(f"a power has an exponent above {MAX_EXPONENT}")
    return int(base**exponent)


@lru_cache(maxsize=64)
def prime_factors(number: int) -> tuple[tuple[int, int], ...]:
    """The prime factors of a number, each with how often it divides.

    >>> prime_factors(360)
    ((2, 3), (3, 2), (5, 1))
    """
    found: list[tuple[int, int]] = []
    divisor = 2
    while number > 1:
        if divisor * divisor > number:
            divisor = number
        times = 0
        while number % divisor == 0:
            number, times = number // divisor, times + 1
        if times:
            found.append((divisor, times))
        divisor += 1
    return tuple(found)
