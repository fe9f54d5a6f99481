"""Name resolution: the declarations and scopes of a program, built-in names, and mistakes in their use.

The first half collects declarations, scopes and cycles; the second walks the program and reports mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import Literal, TypeAlias

from msgspec import Struct, field

from tolcost.diagnostics import Diagnostic, Fix, Label, Span, quoted
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES
from tolcost.syntax import tree
from tolcost.syntax.syntax_errors import ARGUMENTS, CALLS, MEMBERS, QUOTIENT, TYPES
from tolcost.syntax.tree import MAX_NAME_ERRORS

_MISTAKES_WITH_HINTS = 30
"""After this many mistakes no similar names are looked for: each search compares with all names."""
_MOST_CANDIDATES = 5000
"""The most names that one misspelled name is compared with."""
_CYCLE_STEPS_SHOWN = 6
"""The most steps of a cycle of definitions that a diagnostic names."""


class Signature(Struct, frozen=True):
    """How a function may be called: the number of arguments, and the names that named arguments may have.

    ``high`` is None if there is no upper limit.
    """

    low: int
    high: int | None
    named: frozenset[str] = frozenset()

    def takes(self, count: int) -> bool:
        """Whether the function can be called with ``count`` arguments."""
        return self.low <= count and (self.high is None or count <= self.high)

    def __str__(self) -> str:
        """Describe the number of arguments, to follow "takes".

        >>> str(Signature(1, 1)), str(Signature(2, 3)), str(Signature(1, None))
        ('1 argument', '2 to 3 arguments', 'at least 1 argument')
        """
        if self.high is None:
            return f"at least {self.low} argument{'s' * (self.low != 1)}"
        count = f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"
        return f"{count} argument{'s' * (self.high != 1)}"


KnownNames: TypeAlias = Mapping[str, Signature | None]
"""Names that other files define, each with its signature; None for a value."""

_PRIMITIVES = {
    "shape": (1, 1), "dim": (1, 1), "capacity": (1, 1), "vol": (1, 1), "space": (1, 1), "convert": (2, 2),
    "part": (2, 3), "part'": (2, 2), "swap": (3, 3), "reshape": (2, 2), "tile": (1, 1), "map": (2, 3),
    "reduce": (3, 4), "join": (2, 3), "embed": (1, 1), "put": (3, 3), "filter": (2, 2), "seq": (0, None),
    "repeat": (3, 3), "given": (1, 1), "exact": (2, 2), "same": (2, 2), "bdim": (2, 2), "kind": (1, 1),
    "lo": (1, 1), "hi": (1, 1), "chars": (1, 1), "known": (1, 1), "isseq": (1, 1), "bitcast": (2, 2),
    "apart": (2, 2), "outside": (1, 1), "choose": (3, 3), "trips": (3, 4), "tripcount": (3, 4),
    "while": (3, 4),
    "agree": (2, 2), "halvings": (1, 1), "oneof": (2, 2), "different": (1, 1),
}  # fmt: skip

BUILTINS: dict[str, Signature] = {
    **{name: Signature(low, high) for name, (low, high) in _PRIMITIVES.items()},
    **{name: Signature(*function.arity) for name, function in FUNCTIONS.items()},
}
CONSTANTS = frozenset({"true", "false", "Inf", "NaN", "pi", "outputs"})
BINDERS = {"map": 2, "reduce": 3, "trips": 3, "tripcount": 3}
"""The functions whose body sees coordinates, and the position of the argument that names them."""

Sort: TypeAlias = Literal["function", "value", "input", "zeros", "length", "parameter", "coordinate"]


class Definition(Struct, eq=False):
    """A definition: its name, its statement, and the definitions of the same scope that it needs."""

    name: str
    sort: Sort
    span: Span
    arity: int | None = None
    functional: bool = False
    """Whether the value is visibly a function, as written."""
    fills: bool = False
    """Whether it fills a ToL of the same name that was declared before."""
    needs: dict[Definition, Span] = field(default_factory=dict)

    @property
    def place(self) -> Span:
        """The place of the name inside the definition."""
        return place_of(self.span, self.name)

    @property
    def maybe_function(self) -> bool:
        """Whether it may be a function, as far as its text shows."""
        return self.functional or self.sort in ("function", "parameter")


def place_of(span: Span, name: str, which: int = 0) -> Span:
    """Find an occurrence of a name in a span (0 first, -1 last); return the span if there is none."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    found = [match.span() for match in pattern.finditer(span.source.text, span.start, span.end)]
    usable = -len(found) <= which < len(found)
    return Span(span.source, *found[which]) if usable else span


class NameScope(Struct, eq=False):
    """A scope: its names, the scope around it, and whether ``*`` has a meaning inside.

    ``owner`` is the definition whose parameters make up the scope.
    """

    parent: NameScope | None
    star: bool = False
    owner: Definition | None = None
    names: dict[str, Definition] = field(default_factory=dict)

    def lookups(self, name: str) -> Iterator[tuple[Definition, Definition | None]]:
        """Yield the definitions of a name, innermost first.

        Each comes with the definition of its own scope that contains the mention, if there is one.
        """
        scope: NameScope | None = self
        owner: Definition | None = None
        while scope is not None:
            if name in scope.names:
                yield scope.names[name], owner
            owner, scope = scope.owner, scope.parent

    def visible(self) -> Iterator[str]:
        """Yield all names that can be used in this scope."""
        scope: NameScope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent


def is_global(name: str, known: KnownNames) -> bool:
    """Whether a name has a meaning without a definition in the program."""
    return name in BUILTINS or name in CONSTANTS or name in SPACES or name in known


def signatures(program: tree.Module) -> dict[str, Signature | None]:
    """Return the names that a library file defines for the programs that use it."""
    found: dict[str, Signature | None] = {}
    for statement in program.statements:
        match statement:
            case tree.Define(name=name, params=params):
                found[name] = None if params is None else Signature(len(params), len(params))
            case tree.Unpack(names=names):
                found.update(dict.fromkeys(names))
            case tree.ZerosDecl(name=name):
                found.setdefault(name, None)
            case _:
                pass
    return found


def operator_signature(program: tree.Module) -> tuple[str, Signature] | None:
    """Return the operator's name and signature, or None if the program has no ``operator`` header."""
    header = next((s for s in program.statements if isinstance(s, tree.Operator)), None)
    if header is None:
        return None
    inputs = [s for s in program.statements if isinstance(s, tree.InputDecl)]
    positional = [s for s in inputs if s.kind != "attr"]
    required = sum(not (s.optional or s.variadic) for s in positional)
    high = None if any(s.variadic for s in positional) else len(positional)
    return header.name, Signature(required, high, frozenset(s.name for s in inputs))


class Declarations(Struct, eq=False):
    """The definitions of a program and the mistakes found so far."""

    known: KnownNames
    found: list[Diagnostic] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    spaces: set[str] = field(default_factory=lambda: set(SPACES))
    uses: dict[Definition, list[Span]] = field(default_factory=dict)
    """The places where each definition is mentioned."""

    def tell(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str | None = None,
        labels: tuple[Label, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        """Record a mistake, unless there are already ``MAX_NAME_ERRORS``."""
        if len(self.found) < MAX_NAME_ERRORS:
            self.found.append(Diagnostic(code, message, span, labels, hint, fix=fix))

    def tell_meant(
        self,
        code: str,
        message: str,
        span: Span,
        name: str,
        candidates: Iterable[str],
        otherwise: str | None = None,
    ) -> None:
        """Record an unknown name with a suggestion for the name meant.

        Without a suggestion, hint at ``otherwise``.
        """
        meant = self.similar(name, candidates)
        hint = f"did you mean `{meant}`?" if meant else otherwise
        self.tell(code, message, span, hint, fix=Fix(f"Write `{meant}`", span, meant) if meant else None)

    # ---- declarations

    def declare_all(self, program: tree.Module) -> NameScope:
        """Declare every statement of the program and return its scope."""
        top = NameScope(None)
        inputs = [s for s in program.statements if isinstance(s, tree.InputDecl)]
        for statement in program.statements:
            if isinstance(statement, (tree.SpaceDecl, tree.ListDecl)):
                self.spaces.add(statement.name)
            self.declare(statement, top)
        for name in [n for s in inputs for n in _lengths(s)]:
            top.names.setdefault(name.name, Definition(name.name, "length", name.span))
        self._check_header(program.statements)
        return top

    def declare(self, statement: tree.Statement, scope: NameScope) -> None:
        """Add the names that a statement defines to the scope."""
        match statement:
            case tree.Define(name=name, params=None, value=value, output=output):
                found = Definition(name, "value", statement.span, functional=_is_function(value))
                self._define(found, scope, output)
            case tree.Define(name=name, params=params, output=output):
                found = Definition(name, "function", statement.span, len(params or ()))
                self._define(found, scope, output)
            case tree.Unpack(names=names):
                for name in names:
                    self._define(Definition(name, "value", statement.span), scope)
            case tree.ZerosDecl(name=name):
                self._define(Definition(name, "zeros", statement.span), scope)
            case tree.InputDecl(name=name):
                is_graph = statement.space == "G"
                self._define(Definition(name, "input", statement.span, functional=is_graph), scope)
            case _:
                pass

    def _define(self, definition: Definition, scope: NameScope, output: bool = False) -> None:
        first = scope.names.get(definition.name)
        definition.fills = first is not None and first.sort == "zeros" and output
        if first is not None and not definition.fills:
            label = (Label(first.place, "the first one is here"),)
            hint = "a ToL declared by `tol` is filled with `:=`" if first.sort == "zeros" else None
            fix = _filled(definition.place) if first.sort == "zeros" and definition.sort == "value" else None
            told = f"{quoted(definition.name)} is defined twice"
            self.tell("T0202", told, definition.place, hint, label, fix)
            # so that a second definition that builds on the first is not reported as a cycle, too
            first.fills = True
            return
        if first is not None:
            self.uses.setdefault(definition, []).append(first.place)
        scope.names[definition.name] = definition
        self.definitions.append(definition)

    def _check_header(self, statements: Sequence[tree.Statement]) -> None:
        for place, statement in enumerate(statements):
            if isinstance(statement, tree.Operator) and place > 0:
                hint = "a file holds one operator, and its header comes first"
                self.tell("T0215", "the header of an operator stands in the middle", statement.span, hint)
        positional = [s for s in statements if isinstance(s, tree.InputDecl) and s.kind != "attr"]
        for statement in positional[:-1]:
            if statement.variadic:
                message = f"{quoted(statement.name)} takes all that follows, so it has to come last"
                self.tell("T0216", message, place_of(statement.span, statement.name))

    def check_output(self, program: tree.Module) -> None:
        """Report a program without an output: none is marked, and the last definition is no value."""
        defined = [s for s in program.statements if isinstance(s, (tree.Define, tree.Unpack, tree.ZerosDecl))]
        if any(isinstance(s, tree.Define) and s.output for s in defined):
            return
        if not defined:
            span = program.statements[-1].span if program.statements else program.span
            where = Span(span.source, span.start, min(span.end, span.start + 1))
            self.tell("T0212", "the program defines nothing", where, "mark an output with `:=`")
        elif isinstance(last := defined[-1], tree.Define) and last.params is not None:
            hint = "the last definition is the output, unless others are marked with `:=`"
            place = place_of(last.span, last.name)
            self.tell("T0212", "the program has no output: a function is not one", place, hint)

    def check_space(self, space: str, statement: tree.Statement) -> None:
        """Report a space that is neither built in nor declared."""
        if space not in self.spaces:
            span = place_of(statement.span, space, -1)
            meant = (TYPES[space],) if space in TYPES else sorted(self.spaces)
            self.tell_meant(
                "T0210", f"there is no space {quoted(space)}", span, TYPES.get(space, space), meant
            )

    def unique(self, names: Iterable[str], span: Span) -> None:
        """Report parameters or coordinates that share a name."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                self.tell("T0211", f"{quoted(name)} is named twice", place_of(span, name, 1))
            seen.add(name)

    def similar(self, name: str, candidates: Iterable[str]) -> str | None:
        """Suggest the name meant.

        Give up after many mistakes, when searching each time would take too long.
        """
        return None if len(self.found) > _MISTAKES_WITH_HINTS else similar(name, candidates)


def similar(name: str, candidates: Iterable[str]) -> str | None:
    """Suggest the candidate closest to a name.

    >>> similar("SAMEUPPER", ["SAME_UPPER", "VALID"]), similar("FULL", ["SAME_UPPER", "VALID"])
    ('SAME_UPPER', None)
    """
    from difflib import get_close_matches

    if len(name) > 60:
        return None
    apart = max(1, len(name) // 3)
    usable = [c for c in candidates if abs(len(c) - len(name)) <= apart][:_MOST_CANDIDATES]
    near = [c for c in usable if len(name) > 2 and _is_slip(c, name)]
    if near:
        return max(near, key=lambda c: (_same_letters(c, name), len(c)))
    close = get_close_matches(name, usable, 1, 0.74) or [c for c in usable if c.lower() == name.lower()]
    return close[0] if close else None


def _same_letters(meant: str, name: str) -> int:
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(meant, name, strict=False))])


def _is_slip(meant: str, name: str) -> bool:
    """Whether names differ by one letter, changed, added or missing: `exq` and `exp`, `sqt` and `sqrt`."""
    same = _same_letters(meant, name)
    a, b = meant[same:], name[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:]


def _filled(place: Span) -> Fix | None:
    """Suggest ``y := ...`` for ``y = ...``."""
    sign = re.compile(r"\s*(=)(?!=)").match(place.source.text, place.end)
    return Fix("Write `:=`", Span(place.source, *sign.span(1)), ":=") if sign else None


def _lengths(statement: tree.InputDecl) -> list[tree.Name]:
    """Return the names in a declared shape that stand for lengths."""
    found: list[tree.Name] = []
    waiting = [e for e in statement.shape if not isinstance(e, tree.Ellipsis)]
    while waiting:
        match waiting.pop():
            case tree.Name() as name:
                found.append(name)
            case tree.Call(args=args):
                waiting.extend(args)
            case other:
                waiting.extend(tree.children(other))
    return found


def _is_function(value: tree.Expr) -> bool:
    """Whether an expression gives a function, as written. A name may stand for a function, so it counts."""
    match value:
        case tree.Arrow() | tree.OperatorName() | tree.Compose() | tree.Name():
            return True
        case tree.Call(args=args):
            return any(isinstance(arg, tree.Star) for arg in args)
        case _:
            return False


# ---- definitions that need themselves ----------------------------------------------------


def cycles(definitions: Iterable[Definition]) -> list[Diagnostic]:
    """Return one diagnostic for each value that needs itself; walks without recursion."""
    done: set[Definition] = set()
    found = []
    for definition in definitions:
        path = [definition] if definition not in done else []
        open_ = {definition: 0}
        rest = [iter(definition.needs)]
        while path:
            needed = next((d for d in rest[-1] if d not in done), None)
            if needed is None:
                done.add(path[-1])
                del open_[path.pop()]
                rest.pop()
            elif needed in open_:
                cycle = path[open_[needed] :]
                if any(one.sort != "function" for one in cycle):  # functions may apply themselves
                    found.append(_cycle_diagnostic(cycle))
                    done.update(cycle)
            else:
                open_[needed] = len(path)
                path.append(needed)
                rest.append(iter(needed.needs))
    return found


def _cycle_diagnostic(cycle: list[Definition]) -> Diagnostic:
    first = cycle[0]
    following = [*cycle[1:], first]
    steps = [*cycle[:_CYCLE_STEPS_SHOWN], *cycle[-1:]] if len(cycle) > _CYCLE_STEPS_SHOWN else cycle
    way = " → ".join(quoted(d.name) for d in [*steps, first])
    labels = tuple(
        Label(d.needs[after], f"{quoted(d.name)} needs {quoted(after.name)}")
        for d, after in list(zip(cycle, following, strict=True))[1:_CYCLE_STEPS_SHOWN]
    )
    message = f"{quoted(first.name)} is defined in terms of itself"
    message += f": {way}" if len(cycle) > 1 else ""
    hint = "only functions may need themselves; a repeated step is written with `reduce`"
    return Diagnostic("T0204", message, first.needs[following[0]], labels, hint)


# === The walk: mistakes in names that can be found without any value or shape.
#
# It finds unknown names, calls with the wrong number of arguments, names defined twice or in terms of
# themselves, and ``*`` where there is no current element. Types, shapes and the values of attributes are
# checked by ``elaborate``. The walk keeps its own stack and reports every mistake it finds.


_KNOWN_INSIDE: Mapping[Sort, str] = {
    "parameter": "the function whose parameter it is",
    "coordinate": "the `map` or `reduce` whose coordinate it is",
    "value": "the block that defines it",
}
"""For names of other scopes, the construct inside which they are visible."""


def resolve(
    program: tree.Module,
    known: KnownNames | None = None,
    others: Iterable[str] = (),
) -> tuple[Diagnostic, ...]:
    r"""Return all mistakes in the names of a program, in source order.

    ``known`` are names from elsewhere: the definitions of the libraries in use, and operators; ``others`` are
    operators that the program does not mention, as candidates for suggestions.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> [d.message for d in resolve(parse(Source("demo", "tol x: R [n]\ny := map(x, exq(*))")))]
    ['there is no function `exq`']
    """
    resolver = _resolve_program(program, known)
    resolver.check_output(program)
    resolver.tell_unknown({name.lower(): name for name in others} if resolver.unknown else {})
    found = [*resolver.found, *cycles(resolver.definitions)]
    return tuple(sorted(found, key=lambda d: d.span.start))


class Occurrences(Struct, frozen=True):
    """A name of a program, with its definition and all its mentions."""

    name: str
    sort: Sort
    place: Span
    uses: tuple[Span, ...]
    statement: Span
    """The statement that defines it."""


def occurrences(program: tree.Module, known: KnownNames | None = None) -> tuple[Occurrences, ...]:
    r"""Return every name that a program defines, in source order; several scopes may define the same name.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> found = occurrences(parse(Source("demo", "tol x: R [n]\ny := map(x, f(*))\nf(x) = x + 1")))
    >>> [(one.name, one.sort, len(one.uses)) for one in found][2:]
    [('y', 'value', 0), ('f', 'function', 1), ('x', 'parameter', 1)]
    """
    uses = _resolve_program(program, known).uses
    filled = {place for one, places in uses.items() if one.fills for place in places}
    found = [
        Occurrences(one.name, one.sort, one.place, tuple(places), one.span)
        for one, places in uses.items()
        if one.place not in filled or one.fills
    ]
    return tuple(sorted(found, key=lambda one: one.place.start))


def unused(program: tree.Module) -> tuple[Diagnostic, ...]:
    r"""Warn about each definition that nothing mentions and that is not an output, and about each such input.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> text = "tol x: R [n]\ntol w: R [k]\n(a, _b) = (x, 1)\n(c, d) = (a, 2)\ny := map(c, exp)"
    >>> [one.message for one in unused(parse(Source("demo", text)))]
    ['the input `w` is never used', '`d` is never used']
    """
    defined = [s for s in program.statements if isinstance(s, tree.Define | tree.Unpack)]
    marked = [s for s in defined if isinstance(s, tree.Define) and s.output] or defined[-1:]
    outputs = {statement.span for statement in marked}
    named = occurrences(program)
    found = [
        Diagnostic("T0218", f"{quoted(one.name)} is never used", one.place, severity="warning")
        for one in named
        if one.sort in ("value", "function") and not one.uses and one.statement not in outputs
    ]
    # an operator has the inputs of its standard, whether its value needs them or not
    if not any(isinstance(s, tree.Operator) for s in program.statements):
        found += _unused_inputs(named)
    kept = (one for one in found if not one.span.text.startswith("_"))  # marked by the author as unused
    return tuple(sorted(kept, key=lambda one: one.span.start))


def _unused_inputs(named: Sequence[Occurrences]) -> Iterator[Diagnostic]:
    """Warn about inputs that nothing mentions, nor any length that only they declare."""
    declared = [one.statement for one in named if one.sort == "input"]
    for one in named:
        within = range(one.statement.start, one.statement.end)
        lengths = [other for other in named if other.sort == "length" and other.place.start in within]
        mentioned = [
            use
            for use in chain.from_iterable(other.uses for other in (one, *lengths))
            if use.start not in within and not any(_declares(place, use) for place in declared)
        ]
        if one.sort == "input" and not mentioned:
            told = f"the input {quoted(one.name)} is never used"
            hint = "remove it, or begin its name with `_` if it has to be there"
            yield Diagnostic("T0221", told, one.place, hint=hint, severity="warning")


def _declares(statement: Span, use: Span) -> bool:
    """Whether an input declares the length that it mentions here: as a whole dimension, not inside of one."""
    text = use.source.text
    ends = text[: use.start].rstrip()[-1:] + text[use.end :].lstrip()[:1]
    return statement.start <= use.start < statement.end and ends[:1] in "[," and ends[1:] in ",]"


def _resolve_program(program: tree.Module, known: KnownNames | None) -> _Resolver:
    resolver = _Resolver(known or {})
    top = resolver.declare_all(program)
    for definition in top.names.values():
        resolver.uses.setdefault(definition, [])
    for statement in program.statements:
        resolver.check(statement, top)
    resolver.walk()
    return resolver


class _Resolver(Declarations):
    unknown: dict[str, tuple[bool, tree.Name, NameScope]] = field(default_factory=dict)
    waiting: list[tuple[tree.Expr | tree.Ellipsis, NameScope]] = field(default_factory=list)

    # ---- statements

    def check(self, statement: tree.Statement, scope: NameScope) -> None:
        """Check the spaces of a statement now, and queue its expressions."""
        match statement:
            case tree.SpaceDecl(space=space):
                self.check_space(space, statement)
            case tree.ListDecl(spaces=spaces):
                for space in spaces:
                    self.check_space(space, statement)
            case tree.InputDecl(space=space):
                self.check_space(space, statement)
            case tree.Define(params=params, output=True) if params is not None:
                self.tell("T0213", "an output has no parameters", place_of(statement.span, statement.name))
            case _:
                pass
        if isinstance(statement, (tree.Define, tree.Unpack)):
            self._queue_body(statement, scope)
        else:
            self._queue(tree.children(statement), scope)

    def _queue_body(self, statement: tree.Define | tree.Unpack, scope: NameScope) -> None:
        """Queue the value of a definition, to be visited in the scope of its parameters."""
        params = (statement.params or ()) if isinstance(statement, tree.Define) else ()
        first, *others = statement.names if isinstance(statement, tree.Unpack) else (statement.name,)
        self.unique(params, statement.span)
        owner = scope.names.get(first)
        for name in others:
            if owner is not None and name in scope.names:
                scope.names[name].needs[owner] = statement.span
        inner = NameScope(scope, scope.star, owner, self._parameters(params, statement.span))
        self.waiting.append((statement.value, inner))

    # ---- expressions

    def walk(self) -> None:
        """Visit all queued expressions, and those that they queue in turn."""
        while self.waiting:
            expr, scope = self.waiting.pop()
            self._visit(expr, scope)

    def _queue(self, exprs: Iterable[tree.Expr | tree.Ellipsis], scope: NameScope) -> None:
        self.waiting.extend([(expr, scope) for expr in exprs])

    def _visit(self, expr: tree.Expr | tree.Ellipsis, scope: NameScope) -> None:
        match expr:
            case tree.Name():
                self._visit_value(expr, scope)
            case tree.Numeral():
                pass
            case tree.Star() if not scope.star:
                hint = "`*` is the current element of a `map` or `reduce`"
                self.tell("T0206", "`*` stands outside of any `map` or `reduce`", expr.span, hint)
            case tree.Call():
                self._visit_call(expr, scope)
            case tree.Compose(functions=functions):
                self._visit_composition(functions, scope)
            case tree.Arrow(params=params, body=body):
                self.unique(params, expr.span)
                self._queue((body,), NameScope(scope, scope.star, None, self._parameters(params, expr.span)))
            case tree.BlockExpr():
                self._visit_block(expr, NameScope(scope, scope.star))
            case tree.ListSubscript(item=tree.Splice(span=span)):
                self.tell("T0207", "a list has one index, so nothing can be spliced there", span)
            case _:
                self._queue(tree.children(expr), scope)

    def _visit_block(self, block: tree.BlockExpr, inner: NameScope) -> None:
        for statement in block.statements:
            self.declare(statement, inner)
        for definition in inner.names.values():
            self.uses.setdefault(definition, [])
        for statement in block.statements:
            self._queue_body(statement, inner)
        self._queue((block.result,), inner)

    def _visit_value(self, name: tree.Name, scope: NameScope) -> None:
        for definition, owner in scope.lookups(name.name):
            self._record_use(owner, definition, name.span)
            return
        if not is_global(name.name, self.known) and name.name not in self.spaces:
            self._remember_unknown(name, scope, is_function=False)

    def _visit_call(self, call: tree.Call, scope: NameScope) -> None:
        signature = None
        function = call.function
        if isinstance(function, tree.Name):
            signature = self._resolve_function(function, scope, call)
        else:
            self._queue((function,), scope)
        place = BINDERS.get(function.name) if isinstance(function, tree.Name) else None
        if place is not None and signature is not None:
            self._visit_binder(call, place, scope)
        else:
            self._queue((a for a in call.args if not isinstance(a, tree.Star)), scope)
        self._queue((value for _, value in call.named), scope)

    def _visit_composition(self, functions: tuple[tree.Expr, ...], scope: NameScope) -> None:
        last = functions[-1]
        member = last.name if isinstance(last, tree.Name) else ""
        for function in functions:
            if isinstance(function, tree.Name):
                self._resolve_function(function, scope, None, MEMBERS.get(member))
            else:
                self._queue((function,), scope)

    def _visit_binder(self, call: tree.Call, place: int, scope: NameScope) -> None:
        """Visit a call from ``BINDERS``.

        Its body sees ``*`` and the coordinates that a later argument names.
        """
        coordinates = call.args[place] if len(call.args) > place else None
        names = self._coordinates(coordinates)
        self.unique((n.name for n in names), coordinates.span if coordinates else call.span)
        bound = self._make_scope(Definition(n.name, "coordinate", n.span) for n in names)
        for index, arg in enumerate(call.args[:place]):
            inner = NameScope(scope, True, None, bound) if index == 1 else scope
            if not isinstance(arg, tree.Star) or inner.star:
                self._queue((arg,), inner)

    def _coordinates(self, expr: tree.Expr | None) -> list[tree.Name]:
        items = expr.items if isinstance(expr, tree.Bracket) else (expr,) if expr is not None else ()
        names = []
        for item in items:
            inner = item.value if isinstance(item, tree.Splice) else item
            if isinstance(inner, tree.Name):
                names.append(inner)
            else:
                hint = "write `i` for all coordinates together, or `[i, j]`, or `[i, *rest]`"
                self.tell("T0214", "coordinates are named here", inner.span, hint)
        return names

    def _resolve_function(
        self, name: tree.Name, scope: NameScope, call: tree.Call | None, hint: str | None = None
    ) -> Signature | None:
        """Resolve a name in call position to the nearest function.

        If it is not a function, report it with ``hint``.
        """
        hidden: Definition | None = None
        for definition, owner in scope.lookups(name.name):
            builtin = name.name in BUILTINS or name.name in self.known
            if definition.maybe_function and not (definition.sort == "value" and builtin):
                self._record_use(owner, definition, name.span)
                if definition.arity is not None:
                    self._check_count(name, Signature(definition.arity, definition.arity), call, definition)
                return None
            hidden = hidden or definition
        signature = self.known.get(name.name) or BUILTINS.get(name.name)
        if signature is not None:
            self._check_count(name, signature, call, None)
        elif hidden is not None or name.name in CONSTANTS:
            label = (Label(hidden.place, f"this {hidden.sort}"),) if hidden else ()
            indexed = hidden is not None and hidden.sort in ("input", "zeros") and len(name.name) < 40
            hint = hint or (f"an element is selected with `{name.name}[i]`" if indexed else None)
            fix = _index_fix(name, call) if indexed and call is not None else None
            self.tell("T0205", f"{quoted(name.name)} is not a function", name.span, hint, label, fix)
        elif name.name not in self.known:
            self._remember_unknown(name, scope, is_function=True)
        return signature

    def _check_count(
        self, name: tree.Name, signature: Signature, call: tree.Call | None, own: Definition | None
    ) -> None:
        if call is None:
            return
        label = (Label(own.place, "it is defined here"),) if own else ()
        wrong = [n for n, _ in call.named if n not in signature.named]
        if wrong:
            message = f"{quoted(name.name)} has no argument named {quoted(wrong[0])}"
            meant = self.similar(wrong[0], sorted(signature.named))
            none = None if signature.named else "only operators have named arguments"
            hint = f"did you mean `{meant}`?" if meant else none
            self.tell("T0208", message, call.span, hint, label, _rename_fix(call, wrong[0], meant))
        count = len(call.args)
        if any(isinstance(a, tree.Splice) for a in call.args):
            return
        if not signature.takes(count if not call.named else max(count, signature.low)):
            message = f"{quoted(name.name)} takes {signature}, not {count}"
            hint = ARGUMENTS.get(name.name) if own is None and count < signature.low else None
            self.tell("T0203", message, call.span, hint, label)

    def _remember_unknown(self, name: tree.Name, scope: NameScope, is_function: bool) -> None:
        """Remember the first mention of an unknown name."""
        first = self.unknown.get(name.name)
        if first is None or name.span.start < first[1].span.start:
            self.unknown[name.name] = is_function, name, scope

    def tell_unknown(self, others: Mapping[str, str]) -> None:
        """Report each unknown name once; ``others`` are operators by their name in lower case."""
        for is_function, name, scope in self.unknown.values():
            told = f"there is {'no function' if is_function else 'nothing named'} {quoted(name.name)}"
            if name.name == "iter":
                self.tell("T0201", told, name.span, "name the coordinates after the body: `map(t, f(i), i)`")
                continue
            if name.name in CALLS:
                self.tell("T0201", told, name.span, CALLS[name.name])
                continue
            operators = [others[small]] if (small := name.name.lower()) in others else []
            otherwise = None if is_function else self._how_to_know(name.name)
            candidates = (*scope.visible(), *BUILTINS, *CONSTANTS, *self.known, *operators)
            self.tell_meant("T0201", told, name.span, name.name, candidates, otherwise)

    def _how_to_know(self, name: str) -> str:
        """Hint at how to get a value of an unknown name: from the scope that defines it, or from outside."""
        inner = next((one.sort for one in self.uses if one.name == name and one.sort in _KNOWN_INSIDE), None)
        if inner is not None:
            return f"it is known only inside of {_KNOWN_INSIDE[inner]}"
        coordinate = f"`map(t, f({name}), [{name}])` names a coordinate, "
        outside = f"`attr {name}: N` takes a number from outside, and `tol {name}: R [n]` data"
        return f"{coordinate if len(name) == 1 else ''}{outside}"

    def _parameters(self, names: Iterable[str], span: Span) -> dict[str, Definition]:
        return self._make_scope(Definition(name, "parameter", span) for name in names)

    def _make_scope(self, definitions: Iterable[Definition]) -> dict[str, Definition]:
        """Build the names of a new scope."""
        found = {definition.name: definition for definition in definitions}
        self.uses.update((definition, []) for definition in found.values())
        return found

    def _record_use(self, owner: Definition | None, needed: Definition, span: Span) -> None:
        """Record a mention of a definition and the owner's need for it, unless the owner fills its zeros."""
        self.uses.setdefault(needed, []).append(span)
        if owner is not None and not (owner is needed and owner.fills):
            owner.needs.setdefault(needed, span)


def _index_fix(name: tree.Name, call: tree.Call) -> Fix | None:
    """Suggest brackets for a call of something that is not a function: an element was meant."""
    span = Span(call.span.source, name.span.end, call.span.end)
    inside = span.text.strip()
    if call.named or not call.args or inside[:1] != "(":
        return None
    return Fix("Write `[ ]`", span, f"[{inside[1:-1]}]")


def _rename_fix(call: tree.Call, wrong: str, meant: str | None) -> Fix | None:
    """Suggest the right name for a named argument."""
    span = call.span
    place = re.compile(rf"(?<!\w){re.escape(wrong)}(?=\s*:)").search(span.source.text, span.start, span.end)
    if meant is None or place is None:
        return None
    return Fix(f"Write `{meant}`", Span(span.source, *place.span()), meant)


_DIVISOR = re.compile(r"//[ \t]*[\w(](?:[\w.()\[\]]|[ \t]*[-+*/^,][ \t]*)*")
_WORD = re.compile(r"[^\W\d]\w*")


def quotients_in_comments(program: tree.Module) -> tuple[Diagnostic, ...]:
    r"""Warn about a comment after a statement that reads like a divisor: ``h = n // 2``.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> text = "tol x: R [n]\nh = n // 2\ny := map(tol[h], x[i], [i]) // halves"
    >>> [str(d.span.start) for d in quotients_in_comments(parse(Source("demo", text)))]
    ['19']
    """
    text, words = program.span.source.text, set(_WORD.findall(_code(program)))
    return tuple(
        Diagnostic("T0219", "this begins a comment", comment.span, hint=QUOTIENT, severity="warning")
        for comment in program.comments
        if text[text.rfind("\n", 0, comment.span.start) + 1 : comment.span.start].strip()
        and _DIVISOR.fullmatch(comment.text.rstrip())
        and words.issuperset(_WORD.findall(comment.text))
    )


def rounded_quotients(program: tree.Module) -> tuple[Diagnostic, ...]:
    r"""Warn about each quotient of literal integers that is rounded down: ``sqrt(1 / 8)`` is 0.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> text = "tol x: R [n]\ny := map(x, 3 * 1 / 2 * * + 6 / 3 + 1.0 / 2 + 1 / n)"
    >>> [(d.message, d.hint) for d in rounded_quotients(parse(Source("demo", text)))]
    [('this is rounded down to 1', 'write `3.0 / 2`, or `div(3, 2)`')]
    """
    chains = (
        node for s in program.statements for node in tree.inner_nodes(s) if isinstance(node, tree.Infix)
    )
    return tuple(found for chain in chains if (found := _rounding_warning(chain)) is not None)


def _rounding_warning(chain: tree.Infix) -> Diagnostic | None:
    """Multiply out the leading literals of a product; warn at the first quotient that leaves a remainder."""
    worth = _integer_literal(chain.first)
    for sign, operand in chain.rest:
        number = _integer_literal(operand)
        if worth is None or number is None or sign not in ("*", "/") or (sign == "/" and number == 0):
            return None
        if sign == "/" and worth % number:
            hint = f"write `{worth}.0 / {number}`, or `div({worth}, {number})`"
            place = Span(chain.span.source, chain.first.span.start, operand.span.end)
            told = f"this is rounded down to {worth // number}"
            return Diagnostic("T0220", told, place, hint=hint, severity="warning")
        worth = worth * number if sign == "*" else worth // number
    return None


def _integer_literal(expr: tree.Expr) -> int | None:
    return int(expr.text) if isinstance(expr, tree.Numeral) and expr.text.isdecimal() else None


def _code(program: tree.Module) -> str:
    """Return the text without its comments."""
    ends = [0, *(end for c in program.comments for end in (c.span.start, c.span.end)), program.span.end]
    return "".join(program.span.source.text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True))
