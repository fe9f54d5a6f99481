"""From syntax tree to atoms: partial evaluation with symbolic lengths."""

from tolcost.elaborate.programs import Argument, Elaborated, Inputs, Tensor, elaborate

__all__ = ["Argument", "Elaborated", "Inputs", "Tensor", "elaborate"]
