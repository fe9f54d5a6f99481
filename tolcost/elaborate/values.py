"""Compile-time values, the state of one elaboration, and the evaluation of expressions.

A *static* value is known at compile time, perhaps as a formula in lengths and coordinates. A *data* value is
a piece of atomic IR. The binding time is a property of the value: see ``is_static``.

    Value = Poly | Cond | Fraction | float | complex | str       static numerics and text
          | Quotient     a quotient of two integer formulas
          | StaticNode   static, but only a run determines its value (cos of a coordinate)
          | Spaces       type spaces
          | Vec          a ToL of known lengths, entry by entry (entries of any binding time)
          | View         a ToL of any lengths, by a function from coordinates
          | Data         a numeric, list or ToL computed by the program
          | ValueList    a list whose components are separate values
          | Unknown      a value of which nothing is known; it reveals what does not depend on it
          | Seq | Missing | Cast | functions

An operator with several outputs returns ``Results``, which is not a value: ``single`` takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

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
from tolcost.atoms.recurrence import Recurrence
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span
from tolcost.spaces import Bounds

if TYPE_CHECKING:  # values also describe the contents of model files, which need no syntax
    from tolcost.syntax import tree
    from tolcost.syntax.names import Signature
    from tolcost.syntax.tree import Expr, Module

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


class StaticNode(Struct, frozen=True):
    """A static numeric whose value only a run determines; its node is free."""

    node: Node
    space: str


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
    static values. ``space`` is the space of the elements, if it is known. ``laid`` is a node that already
    lays the view out. Elements that are lists have a ``capacity``, and all of their ToLs have the same shape.
    """

    shape: tuple[Poly, ...]
    get: Callable[[Env, tuple[Value, ...]], Value]
    static: bool
    space: str = "Z"
    laid: Node | None = None
    capacity: int = 1


class Data(Struct, frozen=True, eq=False):
    """A value that the program computes; its type is that of the node."""

    node: Node


class ValueList(Struct, frozen=True, eq=False):
    """A list ``(a, b)`` whose components are kept as separate values."""

    items: tuple[Value, ...]


class Seq(Struct, frozen=True, eq=False):
    """A sequence; its length is known."""

    items: tuple[Value, ...]


class Results(Struct, frozen=True, eq=False):
    """The results of an operator with several outputs; used as a value, it is the first."""

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
    """A function created at compile time, such as a partial application."""

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
    | StaticNode
    | Spaces
    | Vec
    | View
    | Data
    | ValueList
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
    """Return the distinct objects by identity: a long vector often repeats one value."""
    return dict(zip(map(id, items), items, strict=True))


def is_static(value: Value) -> bool:
    """Whether a value does not depend on data."""
    if isinstance(value, Poly):  # most calls end here; ``match`` would take twice as long
        return True
    if isinstance(value, (Data, Unknown)):
        return False
    if isinstance(value, (View, Vec)):
        return value.static
    return not isinstance(value, (ValueList, Seq)) or all(map(is_static, value.items))


@cache
def builtin(name: str) -> Builtin:
    """Return the function of a name that no program defines."""
    return Builtin(name)


def title_of(function: Applicable) -> str:
    """Return how a message refers to a function."""
    return f"`{function.name}`" if function.name else "this function"


def is_function(value: Value) -> bool:
    """Whether a value can be applied."""
    return isinstance(value, (Closure, Builtin, Native))


def single(found: Value | Results) -> Value:
    """Return a value, or the first of several results."""
    return found.items[0] if isinstance(found, Results) else found


def plain(value: Value) -> Value:
    """Return the value to compute with, without its explicit space."""
    return value.value if isinstance(value, Cast) else value


def cast_of(value: Value) -> str | None:
    """Return the explicit space of a static value, if it has one."""
    return value.space if isinstance(value, Cast) else None


def recast(value: Value, space: str | None) -> Value:
    """Give a value the explicit space of the static values it was made from; leave data as it is.

    If some entries of a bracket are data, each of the other entries gets the space.
    """
    if space is None or not isinstance(value, (Poly, Cond, Fraction, float, complex, Quotient, Vec, View)):
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


class Tensor(Struct, frozen=True):
    """An input of which only the shape and the space are known."""

    shape: tuple[Poly, ...]
    space: str


def name_around(name: str) -> str:
    """Return the name under which a value of a surrounding graph is an input of the inner graph."""
    return f"around {name}"


class Inputs(Struct, frozen=True):
    """Several inputs under one name: a variadic input or a sequence."""

    items: tuple[Tensor | Inputs | Value, ...]


Argument = Tensor | Inputs | Value


def frozen(value: object) -> object:
    """Return a key for an argument; arguments with equal keys are lowered alike."""
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
        case Data(node=node):
            return node.type[0].shape
        case View(shape=shape):
            return shape
        case None | Missing() | Inputs() | Seq():
            return None
        case _:
            return ()


# === Rejections: the kinds of faults, and how they are raised.


BUDGET = 600_000
"""The number of evaluation steps after which a program is rejected as too large to elaborate."""


class Fault(Rejected):
    """A program that cannot be elaborated; ``definite`` if no lengths make it valid at this place."""

    definite = False


class Misfit(Fault):
    """Shapes that do not match each other, or the operation on them."""


class OutOfRange(Misfit):
    """An access outside the range of a ToL."""


class ListForNumber(Fault):
    """A list where a number is needed."""


class RankMismatch(Misfit):
    """Two shapes that must be equal differ in rank."""


class UnexpectedValue(Fault):
    """A text or a number outside the set that a program accepts; another program may accept it."""


class OpenRecursion(Fault):
    """A function that applies itself as often as lengths decide, which are not given as numbers."""


class Outside(Fault):
    """The program itself declares the request to be no ToL computation, with a reason."""


class NeedsUnrolling(Exception):
    """A table was indexed by a coordinate with a small known range: unroll that range."""

    def __init__(self, symbol: Symbol, span: Span) -> None:
        """Keep the coordinate, and the place where it was used."""
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
    """Reject a call with too few or too many arguments."""
    fail("T0203", f"{function} takes {takes}, not {given}", span)


def too_many_steps(span: Span) -> NoReturn:
    """Reject a program that takes too long to elaborate."""
    fail(
        "T0501",
        f"this program takes more than {BUDGET:,} steps to elaborate",
        span,
        hint="a function that calls another twice doubles the work at every level; name the value",
    )


CALL_DEPTH = 400
"""The deepest nesting of calls: each takes several Python frames."""


# === The state of one elaboration: environments, blocks that collect bindings, facts, and recorded
# conditions.


class OperatorDefinition(Protocol):
    """An operator that programs may call, with the library files it uses."""

    @property
    def program(self) -> Module:
        """The program of the operator."""

    @property
    def library(self) -> tuple[Module, ...]:
        """The library files whose definitions it uses."""


class Notes:
    """The assumptions of the result: conditions on lengths and on coordinates, and equal lengths.

    ``data_equations`` are equations between lengths none of which may replace another, because data decides
    them. ``loops`` are the titles of the nodes with loops whose trip count data decides.
    """

    __slots__ = ("conditions", "data_equations", "equal", "loops", "unproved")

    def __init__(
        self,
        conditions: dict[Cond, Condition] | None = None,
        unproved: dict[Cond, Condition] | None = None,
        equal: dict[Symbol, Poly] | None = None,
        data_equations: tuple[Cond, ...] = (),
        loops: tuple[str, ...] = (),
    ) -> None:
        """Not a Struct: a plain class is faster to create, as for ``Trial``."""
        self.conditions = conditions or {}
        self.unproved = unproved or {}
        self.equal = equal or {}
        self.data_equations = data_equations
        self.loops = loops

    def copy(self) -> Notes:
        """Copy the notes, to restore them later."""
        return Notes(
            dict(self.conditions), dict(self.unproved), dict(self.equal), self.data_equations, self.loops
        )

    def adopt(self, symbol: Symbol, value: Poly) -> None:
        """From now on, replace a length by a form."""
        self.equal = {s: substitute(p, {symbol: value}) for s, p in self.equal.items()}
        self.equal[symbol] = value

    def add(self, later: Notes, since: Notes) -> None:
        """Add the notes of ``later`` that were made after ``since``."""
        for mine, theirs, before in (
            (self.conditions, later.conditions, since.conditions),
            (self.unproved, later.unproved, since.unproved),
        ):
            mine.update({c: noted for c, noted in theirs.items() if c not in before and c not in mine})
        for symbol, value in later.equal.items():
            if symbol not in since.equal and symbol not in self.equal:
                self.adopt(symbol, value)
        self.data_equations += later.data_equations[len(since.data_equations) :]
        self.loops += later.loops[len(since.loops) :]


class Trial:
    """A part of the elaboration that may fail, and the notes as they were before it.

    It lasts for a ``with`` statement; unless ``keep`` is called, its notes are discarded at the end.
    ``levels`` caches the level of each block that is asked for while this trial is the innermost one.
    """

    __slots__ = ("before", "context", "kept", "level", "levels", "scope")

    def __init__(self, context: Context, scope: Scope, before: Notes, level: int) -> None:
        """Not a Struct, like blocks, names and environments: few objects are created as often."""
        self.context = context
        self.scope = scope
        self.before = before
        self.level = level
        self.kept = False
        self.levels: dict[Scope, int] = {}

    def __enter__(self) -> Trial:
        """Begin inside the current trials."""
        self.context.trials.append(self)
        self.context.level = len(self.context.trials)
        return self

    def __exit__(self, *_: object) -> None:
        """End the trial, also after an exception."""
        self.context.trials.pop()
        self.context.level = self.level
        if not self.kept:
            self.context.notes = self.before
            return
        # kept notes must also survive the end of the trials in which they are remembered
        for around in self.context.trials[self.level :]:
            around.before.add(self.context.notes, self.before)

    def keep(self) -> None:
        """Mark the trial as successful: its notes stay."""
        self.kept = True


class Falling(NamedTuple):
    """A measure that every turn of a loop leaves less of, in symbols for the components that it carries."""

    measure: Poly
    symbols: tuple[Poly, ...]


class CallsApart(Protocol):
    """Keeps calls of operators, and of some functions, as single nodes."""

    def of_operator(
        self, env: Env, name: str, args: tuple[Value, ...], named: dict[str, Value], span: Span
    ) -> Value | Results:
        """Return the results of an operator, without its inside."""

    def of_function(self, env: Env, function: Closure, args: Sequence[Value], span: Span) -> Value:
        """Return the result of a function, without its inside."""

    def keeps(self, name: str) -> bool:
        """Whether calls of a function are kept."""


class Context(Struct, eq=False):
    """The results of one elaboration so far."""

    operators: Mapping[str, OperatorDefinition]
    call_operator: Callable[[Env, str, tuple[Value, ...], dict[str, Value], Span], Value | Results]
    notes: Notes = field(default_factory=Notes)
    trials: list[Trial] = field(default_factory=list)
    level: int = 0
    warnings: list[Diagnostic] = field(default_factory=list)
    around: dict[str, Value] = field(default_factory=dict)
    as_data: dict[str, Value] = field(default_factory=dict)
    """Known values of surrounding graphs, as data, for programs that need not know them."""
    declared: dict[str, Span] = field(default_factory=dict)
    arguments: list[tuple[str, Value]] = field(default_factory=list)
    """The values of attributes and static inputs, by name; those of the program itself come first."""
    gave_data: set[int] = field(default_factory=set)
    left_open: tuple[Cond, tuple[Cond, ...]] = (TRUE, ())
    """The last condition that could not be decided, with the facts known then."""
    cases: int = 0
    """The number of choices under elaboration whose conditions lengths leave open."""
    recursive: dict[int, bool] = field(default_factory=dict)
    """Whether functions mention themselves, by the identity of their bodies."""
    title: str = ""
    """The prefix of symbols whose values only a run determines."""
    apart: CallsApart | None = None
    """What keeps calls as single nodes; mostly nothing does."""
    node: int = 0
    """The number of the inner graph's node under elaboration; 0 if there is none."""
    nodes: int = 0
    """The number of inner graphs' nodes so far."""
    lengths: set[str] = field(default_factory=set)
    """The names of lengths, from the program or from its arguments."""
    attributes: set[str] = field(default_factory=set)
    """The names of attributes whose values are not given."""
    falling: dict[Symbol, list[Falling]] = field(default_factory=dict)
    """The measures of loops inside of others, by their turns."""
    recurrences: list[Recurrence] | None = None
    """What is found of recursion on parts of any length, whose cost alone is asked; None if it is refused."""
    looked: int = 0
    """Counts the notes made, and the decisions that inspected the origin of a value."""
    asked: int = 0
    """Counts decisions that inspected binding time or space without leaving a trace in the IR.

    If the count moved, a retyped body must be elaborated again. Spaces that follow from such a decision are
    visible in nodes.
    """
    static_components: set[tuple[Var, int]] = field(default_factory=set)
    """Components of accumulators, by number, that are assumed to be static."""
    steps: int = 0
    unrolled: int = 0
    depth: int = 0
    names: int = 0

    def is_recursive(self, function: Closure) -> bool:
        """Whether a function mentions itself."""
        found = self.recursive.get(id(function.body))
        if found is None:
            from tolcost.syntax import tree

            named = (node.name for node in tree.inner_nodes(function.body) if isinstance(node, tree.Name))
            found = self.recursive[id(function.body)] = function.name in named
        return found

    def argument_named(self, value: Value) -> str | None:
        """Return the attribute or static input whose value a text or a vector is, or contains as an entry.

        Numbers are excluded: equal numbers are one object, so their origin cannot be told.
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
        """Return a name like the given one that no length has, for a new length."""
        while name in self.lengths:
            name += "_"
        return name

    def own_name(self, name: str) -> str:
        """Return a name for a run-time value; for a node of a model, the node's title is prefixed later."""
        return name if self.title else self.unused(name)

    def turns_name(self) -> str:
        """Return the name of the trip count of another loop: ``turns``, ``turns2``, ..."""
        for notes in self._lasting_notes():
            notes.loops = (*notes.loops, self.title)
        many = self.notes.loops.count(self.title)
        return "turns" if many == 1 else f"turns{many}"

    @contextmanager
    def at_node(self, title: str) -> Iterator[None]:
        """Elaborate the operator of another node of a graph; symbols are named after the node.

        Whether a map produced data is determined anew: the operator may be applied to data here, and to
        shapes there.
        """
        before = self.gave_data, self.title, self.node
        self.nodes += 1
        self.gave_data, self.title, self.node = set(), title, self.nodes
        try:
            yield
        finally:
            self.gave_data, self.title, self.node = before

    def tick(self, span: Span) -> None:
        """Count one evaluation step; reject the program after too many."""
        self.steps += 1
        if self.steps > BUDGET:
            too_many_steps(span)

    def record(self, condition: Cond, kind: ConditionKind, reason: str, span: Span) -> None:
        """Record a condition that the result relies on, once.

        A condition that must hold at every coordinate, and was neither proved nor expressed in lengths, is
        recorded separately: a run checks it element by element.
        """
        self.looked += 1
        local = any(s.kind == "coord" for s in symbols_of_cond(condition))
        for notes in self._lasting_notes():
            kept = notes.unproved if local else notes.conditions
            kept.setdefault(condition, Condition(condition, reason, kind, span))

    def adopt(self, symbol: Symbol, value: Poly) -> None:
        """From now on, replace a length by a form."""
        self.looked += 1
        for notes in self._lasting_notes():
            notes.adopt(symbol, value)

    def agree(self, equation: Cond) -> None:
        """From now on, assume an equation."""
        self.looked += 1
        for notes in self._lasting_notes():
            notes.data_equations = (*notes.data_equations, equation)

    def _lasting_notes(self) -> Iterator[Notes]:
        """Yield the current notes, and those that trials outside the current level will restore."""
        yield self.notes
        for trial in self.trials[self.level :]:
            yield trial.before

    def attempt(self, scope: Scope) -> Trial:
        """Start a trial in a block of its own; unless it is kept, its notes are discarded."""
        return Trial(self, scope, self.notes.copy(), self.level)

    def level_of(self, scope: Scope) -> int:
        """Count the current trials up to the innermost one that the block belongs to.

        A trial before it may belong to another block: that of a value which first needed this one.
        """
        if not self.trials:
            return 0
        levels = self.trials[-1].levels
        found = levels.get(scope)
        if found is None:
            found = levels[scope] = self._find_level(scope)
        return found

    def _find_level(self, scope: Scope) -> int:
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
    """How a block is elaborated: ``tables`` are looked up instead of unrolled.

    Ranges are ``checked``, or not.
    """

    tables: bool = False
    checked: bool = True


_PLAIN = Mode()
_FREE = {InputNode, Number, Table, Ref}


class Scope(Struct, eq=False):
    """A block under construction: its bindings, the facts that hold inside it, and how it is elaborated.

    A value under ``naming`` may be used only where it is in range, so an access out of range is not a fault
    yet. A ``never`` visited block has contradictory facts, from which everything follows. ``visited`` are the
    facts that hold because the block is visited: no range around it is empty. ``in_range`` are indices that
    were proved to be in range, with their lengths: neighbouring accesses use the same ones again and again.
    ``depth`` is the number of coordinates bound around the block: new ones are numbered from there. No
    coordinate is bound twice on the way to a node, while similar loops side by side share their coordinates
    and the proofs about them.
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
        """Make a block inside this one, with further ``facts``."""
        known, never = self.facts, self.never
        if facts:
            more = [as_fact(part) for part in conjuncts(facts)]
            known, never = (*known, *more), never or FALSE in more
        return Scope(self, known, [], self.mode, False, never, set(self.in_range), self.depth, self.visited)

    def under(
        self, names: Iterable[str], shape: tuple[Poly, ...], *facts: Cond
    ) -> tuple[tuple[Poly, ...], Scope]:
        """Make coordinates from 1 to the lengths of a shape, and a block under them with more ``facts``."""
        coords = tuple(map(numbered_coordinate, names, count(self.depth + 1), shape))
        inner = self.inner(*facts)
        inner.depth += len(shape)
        inner.visited += inner.facts[len(self.facts) :]
        return coords, inner

    def same(self, *facts: Cond, mode: Mode | None = None, naming: bool = False) -> Scope:
        """Continue this block with further ``facts``, in another mode, or to name a value."""
        known, never, in_range = self.facts, self.never, self.in_range
        if facts:
            more = [as_fact(fact) for fact in facts]
            known, never, in_range = (*known, *more), never or FALSE in more, set(in_range)
        mode, naming = mode or self.mode, naming or self.naming
        return Scope(self, known, self.bindings, mode, naming, never, in_range, self.depth, self.visited)

    def bind(self, node: Node, name: str = "", work: JointWork | None = None) -> Node:
        """Bind a node, so that it is computed once in this block.

        Free nodes stay unbound unless they belong to some work.
        """
        if work is None and type(node) in _FREE:
            return node
        var = Var(name, node.type, work)
        self.bindings.append((var, node))
        return Ref(var, node.type)

    def named(self, var: Var) -> Node | None:
        """Return the node of a variable bound in this block or around it; None if it is bound otherwise."""
        return next((node for scope in self.around() for bound, node in scope.bindings if bound is var), None)

    def around(self) -> Iterator[Scope]:
        """Yield this block and the blocks around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def absorb(self, inner: Scope) -> None:
        """Take over the bindings of a block inside this one."""
        self.bindings.extend(inner.bindings)

    def block(self, result: Node) -> Block:
        """Return the finished block."""
        return Block(tuple(self.bindings), result)


class Lazy:
    """A named value: computed on first use, in the block that defines it.

    ``expr`` is its expression, if it has one.
    """

    __slots__ = ("busy", "compute", "env", "expr", "name", "value")

    def __init__(
        self,
        name: str,
        env: Env,
        compute: Callable[[Env], Value | Results],
        expr: Expr | None = None,
    ) -> None:
        """Not a Struct: a plain class is faster to create, as for ``Trial``."""
        self.name = name
        self.env = env
        self.compute = compute
        self.expr = expr
        self.value: Value | Results | None = None
        self.busy = False


def force(lazy: Lazy | Value, span: Span = NOWHERE) -> Value:
    """Return the value; a data value is computed once, in the block of its definition."""
    return single(force_results(lazy, span)) if isinstance(lazy, Lazy) else lazy


def force_results(lazy: Lazy, span: Span = NOWHERE) -> Value | Results:
    """Return the value, or all results of an operator."""
    if lazy.value is None:
        if lazy.busy:
            fail("T0204", f"`{lazy.name}` is defined in terms of itself", span)
        # A value from outside a trial outlives it, and so must the conditions that the value relies on.
        context = lazy.env.context
        level = context.level
        context.level = context.level_of(lazy.env.scope)
        lazy.busy = True
        try:
            found = lazy.compute(_naming_env(lazy))
            lazy.value = found if isinstance(found, Results) else bind_data(lazy.env, found, lazy.name)
        except AlgebraBudget as budget:
            if lazy.expr is not None and budget.span is NOWHERE:
                budget.span = lazy.expr.span
            raise
        finally:
            lazy.busy = False
            context.level = level
    return lazy.value


def _naming_env(lazy: Lazy) -> Env:
    """Return the environment to compute a value in.

    A value that the program names is computed under ``naming``.
    """
    env = lazy.env
    if not lazy.name or lazy.expr is None or env.scope.naming:
        return env
    return env.building(env.scope.same(naming=True))


ArgumentSizes = dict[str, Poly]
"""What may get smaller, by how a message names it: numbers, lengths, and differences of two numbers."""


class Activation(Struct, eq=False):
    """An application of a function of the program under way, and the application that it stands in.

    ``cases`` is the number of choices around it that lengths leave open; the sizes of its arguments are kept
    once they were asked for. ``instead``, if given, answers for further applications of the same function.
    """

    function: Closure
    args: tuple[Lazy | Value, ...]
    span: Span
    around: Activation | None
    cases: int
    sizes: ArgumentSizes | None = None
    instead: Callable[[Env, tuple[Lazy | Value, ...], Span], Value] | None = None

    def same_around(self) -> Activation | None:
        """Return the innermost application of the same function around this one."""
        outer = self.around
        while outer is not None and outer.function.body is not self.function.body:
            outer = outer.around
        return outer


class Element(Struct, frozen=True, eq=False):
    """The meaning of ``*``: the current element and its coordinates."""

    value: Lazy | Value
    coordinates: tuple[Value, ...]


class Env:
    """The names in scope, the block under construction, and the meaning of ``*``.

    ``calls`` is the innermost application of a function that it is inside of.
    """

    __slots__ = ("calls", "context", "in_index", "names", "parent", "scope", "star")

    def __init__(
        self,
        context: Context,
        scope: Scope,
        names: dict[str, Lazy | Value],
        parent: Env | None = None,
        star: Element | None = None,
        in_index: bool = False,
        calls: Activation | None = None,
    ) -> None:
        """Not a Struct: a plain class is faster to create, as for ``Trial``."""
        self.calls = calls
        self.context = context
        self.scope = scope
        self.names = names
        self.parent = parent
        self.star = star
        self.in_index = in_index

    def child(self, names: dict[str, Lazy | Value], scope: Scope | None = None) -> Env:
        """Return an environment inside this one, with its own names."""
        return Env(self.context, scope or self.scope, names, self, self.star, self.in_index, self.calls)

    def indexing(self, inside: bool) -> Env:
        """Return the environment inside or outside an index list."""
        if inside == self.in_index:
            return self
        return Env(self.context, self.scope, self.names, self.parent, self.star, inside, self.calls)

    def in_mode(self, mode: Mode) -> Env:
        """Return the environment with its block elaborated in another mode."""
        return self.building(self.scope.same(mode=mode))

    def building(self, scope: Scope) -> Env:
        """Return the environment with its bindings going to another block."""
        return Env(self.context, scope, self.names, self.parent, self.star, self.in_index, self.calls)

    def nearest(self, name: str) -> Lazy | Value | None:
        """Return the innermost value of a name, or None."""
        env: Env | None = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None

    def lookups(self, name: str) -> Iterator[Lazy | Value]:
        """Yield all values of a name, innermost first."""
        env: Env | None = self
        while env is not None:
            if name in env.names:
                yield env.names[name]
            env = env.parent


def bind_data(env: Env, value: Value, name: str = "", work: JointWork | None = None) -> Value:
    """Bind a data value, so that it is computed once in the current block.

    Leave any other value unchanged.
    """
    if isinstance(value, Poly):
        return value
    if isinstance(value, Data):
        bound = env.scope.bind(value.node, name, work)
        return value if bound is value.node else Data(bound)
    match value:
        case Vec(shape=shape, items=items, loose=loose) if not is_static(value):
            return Vec(shape, tuple(bind_data(env, item, name, work) for item in items), loose)
        case ValueList(items=items) if not is_static(value):
            return ValueList(tuple(bind_data(env, item, name, work) for item in items))
        case StaticNode(node=node, space=space):
            return StaticNode(env.scope.bind(node, name), space)
        case _:
            return value


# === Evaluation: an expression and an environment give a value.
#
# Each kind of syntax has one rule; the modules that define rules register them here, and so do those of
# primitives and special forms.


EvaluationRule = Callable[[Env, Any], Value | Results]
SpecialForm: TypeAlias = "Callable[[Env, tree.Call], Value | Results]"
Primitive = Callable[[Env, tuple[Value, ...], Span], Value]

RULES: dict[type, EvaluationRule] = {}
"""The evaluation rule of each kind of expression."""

FORMS: dict[str, SpecialForm] = {}
"""Applications that do not evaluate their arguments first: map, reduce, where, given, seq."""

PRIMITIVES: dict[str, Primitive] = {}
"""The other primitive operators, as functions of values."""


def evaluate(env: Env, expr: tree.Expr) -> Value:
    """Evaluate an expression; of several results, return the first."""
    context = env.context
    context.steps += 1  # ``tick``, inlined: this is the most frequent call
    if context.steps > BUDGET:
        too_many_steps(expr.span)
    found = RULES[type(expr)](env, expr)
    return found.items[0] if isinstance(found, Results) else found


def results(env: Env, expr: tree.Expr) -> Value | Results:
    """Evaluate an expression; return all results of an operator."""
    env.context.tick(expr.span)
    return RULES[type(expr)](env, expr)


def evaluates(kind: type) -> Callable[[EvaluationRule], EvaluationRule]:
    """Register the evaluation rule of one kind of expression."""

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
