"""The atomic IR: the five atoms of the ToL model, and two quantifiers over ranges.

    program  = bindings, named outputs
    block    = (var = node)*, node            evaluated in order, each binding once per visit
    node     = Input(name)                    a ToL given from outside
             | Number(value)                  a static numeric used where data is expected
             | Table(values)                  static numerics laid out as a ToL
             | Ref(var)                       a bound value, or the accumulator of a fold
             | Lambda(f, node*)               Λ  one elementary function on numerics
             | Where(node, node, node)        Λ  picks a whole value by a condition on data
             | Member(node, index*)           Π  a full coordinate; gives a numeric or a list
             | Component(node, j)             Π' one component of a list
             | Pack(node*)                    ⋈̄  a list
             | Join(node, node, d)            ⋈  along dimension d
             | Embed(node)                    Ξ  a last dimension of length 1
             | Build(coords, extents, block)  Ξ/⋈ over a range: shape = extents + shape of the body
             | Fold(coords, extents, var, node, block)   nested Λ of reduce, row-major
             | Select(condition, block, block)           only the chosen side is evaluated
             | Reshape(node)                  the same elements under another shape
             | Convert(node)                  the same values, or bits, in other spaces
             | Put(node, index*, node)        a member, or members, replaced
             | Filter(node, node, length)     the entries that a mask on data keeps
             | Length(node, length)           a number on data, as the length of a range
    index    = a static integer | node        1-based
    condition = a static condition | node

There is no node for Norm: shapes are known at compile time. The length of a Filter is a symbol that the
Filter itself defines, as a Length does, and so is the number of steps of a Fold that ends by a condition on
data. Where a length is used as a number, unrolling adds a norm atom. Reshape, Convert, Put and Filter are
compositions of Π, ⋈ and Ξ that are kept whole; their cost is that of the composition. A Length costs nothing.
Every node has the type of its value. Nodes are compared by identity and shared freely: a node that is
reachable twice is evaluated (and counted) twice unless it is bound in a block. ``kit`` has the traversals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol
from tolcost.diagnostics import NOWHERE, Span
from tolcost.records import Record
from tolcost.spaces import Bounds


class Part(Struct, frozen=True):
    """The shape and space of one component of a value."""

    shape: tuple[Poly, ...]
    space: str


Type: TypeAlias = tuple[Part, ...]
"""One part per list component. The parts of a list of ToLs may differ in shape."""


Constant: TypeAlias = Poly | Cond | bool | float | complex | Fraction | str
"""A static numeric. Polynomials and conditions may mention lengths and coordinates."""

ATOMS = ("lambda", "norm", "member", "join", "embed")
"""The five atoms, by the names under which they are counted."""

Charge = Literal["data", "index", "static"]
"""What applying a function counts as: an EOP ("data"), an index function ("index"), or nothing ("static")."""


class JointWork(Struct, frozen=True, eq=False):
    """The work of one small map or reduce whose entries are bound separately.

    It counts even if it only computes indices.

    If any of its parts is used, all of them are computed.
    """


class Var(Struct, frozen=True, eq=False):
    """A name for a value inside a block; the value may be part of some joint ``work``."""

    name: str
    type: Type
    work: JointWork | None = None


class Input(Struct, frozen=True, eq=False):
    """A ToL given from outside; ``within`` are the bounds that the program declares for its components."""

    name: str
    type: Type
    within: tuple[Bounds, ...] = ()


class Number(Struct, frozen=True, eq=False):
    """A static numeric where a datum is expected; it has a space but costs nothing."""

    value: Constant
    type: Type
    span: Span = NOWHERE


class Table(Struct, frozen=True, eq=False):
    """Static numerics in row-major order under the (concrete) shape of ``type``; free, like Number."""

    values: tuple[Constant, ...]
    type: Type
    span: Span = NOWHERE


class Ref(Struct, frozen=True, eq=False):
    """The value of a variable."""

    var: Var
    type: Type


class Lambda(Struct, frozen=True, eq=False):
    """Λ: an elementary function applied to numerics.

    ``space`` is the space in which the function computes (for a comparison, that of its arguments). ``of`` is
    the number of the inner graph's node that it was lowered from; it is 0 if there is none.
    """

    function: str
    args: tuple[Node, ...]
    space: str
    type: Type
    charge: Charge = "data"
    span: Span = NOWHERE
    of: int = 0


class Where(Struct, frozen=True, eq=False):
    """Λ(where): one of two values of any shape, by a condition on data. Both are evaluated.

    A fault in the value not taken is not an error.
    """

    condition: Node
    then: Node
    other: Node
    space: str
    type: Type
    charge: Charge = "data"
    span: Span = NOWHERE


class Member(Struct, frozen=True, eq=False):
    """Π: the element at a full coordinate, 1-based. An index is static or a numeric node."""

    tol: Node
    at: tuple[Poly | Node, ...]
    type: Type
    span: Span = NOWHERE


class Component(Struct, frozen=True, eq=False):
    """Π': component ``j`` (1-based) of a list."""

    value: Node
    j: int
    type: Type


class Pack(Struct, frozen=True, eq=False):
    """⋈̄: a list of the components of its items."""

    items: tuple[Node, ...]
    type: Type


class Join(Struct, frozen=True, eq=False):
    """⋈: two ToLs of equal rank, one after the other along dimension ``d`` (1-based)."""

    left: Node
    right: Node
    d: int
    type: Type


class Embed(Struct, frozen=True, eq=False):
    """Ξ: the value with one more dimension at the end, of length 1."""

    value: Node
    type: Type


class Build(Struct, frozen=True, eq=False):
    """A ToL whose member at ``coords`` is the body; the body may itself be a ToL or a list."""

    coords: tuple[Symbol, ...]
    extents: tuple[Poly, ...]
    body: Block
    type: Type
    span: Span = NOWHERE


class Fold(Struct, frozen=True, eq=False):
    """The left fold of a body over a coordinate range in row-major order.

    The accumulator's type may depend on the coordinates: then it grows. ``of`` is as in a Lambda. If ``ends``
    is a symbol, the loop stops when the first component of the accumulator, a condition, is false; the extent
    is this symbol, and evaluation defines it as the number of steps.
    """

    coords: tuple[Symbol, ...]
    extents: tuple[Poly, ...]
    accumulator: Var
    start: Node
    body: Block
    type: Type
    span: Span = NOWHERE
    of: int = 0
    ends: Symbol | None = None


class Select(Struct, frozen=True, eq=False):
    """A choice by lengths and coordinates, or by a numeric; only the chosen side is evaluated."""

    condition: Cond | Node
    then: Block
    other: Block
    type: Type
    span: Span = NOWHERE


class Reshape(Struct, frozen=True, eq=False):
    """The elements of a value, in row-major order, under another shape (that of ``type``)."""

    value: Node
    type: Type


class Convert(Struct, frozen=True, eq=False):
    """The values of a node in other spaces (those of ``type``), rounded or wrapped where these are finite.

    With ``bits``, the same bits read as elements of another space of equal width. A value that is not
    ``within`` the bounds of its component's space is a fault.
    """

    value: Node
    type: Type
    bits: bool = False
    within: tuple[Bounds, ...] = ()
    span: Span = NOWHERE

    @property
    def is_written(self) -> bool:
        """Whether the program asks for the conversion.

        The compiler adds others, all lossless, to make spaces match.
        """
        return self.span is not NOWHERE


class Put(Struct, frozen=True, eq=False):
    """A ToL with the member at ``at`` replaced; trailing dimensions may be omitted from ``at``."""

    tol: Node
    at: tuple[Poly | Node, ...]
    value: Node
    type: Type
    span: Span = NOWHERE


class Filter(Struct, frozen=True, eq=False):
    """The entries along the first dimension where a vector mask holds, or as many copies as the mask says.

    ``length`` is the symbol for the number of resulting entries; evaluation defines it.
    """

    tol: Node
    mask: Node
    length: Symbol
    type: Type
    span: Span = NOWHERE
    repeats: bool = False


class Length(Struct, frozen=True, eq=False):
    """A whole number, not below 0, that data decides and that is the ``length`` of a range.

    Evaluation defines the length. The value of the node is the number.
    """

    value: Node
    length: Symbol
    type: Type
    span: Span = NOWHERE


Node: TypeAlias = (
    Input
    | Number
    | Table
    | Ref
    | Lambda
    | Where
    | Member
    | Component
    | Pack
    | Join
    | Embed
    | Build
    | Fold
    | Select
    | Reshape
    | Convert
    | Put
    | Filter
    | Length
)
KINDS: tuple[type, ...] = get_args(Node)
"""The kinds of nodes: the keys of a complete table of rules."""


class Block(Struct, frozen=True, eq=False):
    """Bindings that are evaluated in order, once each per visit, then the result."""

    bindings: tuple[tuple[Var, Node], ...]
    result: Node


ConditionKind = Literal["equal", "range", "divides", "differ", "case"]
"""What a condition requires.

equal: two lengths are equal; range: an index, a part, a divisor or a length lies in its range; divides: one
length divides another; differ: two lengths are assumed to differ; case: lengths decide between two cases, and
this one was taken.
"""


class Condition(Record, frozen=True):
    """An assumption of the result: recorded, not proved; checked when the numbers are known."""

    condition: Cond
    reason: str
    kind: ConditionKind = "range"
    span: Span = NOWHERE


class Output(Struct, frozen=True, eq=False):
    """A named result."""

    name: str
    node: Node
    span: Span = NOWHERE


class Program(Struct, frozen=True, eq=False):
    """A lowered program: its inputs, its computation, and the conditions it relies on.

    ``symbols`` are the lengths and integer attributes that stay undecided at compile time. ``conditions``
    concern lengths only; ``unproved`` conditions must hold at every coordinate, and a run checks them element
    by element.
    """

    name: str
    inputs: tuple[Input, ...]
    bindings: tuple[tuple[Var, Node], ...]
    outputs: tuple[Output, ...]
    conditions: tuple[Condition, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    unproved: tuple[Condition, ...] = ()
    in_all: tuple[tuple[Symbol, Poly], ...] = ()
    """The most turns of loops inside of other loops in all, where measures tell."""
