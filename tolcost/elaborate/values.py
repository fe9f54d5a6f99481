"""What an expression can be while compiling.

A *static* value is known now, perhaps as a formula in lengths and coordinates.  A *data*
value is a piece of atomic IR.  Binding time belongs to the value: ``is_static`` tells.

    Value = Poly | Cond | Fraction | float | complex | str       static numerics and text
          | Quotient        a quotient of two integer formulas
          | Opaque       static, but only a program can say what it is (cos of a coordinate)
          | Spaces       type spaces
          | Vec          a ToL of known lengths, entry by entry (entries of any binding time)
          | View         a ToL of any lengths, by a function from coordinates
          | Data         a numeric, list or ToL computed by the program
          | Pieces       a list whose components are values of their own
          | Unknown      nothing is known of it; it serves to find out what does not depend on it
          | Seq | Missing | Cast | functions

An operator with several outputs gives ``Results``, which is no value yet: ``single`` makes it one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tolcost.algebra import TRUE, Cond, Poly, const
from tolcost.dataclass import dataclass, field
from tolcost.spaces import Bounds

if TYPE_CHECKING:
    from tolcost.atoms.nodes import Node
    from tolcost.elaborate.context import Env
    from tolcost.syntax.tree import Expr


T = TypeVar("T")

UNROLL_LIMIT = 4096
"""The largest static domain that is taken entry by entry."""

LAY_OUT_LIMIT = 100_000
"""The largest static ToL that is taken entry by entry."""

MOST_IN_SEQUENCE = 2048
"""The longest sequence, and the most inputs under one name: each is elaborated on its own."""


@dataclass(frozen=True, slots=True)
class Quotient:
    """``over / under``, not known to be an integer; ``under`` is not zero."""

    over: Poly
    under: Poly


@dataclass(frozen=True, slots=True)
class Opaque:
    """A static numeric that only running tells; its node is free."""

    node: Node
    space: str


@dataclass(frozen=True, slots=True)
class Spaces:
    """The type list of something: one name per component, and the bounds that a program declares for it."""

    names: tuple[str, ...]
    within: tuple[Bounds, ...] = ()


@dataclass(frozen=True, slots=True)
class Vec:
    """A ToL laid out entry by entry, row-major.

    ``loose`` marks coordinate and shape vectors: one entry of them may stand for the entry.
    Whether it is ``static`` is asked often, and told once.
    """

    shape: tuple[int, ...]
    items: tuple[Value, ...]
    loose: bool = False
    static: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look through the entries."""
        object.__setattr__(self, "static", all(map(is_static, distinct(self.items).values())))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A ToL known by what it holds at each coordinate; nothing is laid out.

    ``get`` works in the environment of whoever asks, so that what it binds belongs there.
    ``static`` views give static values.  ``space`` is that of the elements where it is known.
    ``laid`` is the node that lays the view out, where one does already.  Elements that are lists have a
    ``capacity``, and all of their ToLs have one shape.
    """

    shape: tuple[Poly, ...]
    get: Callable[[Env, tuple[Value, ...]], Value]
    static: bool
    space: str = "Z"
    laid: Node | None = None
    capacity: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Something the program computes; its type is its node's."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A list ``(a, b)`` whose components are kept apart."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """A sequence; its length is known."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What an operator with several outputs gave; used alone it is the first."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """A static value in a space it is told: it computes as the value, and comes out in the space."""

    value: Value
    space: str


@dataclass(frozen=True, slots=True)
class Missing:
    """An optional input that is not there."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """Something of which not even the shape is known where ``needs`` holds; else it is ``otherwise``."""

    needs: Cond = TRUE
    otherwise: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function of the program."""

    name: str
    params: tuple[str, ...]
    body: Expr
    env: Env = field(repr=False)

    @property
    def title(self) -> str:
        """What to call it in a message."""
        return f"`{self.name}`" if self.name else "this function"


@dataclass(frozen=True, slots=True)
class Builtin:
    """An elementary function, a primitive or an operator, by name."""

    name: str

    @property
    def title(self) -> str:
        """What to call it in a message."""
        return f"`{self.name}`"


@dataclass(frozen=True, slots=True, eq=False)
class Native:
    """A function made while compiling, such as a partial application."""

    name: str
    arity: int
    call: Callable[[Env, tuple[Value, ...]], Value]

    @property
    def title(self) -> str:
        """What to call it in a message."""
        return f"`{self.name}`" if self.name else "this function"


Applicable: TypeAlias = Closure | Builtin | Native
Value: TypeAlias = (
    Poly
    | Cond
    | Fraction
    | float
    | complex
    | str
    | Quotient
    | Opaque
    | Spaces
    | Vec
    | View
    | Data
    | Pieces
    | Seq
    | Cast
    | Missing
    | Unknown
    | Closure
    | Builtin
    | Native
)

Items: TypeAlias = tuple[Value, ...]
"""The components of a list."""


def distinct(items: Collection[T]) -> dict[int, T]:
    """Objects by their identity, each once: a long vector often has one value everywhere."""
    return dict(zip(map(id, items), items, strict=True))


def is_static(value: Value) -> bool:
    """Whether nothing of the value depends on data."""
    match value:
        case Poly():
            return True
        case Data() | Unknown():
            return False
        case View(static=static) | Vec(static=static):
            return static
        case Pieces(items=items) | Seq(items=items):
            return all(is_static(item) for item in items)
        case _:
            return True


@cache
def builtin(name: str) -> Builtin:
    """The function of a name that no program defines."""
    return Builtin(name)


def is_function(value: Value) -> bool:
    """Whether the value can be applied."""
    return isinstance(value, (Closure, Builtin, Native))


def single(found: Value | Results) -> Value:
    """The value of several results when they are used as one: the first."""
    return found.items[0] if isinstance(found, Results) else found


def plain(value: Value) -> Value:
    """The value to compute with, whatever space it is to come out in."""
    return value.value if isinstance(value, Cast) else value


def cast_of(value: Value) -> str | None:
    """The finite space a static value came in, if it did."""
    return value.space if isinstance(value, Cast) else None


def recast(value: Value, space: str | None) -> Value:
    """A static value made from one that came in a space, in that space; anything else as it is.

    Of a bracket in which something is data, each of the other entries is.
    """
    if space is None or not isinstance(value, (Poly, Cond, Fraction, float, complex, Quotient, Vec, View)):
        return value
    if isinstance(value, Vec) and not is_static(value):
        return Vec(value.shape, tuple(recast(item, space) for item in value.items), value.loose)
    return Cast(value, space) if is_static(value) else value


def as_output(value: Value) -> Value:
    """What leaves a program is a ToL of its shape: one entry no longer stands for the entry."""
    match value:
        case Cast(value=inner, space=space):
            return recast(as_output(inner), space)
        case Seq(items=items):
            return Seq(tuple(map(as_output, items)))
        case Vec(loose=True):
            return Vec(value.shape, value.items)
        case _:
            return value


def entry(value: Value) -> Value:
    """A coordinate vector of one entry stands for the entry where a number is wanted."""
    if isinstance(value, Cast):
        return recast(entry(value.value), value.space)
    if isinstance(value, Vec) and value.loose and value.shape == (1,):
        return value.items[0]
    return value


# ---- what a program may be given: values, or what is known of them ---------------------------


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
