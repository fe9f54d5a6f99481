"""The state of one elaboration, and the evaluation of expressions.

An expression and an environment give a value. The environment has the names in force and the block under
construction; what the result relies on is noted once for all, with the trials that may take it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, NoReturn, ParamSpec, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    as_fact,
    numbered_coordinate,
    substitute,
    symbols_of_cond,
)
from tolcost.algebra.conditions import conjuncts
from tolcost.atoms.nodes import Block, Condition, ConditionKind, JointWork, Node, Number, Ref, Table, Var
from tolcost.atoms.nodes import Input as InputNode
from tolcost.atoms.recurrence import Recurrence
from tolcost.diagnostics import NOWHERE, Diagnostic, Span
from tolcost.elaborate.faults import fail
from tolcost.elaborate.values import (
    Closure,
    Items,
    NodeValue,
    Value,
    ValueList,
    Vec,
    is_static,
    plain,
    single,
)

if TYPE_CHECKING:
    from tolcost.syntax import tree
    from tolcost.syntax.tree import Expr, Module


BUDGET = 600_000
"""The number of evaluation steps after which a program is rejected as too large to elaborate."""

CALL_DEPTH = 400
"""The deepest nesting of calls: each takes several Python frames."""


def too_many_steps(span: Span) -> NoReturn:
    """Reject a program that takes too long to elaborate."""
    fail(
        "T0501",
        f"this program takes more than {BUDGET:,} steps to elaborate",
        span,
        hint="a function that calls another twice doubles the work at every level; name the value",
    )


# === Notes: what the result relies on, and trials, which take back what was noted in them.


P = ParamSpec("P")


def _noted(change: Callable[Concatenate[Notes, P], None]) -> Callable[Concatenate[Notes, P], None]:
    """Write a change into the log, so that a trial can take it back."""

    def noted(notes: Notes, /, *told: P.args, **_: P.kwargs) -> None:
        notes.looked += 1
        notes.write(notes.level, change, told)

    return noted


class Notes:
    """What the result relies on, and the trials under way: parts of the elaboration that may fail.

    ``equal`` are lengths that forms replace; ``data_equations`` are equations between lengths none of which
    may replace another, because data decides them. ``loops`` are the titles of the nodes with loops whose
    trip count data decides. All of it follows from a log. Each entry has a level: to how many of the trials
    under way it belongs.
    """

    __slots__ = (
        "conditions",
        "data_equations",
        "equal",
        "level",
        "log",
        "looked",
        "loops",
        "trials",
        "unproved",
        "warnings",
    )

    def __init__(self) -> None:
        """Not a Struct: a plain class is faster to create, as for ``Trial``."""
        self.trials: list[Trial] = []
        self.level = 0
        self.looked = 0  # how often something was noted, or depended on how a value came about
        self._restart()

    def _restart(self) -> None:
        self.log: list[tuple[int, Callable[..., None], tuple[Any, ...]]] = []
        self.conditions: dict[Cond, Condition] = {}
        self.unproved: dict[Cond, Condition] = {}
        self.equal: dict[Symbol, Poly] = {}
        self.data_equations: tuple[Cond, ...] = ()
        self.loops: tuple[str, ...] = ()
        self.warnings: dict[Diagnostic, None] = {}

    def write(self, level: int, change: Callable[..., None], told: tuple[Any, ...]) -> None:
        """Make a change, and remember it."""
        self.log.append((level, change, told))
        change(self, *told)

    def record(self, condition: Cond, kind: ConditionKind, reason: str, span: Span) -> None:
        """Record a condition that the result relies on, once.

        A condition that must hold at every coordinate, and was neither proved nor expressed in lengths, is
        recorded separately: a run checks it element by element.
        """
        local = any(s.kind == "coord" for s in symbols_of_cond(condition))
        self.rely_on(local, Condition(condition, reason, kind, span))

    @_noted
    def rely_on(self, local: bool, told: Condition) -> None:
        """Rely on a condition; a ``local`` one mentions coordinates."""
        (self.unproved if local else self.conditions).setdefault(told.condition, told)

    @_noted
    def adopt(self, symbol: Symbol, value: Poly) -> None:
        """From now on, replace a length by a form."""
        self.equal = {s: substitute(p, {symbol: value}) for s, p in self.equal.items()}
        self.equal[symbol] = value

    @_noted
    def agree(self, equation: Cond) -> None:
        """From now on, assume an equation."""
        self.data_equations = (*self.data_equations, equation)

    @_noted
    def count_loop(self, title: str) -> None:
        """Count a loop of the node of a title."""
        self.loops = (*self.loops, title)

    @_noted
    def warn(self, warning: Diagnostic) -> None:
        """Warn the author, once."""
        self.warnings[warning] = None

    def attempt(self, scope: Scope) -> Trial:
        """Start a trial in a block of its own; unless it is kept, its notes are taken back."""
        return Trial(self, scope)

    def level_of(self, scope: Scope) -> int:
        """Count the current trials up to the innermost one that the block belongs to.

        A trial before it may belong to another block: that of a value which first needed this one.
        """
        if not self.trials:
            return 0
        levels = self.trials[-1].levels
        found = levels.get(scope)
        if found is None:
            above = set(map(id, scope.around()))
            inside = (n for n in range(len(self.trials), 0, -1) if id(self.trials[n - 1].scope) in above)
            found = levels[scope] = next(inside, 0)
        return found

    def end(self, trial: Trial) -> None:
        """End the innermost trial: take back what belongs to it, or hand it on to those around it."""
        own, start = len(self.trials), trial.start
        self.trials.pop()
        self.level = trial.level
        log = self.log
        if all(level < own for level, _, _ in log[start:]):
            return
        if trial.kept:
            log[start:] = [(at if at < own else trial.level, do, told) for at, do, told in log[start:]]
            return
        self._restart()
        for note in (*log[:start], *[note for note in log[start:] if note[0] < own]):
            self.write(*note)


class Trial:
    """A part of the elaboration that may fail. It lasts for a ``with`` statement.

    Unless ``keep`` is called, what was noted in it is taken back, but for what values from outside rely on.
    ``levels`` caches the level of each block that is asked for while this trial is the innermost one.
    """

    __slots__ = ("kept", "level", "levels", "notes", "scope", "start")

    def __init__(self, notes: Notes, scope: Scope) -> None:
        """Not a Struct, like blocks, names and environments: few objects are created as often."""
        self.notes = notes
        self.scope = scope
        self.start = len(notes.log)
        self.level = notes.level
        self.kept = False
        self.levels: dict[Scope, int] = {}

    def __enter__(self) -> Trial:
        """Begin inside the current trials."""
        self.notes.trials.append(self)
        self.notes.level = len(self.notes.trials)
        return self

    def __exit__(self, *_: object) -> None:
        """End the trial, also after an exception."""
        self.notes.end(self)

    def keep(self) -> None:
        """Mark the trial as successful: its notes stay."""
        self.kept = True


# === The context of one elaboration: what it was asked, and what it met so far.


class OperatorDefinition(Protocol):
    """An operator that programs may call, with the library files it uses."""

    @property
    def program(self) -> Module:
        """The program of the operator."""

    @property
    def library(self) -> tuple[Module, ...]:
        """The library files whose definitions it uses."""


class CallsApart(Protocol):
    """Keeps calls of operators, and of some functions, as single nodes."""

    def of_operator(
        self, env: Env, name: str, args: tuple[Value, ...], named: dict[str, Value], span: Span
    ) -> Value | Items:
        """Return the results of an operator, without its inside."""

    def of_function(self, env: Env, function: Closure, args: Sequence[Value], span: Span) -> Value:
        """Return the result of a function, without its inside."""

    def keeps(self, name: str) -> bool:
        """Whether calls of a function are kept."""


class LoweringRequest(Struct, frozen=True, eq=False):
    """What stays the same while a program is lowered.

    ``around`` are values of surrounding graphs, which the graphs inside see; ``as_data`` are those of them
    that are known, as data, for programs that need not know them. ``apart`` keeps calls as single nodes, if
    something does.
    """

    operators: Mapping[str, OperatorDefinition]
    call_operator: Callable[[Env, str, Items, dict[str, Value], Span], Value | Items]
    apart: CallsApart | None = None
    around: Mapping[str, Value] = field(default_factory=dict)
    as_data: Mapping[str, Value] = field(default_factory=dict)


class Falling(NamedTuple):
    """A measure that every turn of a loop leaves less of, in symbols for the components that it carries."""

    measure: Poly
    symbols: tuple[Poly, ...]


class Context(Struct, eq=False):
    """The state of one elaboration: what it was asked, what it relies on, and what it met so far."""

    request: LoweringRequest
    notes: Notes = field(default_factory=Notes)
    title: str = ""
    """The prefix of symbols whose values only a run determines."""
    node: int = 0
    """The number of the inner graph's node under elaboration; 0 if there is none."""
    nodes: int = 0
    """The number of inner graphs' nodes so far."""
    declared: dict[str, Span] = field(default_factory=dict)
    arguments: list[tuple[str, Value]] = field(default_factory=list)
    """The values of attributes and static inputs, by name; those of the program itself come first."""
    lengths: set[str] = field(default_factory=set)
    """The names of lengths, from the program or from its arguments."""
    attributes: set[str] = field(default_factory=set)
    """The names of attributes whose values are not given."""
    falling: dict[Symbol, list[Falling]] = field(default_factory=dict)
    """The measures of loops inside of others, by their turns."""
    recurrences: list[Recurrence] | None = None
    """What is found of recursion on parts of any length, whose cost alone is asked; None if it is refused."""
    gave_data: set[tuple[int, int]] = field(default_factory=set)
    """The bodies of maps that gave data, each at a node."""
    recursive: dict[int, bool] = field(default_factory=dict)
    """Whether functions mention themselves, by the identity of their bodies."""
    static_components: set[tuple[Var, int]] = field(default_factory=set)
    """Components of accumulators, by number, that are assumed to be static."""
    asked: int = 0
    """Counts decisions that inspected binding time or space without leaving a trace in the IR.

    If the count moved, a retyped body must be elaborated again. Spaces that follow from such a decision are
    visible in nodes.
    """
    cases: int = 0
    """The number of choices under elaboration whose conditions lengths leave open."""
    steps: int = 0
    unrolled: int = 0
    depth: int = 0
    names: int = 0

    def is_recursive(self, function: Closure) -> bool:
        """Whether a function mentions itself."""
        body = function.body
        if body.span is not NOWHERE and function.name not in body.span.text:  # the usual case, and quick
            return False
        found = self.recursive.get(id(body))
        if found is None:
            from tolcost.syntax import tree

            named = (node.name for node in tree.inner_nodes(body) if isinstance(node, tree.Name))
            found = self.recursive[id(body)] = function.name in named
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
        self.notes.count_loop(self.title)
        many = self.notes.loops.count(self.title)
        return "turns" if many == 1 else f"turns{many}"

    @contextmanager
    def at_node(self, title: str) -> Iterator[None]:
        """Elaborate the operator of another node of a graph; symbols are named after the node."""
        before = self.title, self.node
        self.nodes += 1
        self.title, self.node = title, self.nodes
        try:
            yield
        finally:
            self.title, self.node = before

    def tick(self, span: Span) -> None:
        """Count one evaluation step; reject the program after too many."""
        self.steps += 1
        if self.steps > BUDGET:
            too_many_steps(span)


# === Environments: the block under construction, and the names in force.


_FREE = {InputNode, Number, Table, Ref}


class Scope(Struct, eq=False):
    """A block under construction: its bindings, the facts that hold inside it, and how it is elaborated.

    A value under ``naming`` may be used only where it is in range, so an access out of range is not a fault
    yet. A ``never`` visited block has contradictory facts, from which everything follows. ``visited`` are the
    facts that hold because the block is visited: no range around it is empty. ``in_range`` are indices that
    were proved to be in range, with their lengths: neighbouring accesses use the same ones again and again.
    The facts of this block may have proved them: blocks inside know them too, those around do not.
    ``depth`` is the number of coordinates bound around the block: new ones are numbered from there. No
    coordinate is bound twice on the way to a node, while similar loops side by side share their coordinates
    and the proofs about them.
    """

    parent: Scope | None = None
    facts: tuple[Cond, ...] = ()
    bindings: list[tuple[Var, Node]] = field(default_factory=list)
    tables: bool = False
    """Whether tables are looked up instead of unrolled."""
    checked: bool = True
    """Whether indices have to be in range."""
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
        looked_up, checked, in_range = self.tables, self.checked, set(self.in_range)
        return Scope(self, known, [], looked_up, checked, False, never, in_range, self.depth, self.visited)

    def under(
        self, names: Iterable[str], shape: tuple[Poly, ...], *facts: Cond
    ) -> tuple[tuple[Poly, ...], Scope]:
        """Make coordinates from 1 to the lengths of a shape, and a block under them with more ``facts``."""
        coords = tuple(map(numbered_coordinate, names, count(self.depth + 1), shape))
        inner = self.inner(*facts)
        inner.depth += len(shape)
        inner.visited += inner.facts[len(self.facts) :]
        return coords, inner

    def same(self, *facts: Cond, **changed: bool) -> Scope:
        """Continue this block with further ``facts``, or elaborated in another way."""
        if not facts:
            return replace(self, parent=self, **changed)
        more = [as_fact(fact) for fact in facts]
        known, never = (*self.facts, *more), self.never or FALSE in more
        return replace(self, parent=self, facts=known, never=never, in_range=set(self.in_range), **changed)

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
        compute: Callable[[Env], Value | Items],
        expr: Expr | None = None,
    ) -> None:
        """Not a Struct: a plain class is faster to create, as for ``Trial``."""
        self.name = name
        self.env = env
        self.compute = compute
        self.expr = expr
        self.value: Value | Items | None = None
        self.busy = False


def force(lazy: Lazy | Value, span: Span = NOWHERE) -> Value:
    """Return the value; a data value is computed once, in the block of its definition."""
    return single(force_results(lazy, span)) if isinstance(lazy, Lazy) else lazy


def force_results(lazy: Lazy, span: Span = NOWHERE) -> Value | Items:
    """Return the value, or all results of an operator."""
    if lazy.value is None:
        if lazy.busy:
            fail("T0204", f"`{lazy.name}` is defined in terms of itself", span)
        # A value from outside a trial outlives it, and so must the conditions that the value relies on.
        notes = lazy.env.context.notes
        level = notes.level
        notes.level = notes.level_of(lazy.env.scope)
        lazy.busy = True
        try:
            found = lazy.compute(_naming_env(lazy))
            lazy.value = found if isinstance(found, tuple) else bind_data(lazy.env, found, lazy.name)
        except AlgebraBudget as budget:
            if lazy.expr is not None and budget.span is NOWHERE:
                budget.span = lazy.expr.span
            raise
        finally:
            lazy.busy = False
            notes.level = level
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
    if isinstance(value, NodeValue):
        bound = env.scope.bind(value.node, name, None if value.static else work)
        return value if bound is value.node else NodeValue(bound, value.static)
    match value:
        case Vec(shape=shape, items=items, loose=loose) if not is_static(value):
            return Vec(shape, tuple(bind_data(env, item, name, work) for item in items), loose)
        case ValueList(items=items) if not is_static(value):
            return ValueList(tuple(bind_data(env, item, name, work) for item in items))
        case _:
            return value


# === Evaluation: an expression and an environment give a value.
#
# Each kind of syntax has one rule; the modules that define rules register them here, and so do those of
# primitives and special forms.


EvaluationRule = Callable[[Env, Any], Value | Items]
SpecialForm: TypeAlias = "Callable[[Env, tree.Call], Value | Items]"
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
    return found[0] if isinstance(found, tuple) else found


def results(env: Env, expr: tree.Expr) -> Value | Items:
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
