"""Whether a node that cannot be costed is wrong at all lengths, so that the model is invalid.

An error that is definite for one node may be due to an earlier decision: two lengths that broadcast were
taken as equal although one of them may be 1, or a branch was chosen.  A contradiction of shapes therefore
counts only if it remains with independent lengths, and if no earlier result rests on such a decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from msgspec.structs import replace

from tolcost.algebra import Poly, Symbol, length
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.operand_types import TypeContradiction
from tolcost.catalogue.specs import Spec
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Seq, Tensor
from tolcost.elaborate.faults import Fault, UnexpectedValue
from tolcost.models.facts import Known, is_version, symbols_in
from tolcost.models.lowered import Applied, Given, Impossible, Setting
from tolcost.models.schemes import lowered_alone

_TAKEN = ("case", "differ")
"""Kinds of conditions that a model need not satisfy: otherwise it runs too, but differently."""


def impossible_types(rejected: Rejected) -> Impossible | None:
    """Whether a node was refused for its types."""
    return "types" if isinstance(rejected, TypeContradiction) else None


def why_impossible(
    setting: Setting, node: GraphNode, spec: Spec, given: Given, rejected: Rejected
) -> Impossible | None:
    """Return what no lengths make right in a refused node; None if some may, or a case is undefined."""
    if isinstance(rejected, TypeContradiction):
        return "types"
    if node.graphs or not _is_definite(rejected):  # data may decide that a graph is never run
        return None
    lengths = count()
    inputs = tuple(_with_free_lengths(known, lengths) for known in given.inputs)
    if inputs == given.inputs:
        return "shapes"
    if any(known is not None and other is None for known, other in zip(given.inputs, inputs, strict=True)):
        return None
    again = lowered_alone(setting, node, spec, replace(given, inputs=inputs))
    return "shapes" if isinstance(again, Rejected) and _is_definite(again) else None


def _is_definite(rejected: Rejected) -> bool:
    return isinstance(rejected, Fault) and rejected.definite and not isinstance(rejected, UnexpectedValue)


def _with_free_lengths(known: Known | None, lengths: Iterable[int]) -> Known | None:
    """Replace an input's open lengths by independent ones; None for a static value that mentions some."""
    match known:
        case Tensor(shape=shape, space=space):
            return Tensor(tuple(d if d.constant is not None else _free_length(lengths) for d in shape), space)
        case Seq(items=items):
            loose = [_with_free_lengths(item, lengths) for item in items]
            return None if None in loose else Seq(tuple(item for item in loose if item is not None))
        case _:
            return None if known is None or symbols_in(known) else known


def _free_length(lengths: Iterable[int]) -> Poly:
    return length(f"free length {next(iter(lengths))}", 0)


def is_doubtful(nodes: Iterable[Applied], equal: Mapping[Symbol, Poly]) -> bool:
    """Whether shapes of a model rest on one of several possible cases."""
    if any(not is_version(symbol, form) for symbol, form in equal.items()):
        return True
    parts = (lowered for applied in nodes for lowered, _ in applied.parts)
    return any(part.choices or any(c.kind in _TAKEN for c in part.conditions) for part in parts)
