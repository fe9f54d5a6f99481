"""What can go wrong inside the algebra: too much work, or a question without an exact answer."""

from __future__ import annotations


class AlgebraBudget(Exception):
    """An expression grew beyond what is worth computing; callers turn this into a diagnostic."""


class NotInteger(ArithmeticError):
    """An expression that should be an integer is not one at the given point."""


class UnboundSymbol(KeyError):
    """A symbol has no value at the given point."""

    def __str__(self) -> str:
        """Say which symbol, without the quotes a ``KeyError`` would add."""
        return f"no value for {self.args[0]}"


MAX_TERMS = 20_000
MAX_PRODUCTS = 400_000
MAX_DEGREE = 400
MAX_BITS = 200_000
MAX_HEIGHT = 30
MAX_PARTS = 400
