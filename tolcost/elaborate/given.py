"""What a program may be given: values, or what is known of them."""

from __future__ import annotations

from tolcost.algebra import Poly, const
from tolcost.dataclass import dataclass
from tolcost.elaborate.values import Cast, Data, Missing, Seq, Value, Vec, View, distinct


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


def frozen(value: object) -> object:
    """What a program is given, as a key: equal keys are lowered alike."""
    match value:
        case Tensor(shape=shape, space=space):
            return ("tensor", shape, space)
        case Inputs(items=items) | Seq(items=items):
            return ("several", tuple(frozen(item) for item in items))
        case Cast(value=inner, space=space):
            return ("cast", frozen(inner), space)
        case Vec(shape=shape, items=items, loose=loose):
            keys = {place: frozen(item) for place, item in distinct(items).items()}
            if len(set(keys.values())) == 1:
                return ("fill", shape, loose, keys[id(items[0])])
            return ("vec", shape, loose, tuple([keys[id(item)] for item in items]))
        case Data() | View():
            return ("object", id(value))
        case float() | complex():
            return ("float", repr(value))
        case Poly():
            return value
        case _:
            return (type(value).__name__, value)


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
