"""Why a program cannot be elaborated: kinds of faults, and how they are raised."""

from __future__ import annotations

from typing import NoReturn

from tolcost.algebra import Symbol
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span
from tolcost.syntax.declarations import Signature

BUDGET = 600_000
"""Evaluation steps before a program is refused as too large to elaborate."""


class Fault(Rejected):
    """A program that cannot be elaborated; ``definite`` if no lengths can make it right at this place."""

    definite = False


class Misfit(Fault):
    """Shapes that do not fit together, or not what is done with them."""


class OutOfRange(Misfit):
    """Something is looked at that lies outside of its ToL."""


class ListForNumber(Fault):
    """A list stands where a number is needed."""


class RankMismatch(Misfit):
    """Two shapes that must be one differ in rank."""


class Outside(Fault):
    """A program says itself that what it is asked for is no ToL computation, and why."""


class NeedsUnrolling(Exception):
    """A table was indexed by a coordinate of a small known range: take that range entry by entry."""

    def __init__(self, symbol: Symbol, span: Span) -> None:
        """Remember whose coordinate it was, and where it was used."""
        super().__init__(symbol.name)
        self.symbol = symbol
        self.span = span


def fail(
    code: str,
    message: str,
    span: Span = NOWHERE,
    hint: str | None = None,
    kind: type[Fault] = Fault,
    definite: bool = False,
) -> NoReturn:
    """Reject the program with one diagnostic."""
    fault = kind(Diagnostic(code, message, span, hint=hint))
    fault.definite = definite
    raise fault


def wrong_arity(function: str, takes: Signature, given: int, span: Span) -> NoReturn:
    """Refuse a function of too few or too many arguments."""
    fail("T0203", f"{function} takes {takes}, not {given}", span)


def too_many_steps(span: Span) -> NoReturn:
    """Refuse a program that takes too long to elaborate."""
    fail(
        "T0501",
        f"this program takes more than {BUDGET:,} steps to elaborate",
        span,
        hint="a function that calls another twice doubles the work at every level; name the value",
    )
