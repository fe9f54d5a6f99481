r"""Exact symbolic cost of tensor programs, from one executable definition of each operator.

    >>> import tolcost
    >>> result = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*) + 1)")
    >>> result.eops, result.at(n=1000).eops
    (2*n, 2000)

Importing this is cheap: what a call needs is loaded by the call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tolcost.diagnostics import Diagnostic, Rejected
    from tolcost.elaborate.arguments import PlainShape, PlainValue
    from tolcost.result.cost import Cost

__version__ = "0.1.0"
__all__ = ["Cost", "Diagnostic", "Rejected", "__version__", "analyze"]

_WHERE = {
    "Cost": "tolcost.result.cost",
    "Diagnostic": "tolcost.diagnostics",
    "Rejected": "tolcost.diagnostics",
}


def analyze(
    program: str | Path,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, PlainShape | Sequence[PlainShape]] | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
) -> Cost:
    """Give what a program costs.

    ``program`` is a path, or the text of a program; a string with a line break or ``=`` in it
    is text.  ``dims`` gives lengths by name, ``shapes`` the shapes of inputs of any rank, and
    ``attrs`` the values of attributes and static inputs.  A program that cannot be analysed
    raises ``Rejected``, with diagnostics that say why.
    """
    from tolcost.result.program import analyze as cost_of

    return cost_of(program, dims, shapes, attrs)


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tolcost' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    """Give the public names, those not loaded yet included."""
    return sorted({*globals(), *__all__})
