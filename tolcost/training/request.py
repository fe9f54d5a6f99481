"""What is asked of a step of training."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tolcost.diagnostics import quoted, refuse

PRECISIONS: Mapping[str, str] = {"float32": "", "bf16-mixed": "bfloat16", "fp16-mixed": "float16"}
"""The space in which numbers of float32 are held in forward and backward; empty: as the file has them."""
BACKWARD = ("written", "derived")


class TrainingRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The optimiser of a step, and how forward and backward are done.

    ``loss`` is the output that is differentiated; without it, the adjoint of each output is given.
    ``freeze`` are patterns of parameters that are not trained.  ``precision`` is a key of ``PRECISIONS``.
    ``accumulate`` is how many runs of forward and backward make a step.  ``recompute`` is a pattern of scopes
    of which only the inputs are kept, or ``every k``.
    """

    optimizer: str
    loss: str | None = None
    freeze: tuple[str, ...] = ()
    precision: str = "float32"
    accumulate: int = 1
    recompute: str | None = None
    backward: str = "written"

    def checked(self) -> TrainingRequest:
        """Return the request; refuse one that makes no sense."""
        if self.precision not in PRECISIONS:
            hint = f"there are {', '.join(PRECISIONS)}"
            refuse("T0910", f"there is no precision {quoted(self.precision)}", hint=hint)
        if self.backward not in BACKWARD:
            hint = f"a backward pass is {' or '.join(BACKWARD)}"
            refuse("T0910", f"there is no backward pass {quoted(self.backward)}", hint=hint)
        if self.accumulate < 1:
            refuse("T0910", f"a step is at least 1 run of forward and backward, not {self.accumulate}")
        return self
