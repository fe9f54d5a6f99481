"""What an expression can be while compiling, the state that one elaboration keeps, and how one evaluates.

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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr

from tolcost.algebra import (
    FALSE,
    TRUE,
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    as_fact,
    const,
    numbered_coordinate,
    substitute,
    symbols_of_cond,
)
from tolcost.algebra.conditions import conjuncts
from tolcost.atoms.nodes import Block, Condition, ConditionKind, JointWork, Node, Number, Ref, Table, Var
from tolcost.atoms.nodes import Input as InputNode
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span
from tolcost.spaces import Bounds

if TYPE_CHECKING:  # what a model file comes to is told with values, too, and needs no syntax
    from tolcost.syntax import tree
    from tolcost.syntax.names import Signature
    from tolcost.syntax.tree import Expr, Module

T = TypeVar("T")

UNROLL_LIMIT = 4096
"""The largest static domain that is taken entry by entry."""

LAY_OUT_LIMIT = 100_000
"""The largest static ToL that is taken entry by entry."""

MOST_IN_SEQUENCE = 2048
"""The longest sequence, and the most inputs under one name: each is elaborated on its own."""


class Quotient(Struct, frozen=True):
    """``over / under``, not known to be an integer; ``under`` is not zero."""

    over: Poly
    under: Poly


class Opaque(Struct, frozen=True):
    """A static numeric that only running tells; its node is free."""

    node: Node
    space: str


class Spaces(Struct, frozen=True):
    """The type list of something: one name per component, and the bounds that a program declares for it."""

    names: tuple[str, ...]
    within: tuple[Bounds, ...] = ()


class Vec(Struct, frozen=True):
    """A ToL laid out entry by entry, row-major.

    ``loose`` marks coordinate and shape vectors: one entry of them may stand for the entry.
    Whether it is ``static`` is asked often, and told once.
    """

    shape: tuple[int, ...]
    items: tuple[Value, ...]
    loose: bool = False
    static: bool = False

    def __post_init__(self) -> None:
        """Look through the entries."""
        force_setattr(self, "static", all(map(is_static, distinct(self.items).values())))


class View(Struct, frozen=True, eq=False):
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


class Data(Struct, frozen=True, eq=False):
    """Something the program computes; its type is its node's."""

    node: Node


class Pieces(Struct, frozen=True, eq=False):
    """A list ``(a, b)`` whose components are kept apart."""

    items: tuple[Value, ...]


class Seq(Struct, frozen=True, eq=False):
    """A sequence; its length is known."""

    items: tuple[Value, ...]


class Results(Struct, frozen=True, eq=False):
    """What an operator with several outputs gave; used alone it is the first."""

    items: tuple[Value, ...]


class Cast(Struct, frozen=True, eq=False):
    """A static value in a space it is told: it computes as the value, and comes out in the space."""

    value: Value
    space: str


class Missing(Struct, frozen=True):
    """An optional input that is not there."""

    name: str


class Unknown(Struct, frozen=True, eq=False):
    """Something of which not even the shape is known where ``needs`` holds; else it is ``otherwise``."""

    needs: Cond = TRUE
    otherwise: Value | None = None


class Closure(Struct, frozen=True, eq=False):
    """A function of the program."""

    name: str
    params: tuple[str, ...]
    body: Expr
    env: Env


class Builtin(Struct, frozen=True):
    """An elementary function, a primitive or an operator, by name."""

    name: str


class Native(Struct, frozen=True, eq=False):
    """A function made while compiling, such as a partial application."""

    name: str
    arity: int
    call: Callable[[Env, tuple[Value, ...]], Value]


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
    if isinstance(value, Poly):  # of most this is asked: no ``match``, which takes twice as long
        return True
    if isinstance(value, (Data, Unknown)):
        return False
    if isinstance(value, (View, Vec)):
        return value.static
    return not isinstance(value, (Pieces, Seq)) or all(map(is_static, value.items))


@cache
def builtin(name: str) -> Builtin:
    """The function of a name that no program defines."""
    return Builtin(name)


def title_of(function: Applicable) -> str:
    """What to call a function in a message."""
    return f"`{function.name}`" if function.name else "this function"


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


class Tensor(Struct, frozen=True):
    """An input of which only the shape and the space are known."""

    shape: tuple[Poly, ...]
    space: str


def name_around(name: str) -> str:
    """What a value of a surrounding graph is called as an input of what it surrounds."""
    return f"around {name}"


class Inputs(Struct, frozen=True):
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
    if isinstance(argument, Poly):
        return ()
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


# === Why a program cannot be elaborated: kinds of faults, and how they are raised.


BUDGET = 600_000
"""Evaluation steps before a program is refused as too large to elaborate."""


class Fault(Rejected):
    """A program that cannot be elaborated; ``definite`` if no lengths can make it right at this place."""

    definite = False


class Misfit(Fault):
    """Shapes that do not fit together, or not what is done with them."""


class OutOfRange(Misfit):
    """Something is looked at that lies outside of its ToL."""


class ListForNumber(Fault):
    """A list stands where a number is needed."""


class RankMismatch(Misfit):
    """Two shapes that must be one differ in rank."""


class UnexpectedValue(Fault):
    """A text or a number is none of those that a program takes; others may take it."""


class Outside(Fault):
    """A program says itself that what it is asked for is no ToL computation, and why."""


class NeedsUnrolling(Exception):
    """A table was indexed by a coordinate of a small known range: take that range entry by entry."""

    def __init__(self, symbol: Symbol, span: Span) -> None:
        """Remember whose coordinate it was, and where it was used."""
        super().__init__(symbol.name)
        self.symbol = symbol
        self.span = span


def fail(
    code: str,
    message: str,
    span: Span = NOWHERE,
    hint: str | None = None,
    kind: type[Fault] = Fault,
    definite: bool = False,
) -> NoReturn:
    """Reject the program with one diagnostic."""
    fault = kind(Diagnostic(code, message, span, hint=hint))
    fault.definite = definite
    raise fault


def wrong_arity(function: str, takes: Signature, given: int, span: Span) -> NoReturn:
    """Refuse a function of too few or too many arguments."""
    fail("T0203", f"{function} takes {takes}, not {given}", span)


def too_many_steps(span: Span) -> NoReturn:
    """Refuse a program that takes too long to elaborate."""
    fail(
        "T0501",
        f"this program takes more than {BUDGET:,} steps to elaborate",
        span,
        hint="a function that calls another twice doubles the work at every level; name the value",
    )


CALL_DEPTH = 400
"""How deeply functions may call one another."""


# === The state of one elaboration: scopes that collect bindings, environments, facts, conditions.


class OperatorDefinition(Protocol):
    """An operator that programs may call: what it computes, and the library files it uses."""

    @property
    def program(self) -> Module:
        """What it computes."""

    @property
    def library(self) -> tuple[Module, ...]:
        """The files whose definitions it sees."""


class Notes:
    """What the result relies on: conditions on lengths, on coordinates, and lengths that are equal.

    ``agreed`` are equations between lengths none of which may take the place of another: data decides them.
    ``loops`` are the titles of the nodes with loops whose number of turns data decides.
    """

    __slots__ = ("agreed", "conditions", "equal", "loops", "unproved")

    def __init__(
        self,
        conditions: dict[Cond, Condition] | None = None,
        unproved: dict[Cond, Condition] | None = None,
        equal: dict[Symbol, Poly] | None = None,
        agreed: tuple[Cond, ...] = (),
        loops: tuple[str, ...] = (),
    ) -> None:
        """Written out, as that of a trial."""
        self.conditions = conditions or {}
        self.unproved = unproved or {}
        self.equal = equal or {}
        self.agreed = agreed
        self.loops = loops

    def copy(self) -> Notes:
        """The same notes, to go back to."""
        return Notes(dict(self.conditions), dict(self.unproved), dict(self.equal), self.agreed, self.loops)

    def adopt(self, symbol: Symbol, value: Poly) -> None:
        """From now on a length is another."""
        self.equal = {s: substitute(p, {symbol: value}) for s, p in self.equal.items()}
        self.equal[symbol] = value

    def add(self, later: Notes, since: Notes) -> None:
        """Note what others came to note after they were as ``since``."""
        for mine, theirs, before in (
            (self.conditions, later.conditions, since.conditions),
            (self.unproved, later.unproved, since.unproved),
        ):
            mine.update({c: noted for c, noted in theirs.items() if c not in before and c not in mine})
        for symbol, value in later.equal.items():
            if symbol not in since.equal and symbol not in self.equal:
                self.adopt(symbol, value)
        self.agreed += later.agreed[len(since.agreed) :]
        self.loops += later.loops[len(since.loops) :]


class Trial:
    """A piece of elaboration that may be thrown away, and the notes as they were before it.

    It lasts as long as a ``with``; unless it is kept, what was noted in it is forgotten at the end.
    ``levels`` are those of blocks that were asked for while it is the last.
    """

    __slots__ = ("before", "context", "kept", "level", "levels", "scope")

    def __init__(self, context: Context, scope: Scope, before: Notes, level: int) -> None:
        """Written out, as those of blocks, names and environments: few things are made as often."""
        self.context = context
        self.scope = scope
        self.before = before
        self.level = level
        self.kept = False
        self.levels: dict[Scope, int] = {}

    def __enter__(self) -> Trial:
        """Begin, inside of the trials under way."""
        self.context.trials.append(self)
        self.context.level = len(self.context.trials)
        return self

    def __exit__(self, *_: object) -> None:
        """End, whether it went well or not."""
        self.context.trials.pop()
        self.context.level = self.level
        if not self.kept:
            self.context.notes = self.before
            return
        for around in self.context.trials[self.level :]:  # what is kept here outlives them
            around.before.add(self.context.notes, self.before)

    def keep(self) -> None:
        """The attempt succeeded: what it noted stays."""
        self.kept = True


class Context(Struct, eq=False):
    """What one elaboration has found so far."""

    operators: Mapping[str, OperatorDefinition]
    call_operator: Callable[[Env, str, tuple[Value, ...], dict[str, Value], Span], Value | Results]
    notes: Notes = field(default_factory=Notes)
    trials: list[Trial] = field(default_factory=list)
    level: int = 0
    warnings: list[Diagnostic] = field(default_factory=list)
    around: dict[str, Value] = field(default_factory=dict)
    as_data: dict[str, Value] = field(default_factory=dict)
    """Values around that are known, as whoever need not know them is given them."""
    declared: dict[str, Span] = field(default_factory=dict)
    arguments: list[tuple[str, Value]] = field(default_factory=list)
    """What attributes and static inputs are given, by name: those of the program itself first."""
    gave_data: set[int] = field(default_factory=set)
    left_open: tuple[Cond, tuple[Cond, ...]] = (TRUE, ())
    """The last condition that could not be decided, and what was known then."""
    open: dict[Cond, None] = field(default_factory=dict)
    """The conditions on lengths alone that could not be decided."""
    title: str = ""
    """What symbols are called after whose values only running tells."""
    node: int = 0
    """Which of the nodes of graphs inside is elaborated; 0 where none is."""
    nodes: int = 0
    """How many of them there were so far."""
    lengths: set[str] = field(default_factory=set)
    """What lengths are called, by the program or by who gives its arguments."""
    looked: int = 0
    """How often something was noted, or depended on how a value came about."""
    asked: int = 0
    """How often something depended on whether a value is known, or on its space, and no node tells.

    Spaces that follow from it are told by nodes."""
    free_components: set[tuple[Var, int]] = field(default_factory=set)
    """Components of accumulators, by number, that are taken to be static."""
    steps: int = 0
    unrolled: int = 0
    depth: int = 0
    names: int = 0

    def argument_named(self, value: Value) -> str | None:
        """The attribute or static input that a text or a vector is what was given for, or one entry of it.

        Equal numbers are one object, so that nobody can tell where one came from.
        """
        wanted = plain(value)
        if not isinstance(wanted, (str, Vec)):
            return None
        for name, argument in self.arguments:
            given = plain(argument)
            if any(one is wanted for one in (given, *(given.items if isinstance(given, Vec) else ()))):
                return name
        return None

    def unused(self, name: str) -> str:
        """A name like this one for a length of our own: no other length has it."""
        while name in self.lengths:
            name += "_"
        return name

    def own_name(self, name: str) -> str:
        """The same for what only running tells; that of a node of a model gets the node's name later."""
        return name if self.title else self.unused(name)

    def turns_name(self) -> str:
        """Return the name of the number of turns of another loop: ``turns``, ``turns2``, ..."""
        for notes in self._lasting():
            notes.loops = (*notes.loops, self.title)
        many = self.notes.loops.count(self.title)
        return "turns" if many == 1 else f"turns{many}"

    @contextmanager
    def at_node(self, title: str) -> Iterator[None]:
        """Elaborate the operator of another node of a graph, which symbols are called after.

        Which maps gave data is found anew: the operator may be applied to data here, and to shapes there.
        """
        before = self.gave_data, self.title, self.node
        self.nodes += 1
        self.gave_data, self.title, self.node = set(), title, self.nodes
        try:
            yield
        finally:
            self.gave_data, self.title, self.node = before

    def tick(self, span: Span) -> None:
        """Count one step of work; refuse the program when it has had too many."""
        self.steps += 1
        if self.steps > BUDGET:
            too_many_steps(span)

    def record(self, condition: Cond, kind: ConditionKind, reason: str, span: Span) -> None:
        """Note something the result relies on, once.

        What must hold at every coordinate, and could be neither proved nor put in terms of
        lengths, is kept apart: running checks it element by element.
        """
        self.looked += 1
        local = any(s.kind == "coord" for s in symbols_of_cond(condition))
        for notes in self._lasting():
            kept = notes.unproved if local else notes.conditions
            kept.setdefault(condition, Condition(condition, reason, kind, span))

    def adopt(self, symbol: Symbol, value: Poly) -> None:
        """From now on a length is another."""
        self.looked += 1
        for notes in self._lasting():
            notes.adopt(symbol, value)

    def agree(self, equation: Cond) -> None:
        """From now on an equation holds."""
        self.looked += 1
        for notes in self._lasting():
            notes.agreed = (*notes.agreed, equation)

    def _lasting(self) -> Iterator[Notes]:
        """The notes in force, and those to go back to from trials that do not matter here."""
        yield self.notes
        for trial in self.trials[self.level :]:
            yield trial.before

    def attempt(self, scope: Scope) -> Trial:
        """Elaborate something in a block of its own; unless it is kept, what it noted is forgotten."""
        return Trial(self, scope, self.notes.copy(), self.level)

    def level_of(self, scope: Scope) -> int:
        """How many trials are under way with the last one that the block belongs to.

        One before it may be of a block elsewhere: that of a value in which this one was first needed.
        """
        if not self.trials:
            return 0
        levels = self.trials[-1].levels
        found = levels.get(scope)
        if found is None:
            found = levels[scope] = self._counted_level(scope)
        return found

    def _counted_level(self, scope: Scope) -> int:
        above = set()
        here: Scope | None = scope
        while here is not None:
            above.add(id(here))
            here = here.parent
        for level in range(len(self.trials), 0, -1):
            if id(self.trials[level - 1].scope) in above:
                return level
        return 0


class Mode(Struct, frozen=True, eq=False):
    """How a block is elaborated: ``tables`` looked up rather than unrolled; ranges ``checked``, or not."""

    tables: bool = False
    checked: bool = True


_PLAIN = Mode()
_FREE = {InputNode, Number, Table, Ref}


class Scope(Struct, eq=False):
    """A block being built: its bindings so far, what is known to hold inside it, and how it is elaborated.

    A value that it is ``naming`` may be used only where it is in range: being out of it is no fault yet.
    One that is ``never`` visited knows what cannot be, and so everything.  ``visited`` are those of its facts
    that hold because it is: no range around it is empty.  ``in_range`` are indices that were proved to be,
    with their lengths: neighbours are looked at by the same ones, again and again.  ``depth`` is how many
    coordinates are bound around it: the next are numbered from there on.  None is bound twice on the way to
    a node, and loops beside each other that are alike share theirs, and what is proved of them.
    """

    parent: Scope | None = None
    facts: tuple[Cond, ...] = ()
    bindings: list[tuple[Var, Node]] = field(default_factory=list)
    mode: Mode = _PLAIN
    naming: bool = False
    never: bool = False
    in_range: set[tuple[Poly, Poly]] = field(default_factory=set)
    depth: int = 0
    visited: tuple[Cond, ...] = ()

    def inner(self, *facts: Cond) -> Scope:
        """A block inside this one, where ``facts`` hold too."""
        known, never = self.facts, self.never
        if facts:
            more = [as_fact(part) for part in conjuncts(facts)]
            known, never = (*known, *more), never or FALSE in more
        return Scope(self, known, [], self.mode, False, never, set(self.in_range), self.depth, self.visited)

    def under(
        self, names: Iterable[str], shape: tuple[Poly, ...], *facts: Cond
    ) -> tuple[tuple[Poly, ...], Scope]:
        """Coordinates from 1 to the lengths of a shape, and a block under them, where ``facts`` hold too."""
        coords = tuple(map(numbered_coordinate, names, count(self.depth + 1), shape))
        inner = self.inner(*facts)
        inner.depth += len(shape)
        inner.visited += inner.facts[len(self.facts) :]
        return coords, inner

    def same(self, *facts: Cond, mode: Mode | None = None, naming: bool = False) -> Scope:
        """This very block, elaborated where ``facts`` hold too, in another mode, or to name a value."""
        known, never, in_range = self.facts, self.never, self.in_range
        if facts:
            more = [as_fact(fact) for fact in facts]
            known, never, in_range = (*known, *more), never or FALSE in more, set(in_range)
        mode, naming = mode or self.mode, naming or self.naming
        return Scope(self, known, self.bindings, mode, naming, never, in_range, self.depth, self.visited)

    def bind(self, node: Node, name: str = "", work: JointWork | None = None) -> Node:
        """The node, computed once in this block; what is free stays, unless it is part of some work."""
        if work is None and type(node) in _FREE:
            return node
        var = Var(name, node.type, work)
        self.bindings.append((var, node))
        return Ref(var, node.type)

    def named(self, var: Var) -> Node | None:
        """What a variable of this block, or of one around it, stands for; None if it is bound otherwise."""
        return next((node for scope in self.around() for bound, node in scope.bindings if bound is var), None)

    def around(self) -> Iterator[Scope]:
        """This block and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def absorb(self, inner: Scope) -> None:
        """Take over the bindings of a block inside this one."""
        self.bindings.extend(inner.bindings)

    def block(self, result: Node) -> Block:
        """The finished block."""
        return Block(tuple(self.bindings), result)


class Lazy:
    """A named value: computed when first needed, in the block that defines it.

    ``expr`` is what it was written as, where it was written at all.
    """

    __slots__ = ("busy", "compute", "env", "expr", "name", "value")

    def __init__(
        self,
        name: str,
        env: Env,
        compute: Callable[[Env], Value | Results],
        expr: Expr | None = None,
    ) -> None:
        """Written out, as that of a trial."""
        self.name = name
        self.env = env
        self.compute = compute
        self.expr = expr
        self.value: Value | Results | None = None
        self.busy = False


def force(lazy: Lazy | Value, span: Span = NOWHERE) -> Value:
    """The value; a data value is computed once, in the block where it was defined."""
    return single(force_results(lazy, span)) if isinstance(lazy, Lazy) else lazy


def force_results(lazy: Lazy, span: Span = NOWHERE) -> Value | Results:
    """The same, or all results of an operator."""
    if lazy.value is None:
        if lazy.busy:
            fail("T0204", f"`{lazy.name}` is defined in terms of itself", span)
        # A value from outside of a trial outlives it, and so must what the value relies on.
        context = lazy.env.context
        level = context.level
        context.level = context.level_of(lazy.env.scope)
        lazy.busy = True
        try:
            found = lazy.compute(_naming(lazy))
            lazy.value = found if isinstance(found, Results) else bind_data(lazy.env, found, lazy.name)
        except AlgebraBudget as budget:
            if lazy.expr is not None and budget.span is NOWHERE:
                budget.span = lazy.expr.span
            raise
        finally:
            lazy.busy = False
            context.level = level
    return lazy.value


def _naming(lazy: Lazy) -> Env:
    """The environment to compute a value in: what the program names knows that it is named."""
    env = lazy.env
    if not lazy.name or lazy.expr is None or env.scope.naming:
        return env
    return env.building(env.scope.same(naming=True))


class Element(Struct, frozen=True, eq=False):
    """What ``*`` means: the current element, and its coordinates."""

    value: Lazy | Value
    coordinates: tuple[Value, ...]


class Env:
    """Names in reach, the block under construction, and the meaning of ``*``."""

    __slots__ = ("context", "in_index", "names", "parent", "scope", "star")

    def __init__(
        self,
        context: Context,
        scope: Scope,
        names: dict[str, Lazy | Value],
        parent: Env | None = None,
        star: Element | None = None,
        in_index: bool = False,
    ) -> None:
        """Written out, as that of a trial."""
        self.context = context
        self.scope = scope
        self.names = names
        self.parent = parent
        self.star = star
        self.in_index = in_index

    def child(self, names: dict[str, Lazy | Value], scope: Scope | None = None) -> Env:
        """An environment inside this one, with names of its own."""
        return Env(self.context, scope or self.scope, names, self, self.star, self.in_index)

    def indexing(self, inside: bool) -> Env:
        """The same environment inside or outside an index list."""
        if inside == self.in_index:
            return self
        return Env(self.context, self.scope, self.names, self.parent, self.star, inside)

    def in_mode(self, mode: Mode) -> Env:
        """The same environment, its block elaborated in another mode."""
        return self.building(self.scope.same(mode=mode))

    def building(self, scope: Scope) -> Env:
        """The same environment, its bindings going to another block."""
        return Env(self.context, scope, self.names, self.parent, self.star, self.in_index)

    def nearest(self, name: str) -> Lazy | Value | None:
        """What goes by a name here, or None."""
        env: Env | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None

    def lookups(self, name: str) -> Iterator[Lazy | Value]:
        """Everything that goes by a name, nearest first."""
        env: Env | None = self
        while env is not None:
            if name in env.names:
                yield env.names[name]
            env = env.parent


def bind_data(env: Env, value: Value, name: str = "", work: JointWork | None = None) -> Value:
    """A data value computed once in the current block; anything else unchanged."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, Data):
        bound = env.scope.bind(value.node, name, work)
        return value if bound is value.node else Data(bound)
    match value:
        case Vec(shape=shape, items=items, loose=loose) if not is_static(value):
            return Vec(shape, tuple(bind_data(env, item, name, work) for item in items), loose)
        case Pieces(items=items) if not is_static(value):
            return Pieces(tuple(bind_data(env, item, name, work) for item in items))
        case Opaque(node=node, space=space):
            return Opaque(env.scope.bind(node, name), space)
        case _:
            return value


# === The heart of elaboration: an expression and an environment give a value.
#
# Each kind of syntax has one function; the modules that define them register them here, and so
# do the primitives and the special forms.


EvaluationRule = Callable[[Env, Any], Value | Results]
SpecialForm: TypeAlias = "Callable[[Env, tree.Call], Value | Results]"
Primitive = Callable[[Env, tuple[Value, ...], Span], Value]

RULES: dict[type, EvaluationRule] = {}
"""How to evaluate each kind of expression."""

FORMS: dict[str, SpecialForm] = {}
"""Applications that do not evaluate their arguments first: map, reduce, where, given, seq."""

PRIMITIVES: dict[str, Primitive] = {}
"""The other primitive operators, as functions of values."""


def evaluate(env: Env, expr: tree.Expr) -> Value:
    """The value of an expression; of several results the first."""
    context = env.context
    context.steps += 1  # as ``tick`` does; this is asked most of all
    if context.steps > BUDGET:
        too_many_steps(expr.span)
    found = RULES[type(expr)](env, expr)
    return found.items[0] if isinstance(found, Results) else found


def results(env: Env, expr: tree.Expr) -> Value | Results:
    """The value of an expression, or all that an operator in it gives."""
    env.context.tick(expr.span)
    return RULES[type(expr)](env, expr)


def evaluates(kind: type) -> Callable[[EvaluationRule], EvaluationRule]:
    """Register how one kind of expression is evaluated."""

    def register(rule: EvaluationRule) -> EvaluationRule:
        RULES[kind] = rule
        return rule

    return register


def form(name: str) -> Callable[[SpecialForm], SpecialForm]:
    """Register a special form."""

    def register(rule: SpecialForm) -> SpecialForm:
        FORMS[name] = rule
        return rule

    return register
