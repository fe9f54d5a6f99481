"""From syntax tree to atoms: partial evaluation with symbolic lengths."""

from tolcost.elaborate import binders, calls, choose, expressions, folds, norms, parts, remakes
from tolcost.elaborate.inputs import Argument, Inputs, Tensor
from tolcost.elaborate.programs import Elaborated, elaborate

RULE_MODULES = (binders, calls, choose, expressions, folds, norms, parts, remakes)
"""Imported for the rules they register with ``evaluate``."""

__all__ = ["RULE_MODULES", "Argument", "Elaborated", "Inputs", "Tensor", "elaborate"]
