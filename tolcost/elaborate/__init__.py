"""From syntax tree to atoms: partial evaluation with symbolic lengths."""

from tolcost.elaborate import (
    calls,
    choose,
    expressions,
    filter_primitives,
    maps,
    reduce,
    shape_primitives,
    tol_primitives,
    trip_count,
)
from tolcost.elaborate.arguments import Argument, Inputs, Tensor
from tolcost.elaborate.programs import Elaborated, elaborate

RULE_MODULES = (
    calls,
    choose,
    expressions,
    filter_primitives,
    maps,
    reduce,
    shape_primitives,
    tol_primitives,
    trip_count,
)
"""Imported for the rules they register with ``evaluate``."""

__all__ = ["RULE_MODULES", "Argument", "Elaborated", "Inputs", "Tensor", "elaborate"]
