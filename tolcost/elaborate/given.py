"""What a program may be given: values, or what is known of them."""

from __future__ import annotations

from tolcost.algebra import Poly, const
from tolcost.dataclass import dataclass
from tolcost.elaborate.values import Cast, Data, Missing, Seq, Value, Vec, View


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of which only the shape and the space are known."""

    shape: tuple[Poly, ...]
    space: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """Several inputs under one name: a variadic input or a sequence."""

    items: tuple[Tensor | Inputs | Value, ...]


Argument = Tensor | Inputs | Value


def shape_given(argument: Argument | None) -> tuple[Poly, ...] | None:
    """The shape of an argument, if it is one ToL."""
    match argument:
        case Cast(value=value):
            return shape_given(value)
        case Tensor(shape=shape):
            return shape
        case Vec(shape=numbers):
            return tuple(const(n) for n in numbers)
        case Data(node=node):
            return node.type[0].shape
        case View(shape=shape):
            return shape
        case None | Missing() | Inputs() | Seq():
            return None
        case _:
            return ()
