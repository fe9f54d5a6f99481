r"""Exact symbolic cost of tensor programs, from one executable definition of each operator.

    >>> import tolcost
    >>> cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*) + 1)")
    >>> cost.eops, cost.at(n=1000).eops
    (2*n, 2000)

Importing this is cheap: what a call needs is loaded by the call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tolcost.api import analyze, diff, from_onnx, generate, load_model, operator, sweep, symbols
    from tolcost.diagnostics import Diagnostic, Rejected
    from tolcost.result.comparison import CostComparison
    from tolcost.result.cost import Cost, ExactNumbers, NumberColumns

__version__ = "0.1.0"
__all__ = [
    "Cost",
    "CostComparison",
    "Diagnostic",
    "ExactNumbers",
    "NumberColumns",
    "Rejected",
    "__version__",
    "analyze",
    "diff",
    "from_onnx",
    "generate",
    "load_model",
    "operator",
    "sweep",
    "symbols",
]

_ELSEWHERE = {
    "Cost": "tolcost.result.cost",
    "CostComparison": "tolcost.result.comparison",
    "Diagnostic": "tolcost.diagnostics",
    "ExactNumbers": "tolcost.result.cost",
    "NumberColumns": "tolcost.result.cost",
    "Rejected": "tolcost.diagnostics",
}
"""Where the public names are that are not in ``tolcost.api``."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name in __all__:
        return getattr(import_module(_ELSEWHERE.get(name, "tolcost.api")), name)
    if not name.startswith("_"):
        apps = import_module("tolcost.apps")
        if name in apps.FUNCTIONS and apps.is_there(apps.FUNCTIONS[name]):
            return getattr(apps.load(apps.FUNCTIONS[name]), name)
    raise AttributeError(f"module 'tolcost' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Give the public names, those not loaded yet included."""
    apps = import_module("tolcost.apps")
    return sorted({*globals(), *__all__, *(name for name, at in apps.FUNCTIONS.items() if apps.is_there(at))})
