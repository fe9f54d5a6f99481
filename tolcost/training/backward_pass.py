"""A backward pass of an operator, derived or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from tolcost.algebra import Poly
from tolcost.atoms.nodes import Program
from tolcost.models.lowered import ComputedCost


class BackwardPass(Struct, frozen=True, eq=False):
    """A backward pass: its program and cost, and names of inputs and outputs of the operator.

    ``reads`` are inputs and outputs of forward that it reads.  ``gradients`` are the inputs to which it gives
    a gradient, each with the output whose adjoint this is, if it only passes that on.
    """

    lowered: Program | Callable[[], Program]
    cost: ComputedCost
    reads: frozenset[str]
    gradients: Mapping[str, str | None]
    is_written: bool = False
    extra: Mapping[str, tuple[tuple[Poly, ...], str]] = field(default_factory=dict)
    """Tensors that are no outputs of the node, and that forward keeps for it: their shapes and spaces."""

    @property
    def program(self) -> Program:
        """Its program; if only the cost is stored, it is derived now."""
        return self.lowered if isinstance(self.lowered, Program) else self.lowered()
