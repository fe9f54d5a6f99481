"""Programs of nothing but the five atoms: one atomic computation after the other, and what it works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from tolcost.algebra import Symbol
from tolcost.atoms.nodes import Charge
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import NOWHERE, Span
from tolcost.spaces import Bounds

Operation = Literal["lambda", "norm", "member", "join", "embed"]


@dataclass(frozen=True, slots=True)
class AtomResult:
    """The result of an atom, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class InputOperand:
    """An input."""

    name: str


@dataclass(frozen=True, slots=True)
class Constants:
    """Static numerics in row-major order under a shape, in a space; most often just one."""

    values: tuple[int | float | complex | str, ...]
    shape: tuple[int, ...]
    space: str


@dataclass(frozen=True, slots=True)
class CastOperand:
    """The same value, or the same ``bits``, in other spaces, which is no computation.

    As of a ``Convert``, what is not ``within`` the bounds of a space is a fault.
    """

    value: Operand
    spaces: tuple[str, ...]
    bits: bool = False
    within: tuple[Bounds, ...] = ()
    span: Span = field(default=NOWHERE, repr=False, compare=False)


Operand: TypeAlias = AtomResult | InputOperand | Constants | CastOperand


@dataclass(frozen=True, slots=True)
class Atom:
    """One atomic computation.

    ``index`` is a coordinate of a member (1-based), ``component`` that of a list.  A join with
    ``d`` 0 makes a list.  ``spaces`` are those of the result's components; ``shape`` is that
    of an embed's result.  A numeric may stand for a vector of one entry.
    Only what is charged to data counts: lengths are asked for at no cost.
    """

    operation: Operation
    args: tuple[Operand, ...]
    spaces: tuple[str, ...]
    function: str = ""
    space: str = ""
    charge: Charge = "data"
    index: tuple[int | Operand, ...] = ()
    component: int = 0
    d: int = 0
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unrolled:
    """The atoms in order, and what the outputs are: an operand and the shape of each component.

    ``lengths`` are those that only data decided.
    """

    atoms: tuple[Atom, ...]
    outputs: tuple[tuple[str, Operand, tuple[tuple[int, ...], ...]], ...]
    lengths: Mapping[Symbol, int]


Look: TypeAlias = Callable[[Sequence[Atom], Operand], Sequence[int]]
"""Gives the entries of a value as whole numbers, once the atoms before it are done."""
