"""Exact symbolic cost of tensor programs, from one executable definition of each operator.

    >>> import tolcost
    >>> result = tolcost.analyze("tol x: R [n]\\ny := map(x, exp(*) + 1)")
    >>> result.eops, result.at(n=1000).eops
    (2*n, 2000)

Importing this is cheap: what a call needs is loaded by the call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tolcost.diagnostics import Diagnostic, Rejected
    from tolcost.report.result import Result
    from tolcost.session import analyze

__version__ = "0.1.0"

_WHERE = {
    "Diagnostic": "tolcost.diagnostics",
    "Rejected": "tolcost.diagnostics",
    "Result": "tolcost.report.result",
    "analyze": "tolcost.pipeline",
}

__all__ = ["Diagnostic", "Rejected", "Result", "__version__", "analyze"]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tolcost' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
