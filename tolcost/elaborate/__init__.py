"""From syntax tree to atoms: partial evaluation with symbolic lengths.

What is said of arguments is known at once; what compiles is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tolcost.elaborate.values import Argument, Inputs, Tensor

if TYPE_CHECKING:
    from tolcost.elaborate.programs import Elaborated, elaborate

__all__ = ["Argument", "Elaborated", "Inputs", "Tensor", "elaborate"]


def __getattr__(name: str) -> object:
    """Load what compiles."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tolcost.elaborate import programs

    return getattr(programs, name)
