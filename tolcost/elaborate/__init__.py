"""Elaboration: from the syntax tree to atoms, by partial evaluation with symbolic lengths.

The types of arguments are imported at once; the compiler itself is loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tolcost.elaborate.values import Argument, Seq, Tensor

if TYPE_CHECKING:
    from tolcost.elaborate.programs import Elaborated, elaborate

__all__ = ["Argument", "Elaborated", "Seq", "Tensor", "elaborate"]


def __getattr__(name: str) -> object:
    """Load the compiler on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tolcost.elaborate import programs

    return getattr(programs, name)
