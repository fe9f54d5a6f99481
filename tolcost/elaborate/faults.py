"""Rejections of programs that cannot be elaborated: the kinds of faults, and how they are raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tolcost.algebra import (
    Symbol,
)
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span

if TYPE_CHECKING:  # values also describe the contents of model files, which need no syntax
    from tolcost.syntax.names import Signature


class Fault(Rejected):
    """A program that cannot be elaborated; ``definite`` if no lengths make it valid at this place."""

    definite = False


class Misfit(Fault):
    """Shapes that do not match each other, or the operation on them."""


class OutOfRange(Misfit):
    """An access outside the range of a ToL."""


class ListForNumber(Fault):
    """A list where a number is needed."""


class RankMismatch(Misfit):
    """Two shapes that must be equal differ in rank."""


class UnexpectedValue(Fault):
    """A text or a number outside the set that a program accepts; another program may accept it."""


class OpenRecursion(Fault):
    """A function that applies itself as often as lengths decide, which are not given as numbers."""


class Outside(Fault):
    """The program itself declares the request to be no ToL computation, with a reason."""


class NeedsUnrolling(Exception):
    """A table was indexed by a coordinate with a small known range: unroll that range."""

    def __init__(self, symbol: Symbol, span: Span) -> None:
        """Keep the coordinate, and the place where it was used."""
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
    """Reject a call with too few or too many arguments."""
    fail("T0203", f"{function} takes {takes}, not {given}", span)
