"""The atomic IR: the five atoms of the ToL model, and two quantifiers that bound them.

    program  = bindings, named outputs
    block    = (var = node)*, node            evaluated in order, each binding once per visit
    node     = Input(name)                    a ToL given from outside
             | Number(value)                  a static numeric standing where data can
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
    index    = a static integer | node        1-based
    condition = a static condition | node

Norm is no node: a shape is known while compiling, and the length of a Filter is a symbol
that the Filter itself defines.  So is the number of steps of a Fold that ends by a condition on
data.  Where a length stands for a number, unrolling asks for it.  The last four are compositions
of Π, ⋈ and Ξ, kept whole and counted as what they are made of.  Every node has the type of its
value.  Nodes are compared by identity and shared freely: a node that is reachable twice is
evaluated (and counted) twice unless it is bound in a block.  To walk and rebuild them, see ``kit``.
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
"""One part per list component.  The parts of a list of ToLs may differ in shape."""


Constant: TypeAlias = Poly | Cond | bool | float | complex | Fraction | str
"""A static numeric.  Polynomials and conditions may mention lengths and coordinates."""

ATOMS = ("lambda", "norm", "member", "join", "embed")
"""The five atoms, by the names they are counted under."""

Charge = Literal["data", "index", "static"]
"""Whether applying a function is an EOP, computes a coordinate, or is free."""


class JointWork(Struct, frozen=True, eq=False):
    """What a map or a reduce of a few entries comes to: it counts, even if it only says where to look.

    Of its parts, which have names of their own, all are computed where one is used.
    """


class Var(Struct, frozen=True, eq=False):
    """A name for a value inside a block, which may be part of some ``work``."""

    name: str
    type: Type
    work: JointWork | None = None


class Input(Struct, frozen=True, eq=False):
    """A ToL given from outside; ``within`` are bounds of its components that the program declares."""

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

    ``space`` is the space it computes in (for a comparison, that of its arguments), ``of`` tells the nodes of
    a graph apart that the program is made of.
    """

    function: str
    args: tuple[Node, ...]
    space: str
    type: Type
    charge: Charge = "data"
    span: Span = NOWHERE
    of: int = 0


class Where(Struct, frozen=True, eq=False):
    """Λ(where): one of two values of any shape, by a condition on data.  Both are evaluated.

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
    """Π: the element at a full coordinate, 1-based.  An index is static or a numeric node."""

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
    """⋈: two ToLs of one rank, one after the other along dimension ``d`` (1-based)."""

    left: Node
    right: Node
    d: int
    type: Type


class Embed(Struct, frozen=True, eq=False):
    """Ξ: one more dimension at the end, of length 1."""

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

    The accumulator's type may depend on the coordinates: it grows.  ``of`` is as in a Lambda.  Where ``ends``
    is a symbol, the first component of the accumulator is a condition without which no step follows, and
    the extent is this symbol: evaluating defines it, as the number of steps.
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
    """The same elements in row-major order under another shape (that of ``type``)."""

    value: Node
    type: Type


class Convert(Struct, frozen=True, eq=False):
    """The same values in other spaces (those of ``type``), rounded or wrapped where finite.

    With ``bits`` the same bits instead, read as elements of another space of equal width.  A value
    that is not ``within`` the bounds of its component's space is a fault.
    """

    value: Node
    type: Type
    bits: bool = False
    within: tuple[Bounds, ...] = ()
    span: Span = NOWHERE

    @property
    def is_written(self) -> bool:
        """Whether a program says so; others bring together what is in different spaces, and lose nothing."""
        return self.span is not NOWHERE


class Put(Struct, frozen=True, eq=False):
    """A ToL with the member at ``at`` replaced; trailing dimensions may be left out of ``at``."""

    tol: Node
    at: tuple[Poly | Node, ...]
    value: Node
    type: Type
    span: Span = NOWHERE


class Filter(Struct, frozen=True, eq=False):
    """The entries along the first dimension where a vector mask holds, or each as often as it says.

    ``length`` is the symbol that stands for how many there are; evaluating defines it.
    """

    tol: Node
    mask: Node
    length: Symbol
    type: Type
    span: Span = NOWHERE
    repeats: bool = False


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
)
KINDS: tuple[type, ...] = get_args(Node)
"""The kinds of nodes: what a table of rules for all of them has as keys."""


class Block(Struct, frozen=True, eq=False):
    """Bindings evaluated in order, once each per visit, then the result."""

    bindings: tuple[tuple[Var, Node], ...]
    result: Node


ConditionKind = Literal["equal", "range", "divides", "differ", "case"]
"""What a condition is about.

equal: lengths that must be the same; range: an index, a part, a divisor or a length in its range; divides: a
length that another divides; differ: lengths taken to differ; case: the case taken of two that lengths decide.
"""


class Condition(Record, frozen=True):
    """Something the result relies on: recorded, not proved; checked when numbers are known."""

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
    """A lowered program: what it takes, what it computes, and what it relies on.

    ``symbols`` are the lengths and integer attributes that nothing decided while compiling.
    ``conditions`` are about lengths alone; ``unproved`` ones must hold at every coordinate, and
    running checks them element by element.
    """

    name: str
    inputs: tuple[Input, ...]
    bindings: tuple[tuple[Var, Node], ...]
    outputs: tuple[Output, ...]
    conditions: tuple[Condition, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    unproved: tuple[Condition, ...] = ()
