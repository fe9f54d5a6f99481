"""Trials of the programs on numbers and polynomials."""

from __future__ import annotations

import math

import numpy as np

from tools.textbook.holding import Array, Trial

Rng = np.random.Generator
PRIMES = np.array([2, 3, 5, 7, 11, 13])


def _number(digits: Array, base: int) -> int:
    return sum(int(e) * base**i for i, e in enumerate(digits))


def _digits(number: int, base: int, many: int) -> list[int]:
    return [number // base**i % base for i in range(many)]


def schoolbook_product(rng: Rng, size: int) -> Trial:
    base, m = 10, int(rng.integers(1, 6))
    u, v = rng.integers(0, base, size), rng.integers(0, base, m)
    product = _number(u, base) * _number(v, base)
    return Trial({"u": u, "v": v}, (_digits(product, base, size + m),), {"base": base})


def long_addition(rng: Rng, size: int) -> Trial:
    base = 7
    u, v = rng.integers(0, base, (2, size))
    total = _number(u, base) + _number(v, base)
    return Trial({"u": u, "v": v}, (_digits(total, base, size + 1),), {"base": base})


def binary_power(rng: Rng, size: int) -> Trial:
    x, m, bit = int(rng.integers(0, 90)), 101, rng.random(size) < 0.5
    exponent = int("1" + "".join(str(int(b)) for b in bit), 2)
    return Trial({"x": x, "bit": bit}, (pow(x, exponent, m),), {"m": m})


def _points(rng: Rng, size: int) -> tuple[Array, Array]:
    return rng.permutation(8)[:size] / 2, rng.normal(size=size)


def divided_differences(rng: Rng, size: int) -> Trial:
    """The coefficients at which Newton's form goes through the points."""
    x, f = _points(rng, size)
    basis = np.array([[math.prod(at - x[:k]) for k in range(size)] for at in x])
    return Trial({"x": x, "f": f}, (np.linalg.solve(basis, f),))


def newton_form(rng: Rng, size: int) -> Trial:
    x, c, at = rng.normal(size=size), rng.normal(size=size + 1), float(rng.normal())
    value = sum(c[k] * math.prod(at - x[:k]) for k in range(size + 1))
    return Trial({"x": x, "c": c, "at": at}, (value,))


def neville(rng: Rng, size: int) -> Trial:
    x, f = _points(rng, size)
    at = float(rng.normal())
    value = np.linalg.solve(np.vander(x), f) @ np.vander([at], size)[0]
    return Trial({"x": x, "f": f, "at": at}, (value,))


def synthetic_division(rng: Rng, size: int) -> Trial:
    c, a = rng.normal(size=size + 1), float(rng.normal())
    quotient, rest = np.polydiv(c, [1, -a])
    return Trial({"c": c, "a": a}, (np.concatenate([quotient, rest]),))


def clenshaw(rng: Rng, size: int) -> Trial:
    c, x = rng.normal(size=size + 1), float(rng.uniform(-1, 1))
    return Trial({"c": c, "x": x}, (np.polynomial.chebyshev.chebval(x, c),))


def integer_root(rng: Rng, size: int) -> Trial:
    x = int(rng.integers(0, 4**size))
    return Trial({"x": x}, (math.isqrt(x),), {"p": size})


def trapezoid(rng: Rng, size: int) -> Trial:
    f, step = rng.normal(size=size + 1), float(rng.random())
    return Trial({"f": f, "step": step}, (np.trapezoid(f, dx=step),))


def garner(rng: Rng, size: int) -> Trial:
    prime = rng.permutation(PRIMES)[:size]
    number = int(rng.integers(0, math.prod(map(int, prime))))
    inverse = np.array([[pow(int(p), -1, int(q)) if p != q else 0 for q in prime] for p in prime])
    bases = [math.prod(map(int, prime[:k])) for k in range(size)]
    digits = [number // base % int(prime[k]) for k, base in enumerate(bases)]
    return Trial({"rest": number % prime, "prime": prime, "inverse": inverse}, (digits,))


def euclid(rng: Rng, size: int) -> Trial:
    a, b = map(int, rng.integers(0, 9**size, 2) % 65536)
    return Trial({"a": a, "b": b}, (math.gcd(a, b),))
