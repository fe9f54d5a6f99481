"""Compile-time values: what an expression is while a program is lowered.

A *static* value is known at compile time, perhaps as a formula in lengths and coordinates. A *data* value is
a piece of atomic IR. The binding time is a property of the value: see ``is_static``.

    Value = Poly | Cond | Fraction | float | complex | str       static numerics and text
          | Quotient     a quotient of two integer formulas
          | Spaces       type spaces
          | Vec          a ToL of known lengths, entry by entry (entries of any binding time)
          | View         a ToL of any lengths, by a function from coordinates
          | NodeValue    a numeric, list or ToL that a node computes
          | ValueList    a list whose components are separate values
          | Unknown      a value of which nothing is known; it reveals what does not depend on it
          | Seq | Missing | Cast | functions
          | Tensor       an input of which only the shape and the space are known

An operator with several outputs returns a tuple of values, of which ``single`` takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from tolcost.algebra import TRUE, Cond, Poly, const
from tolcost.atoms.nodes import Node
from tolcost.spaces import Bounds

if TYPE_CHECKING:  # values also describe the contents of model files, which need no syntax
    from tolcost.elaborate.environment import Env
    from tolcost.syntax.tree import Expr

T = TypeVar("T")

UNROLL_LIMIT = 4096
"""The largest static domain that is unrolled, entry by entry."""

LAY_OUT_LIMIT = 100_000
"""The largest static ToL that is laid out entry by entry."""

MOST_IN_SEQUENCE = 2048
"""The longest sequence, and the most inputs under one name: each is elaborated separately."""


class Quotient(Struct, frozen=True):
    """``over / under``, not known to be an integer; ``under`` is not zero."""

    over: Poly
    under: Poly


class Spaces(Struct, frozen=True):
    """A list of types: a space for each component, and the bounds that the program declares for it."""

    names: tuple[str, ...]
    within: tuple[Bounds, ...] = ()


class Vec(Struct, frozen=True):
    """A ToL laid out entry by entry, row-major.

    ``loose`` marks coordinate and shape vectors: such a vector of one entry may be used as the entry.
    ``static`` is read often, so it is computed once.
    """

    shape: tuple[int, ...]
    items: tuple[Value, ...]
    loose: bool = False
    static: bool = False

    def __post_init__(self) -> None:
        """Compute ``static`` from the entries."""
        force_setattr(self, "static", all(map(is_static, distinct(self.items).values())))


class View(Struct, frozen=True, eq=False):
    """A ToL defined by a function from coordinates to elements; nothing is laid out.

    ``get`` runs in the environment of its caller, so that its bindings go there. A ``static`` view returns
    static values. ``space`` is the space of the elements, if it is known. Elements that are lists have a
    ``capacity``, and all of their ToLs have the same shape.
    """

    shape: tuple[Poly, ...]
    get: Callable[[Env, tuple[Value, ...]], Value]
    static: bool
    space: str = "Z"
    capacity: int = 1


class NodeValue(Struct, frozen=True):
    """A value that a node computes; its type is that of the node.

    A ``static`` one depends on no data, and is free, but only a run determines it (cos of a coordinate).
    """

    node: Node
    static: bool = False


class ValueList(Struct, frozen=True, eq=False):
    """A list ``(a, b)`` whose components are kept as separate values."""

    items: tuple[Value, ...]


class Seq(Struct, frozen=True):
    """A sequence, or several inputs under one name; its length is known."""

    items: tuple[Value, ...]


class Cast(Struct, frozen=True, eq=False):
    """A static value with an explicit space: it computes like the value, and is laid out in the space."""

    value: Value
    space: str


class Missing(Struct, frozen=True):
    """An optional input that was not given."""

    name: str


class Unknown(Struct, frozen=True, eq=False):
    """A value of unknown shape where ``needs`` holds; elsewhere it is ``otherwise``."""

    needs: Cond = TRUE
    otherwise: Value | None = None


class Tensor(Struct, frozen=True):
    """An input of which only the shape and the space are known."""

    shape: tuple[Poly, ...]
    space: str


class Closure(Struct, frozen=True, eq=False):
    """A function of the program."""

    name: str
    params: tuple[str, ...]
    body: Expr
    env: Env


class Native(Struct, frozen=True, eq=False):
    """A function that no program defines.

    It is an elementary function, a primitive or an operator, by name; or it was made while compiling, such as
    a partial application, and has a ``call``.
    """

    name: str
    arity: int = 0
    call: Callable[[Env, tuple[Value, ...]], Value] | None = None


Applicable: TypeAlias = Closure | Native
Value: TypeAlias = (
    Poly
    | Cond
    | Fraction
    | float
    | complex
    | str
    | Quotient
    | Spaces
    | Vec
    | View
    | NodeValue
    | ValueList
    | Seq
    | Cast
    | Missing
    | Unknown
    | Closure
    | Native
    | Tensor
)

Argument: TypeAlias = Value
"""What a program is given: a value, or a tensor, of which no more is known than its shape and space."""

Items: TypeAlias = tuple[Value, ...]
"""The components of a list, or the results of an operator with several outputs."""


def distinct(items: Collection[T]) -> dict[int, T]:
    """Return the distinct objects by identity: a long vector often repeats one value."""
    return dict(zip(map(id, items), items, strict=True))


def is_static(value: Value) -> bool:
    """Whether a value does not depend on data."""
    if isinstance(value, Poly):  # most calls end here; ``match`` would take twice as long
        return True
    if isinstance(value, (NodeValue, View, Vec)):
        return value.static
    if isinstance(value, (Unknown, Tensor)):
        return False
    return all(map(is_static, value.items)) if isinstance(value, (ValueList, Seq)) else True


def is_data(value: Value) -> TypeGuard[NodeValue]:
    """Whether a value is computed from data, by a node."""
    return isinstance(value, NodeValue) and not value.static


def is_tol(value: Value) -> bool:
    """Whether a value is a ToL of one dimension or more, and no list of them."""
    match value:
        case Vec() | View():
            return True
        case NodeValue(node=node):
            return bool(node.type[0].shape)
        case Cast(value=inner):
            return is_tol(inner)
        case _:
            return False


@cache
def builtin(name: str) -> Native:
    """Return the elementary function, primitive or operator of a name."""
    return Native(name)


def title_of(function: Applicable) -> str:
    """Return how a message refers to a function."""
    return f"`{function.name}`" if function.name else "this function"


def is_function(value: Value) -> bool:
    """Whether a value can be applied."""
    return isinstance(value, (Closure, Native))


def single(found: Value | Items) -> Value:
    """Return a value, or the first of several results."""
    return found[0] if isinstance(found, tuple) else found


def plain(value: Value) -> Value:
    """Return the value to compute with, without its explicit space."""
    return value.value if isinstance(value, Cast) else value


def cast_of(value: Value) -> str | None:
    """Return the explicit space of a static value, if it has one."""
    return value.space if isinstance(value, Cast) else None


def recast(value: Value, space: str | None) -> Value:
    """Give a value the explicit space of the static values it was made from; leave data as it is.

    If some entries of a bracket are data, each of the other entries gets the space. A number that only a run
    determines has the space of its node.
    """
    known = isinstance(value, (Poly, Cond, Fraction, float, complex, Quotient, Vec, View))
    if space is None or not (known or (isinstance(value, NodeValue) and is_tol(value))):
        return value
    if isinstance(value, Vec) and not is_static(value):
        return Vec(value.shape, tuple(recast(item, space) for item in value.items), value.loose)
    return Cast(value, space) if is_static(value) else value


def as_output(value: Value) -> Value:
    """Prepare a value to leave a program: a loose vector becomes an ordinary ToL of its shape."""
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
    """Return the entry of a loose vector of one entry, where a number is needed."""
    if isinstance(value, Cast):
        return recast(entry(value.value), value.space)
    if isinstance(value, Vec) and value.loose and value.shape == (1,):
        return value.items[0]
    return value


# ---- arguments of a program: values, or only shapes and spaces ------------------------------------


def name_around(name: str) -> str:
    """Return the name under which a value of a surrounding graph is an input of the inner graph."""
    return f"around {name}"


def frozen(value: object) -> object:
    """Return a key for an argument; arguments with equal keys are lowered alike."""
    match value:
        case Tensor(shape=shape, space=space):
            return ("tensor", shape, space)
        case Seq(items=items):
            return ("several", tuple(frozen(item) for item in items))
        case Cast(value=inner, space=space):
            return ("cast", frozen(inner), space)
        case Vec(shape=shape, items=items, loose=loose):
            keys = {place: frozen(item) for place, item in distinct(items).items()}
            if len(set(keys.values())) == 1:
                return ("fill", shape, loose, keys[id(items[0])])
            return ("vec", shape, loose, tuple([keys[id(item)] for item in items]))
        case NodeValue() | View():
            return ("object", id(value))
        case float() | complex():
            return ("float", repr(value))
        case Poly():
            return value
        case _:
            return (type(value).__name__, value)


def shape_given(argument: Argument | None) -> tuple[Poly, ...] | None:
    """Return the shape of an argument, if it is a single ToL."""
    if isinstance(argument, Poly):
        return ()
    match argument:
        case Cast(value=value):
            return shape_given(value)
        case Tensor(shape=shape):
            return shape
        case Vec(shape=numbers):
            return tuple(const(n) for n in numbers)
        case NodeValue(node=node):
            return node.type[0].shape
        case View(shape=shape):
            return shape
        case None | Missing() | Seq():
            return None
        case _:
            return ()
