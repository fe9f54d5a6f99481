"""What is asked of a step of training."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tolcost.diagnostics import quoted, refuse
from tolcost.literals import NoLiteralError, read_memory

PRECISIONS: Mapping[str, str] = {"float32": "", "bf16-mixed": "bfloat16", "fp16-mixed": "float16"}
"""The space in which numbers of float32 are held in forward and backward; empty: as the file has them."""
BACKWARD = ("written", "derived")


class TrainingRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The optimiser of a step, and how forward and backward are done.

    ``loss`` is the output that is differentiated; without it, the adjoint of each output is given.
    ``freeze`` are patterns of parameters that are not trained.  ``precision`` is a key of ``PRECISIONS``.
    ``accumulate`` is how many runs of forward and backward make a step.  ``recompute`` are patterns of
    scopes of which only the inputs are kept, ``every k``, or ``best``: those that make it fit in ``memory``.
    """

    optimizer: str
    loss: str | None = None
    freeze: tuple[str, ...] = ()
    precision: str = "float32"
    accumulate: int = 1
    recompute: str | None = None
    backward: str = "written"
    memory: str | None = None

    @property
    def is_best(self) -> bool:
        """Whether the scopes to compute again are to be chosen."""
        return self.recompute is not None and self.recompute.strip() == "best"

    @property
    def most_bytes(self) -> int:
        """The memory in which a step is to fit, in bytes."""
        try:
            return read_memory(self.memory or "")
        except NoLiteralError as error:
            refuse("T0910", f"{quoted(self.memory or '')} is no amount of memory", hint=str(error))

    def checked(self) -> TrainingRequest:
        """Return the request; refuse one that makes no sense."""
        if self.precision not in PRECISIONS:
            hint = f"there are {', '.join(PRECISIONS)}"
            refuse("T0910", f"there is no precision {quoted(self.precision)}", hint=hint)
        if self.backward not in BACKWARD:
            hint = f"a backward pass is {' or '.join(BACKWARD)}"
            refuse("T0910", f"there is no backward pass {quoted(self.backward)}", hint=hint)
        if self.is_best != (self.memory is not None):
            hint = "--recompute best --memory 80GB" if self.is_best else "it is for --recompute best"
            refuse("T0910", f"`memory` {'is missing' if self.is_best else 'has no effect'}", hint=hint)
        if self.is_best:
            _ = self.most_bytes
        if self.accumulate < 1:
            refuse("T0910", f"a step is at least 1 run of forward and backward, not {self.accumulate}")
        return self
