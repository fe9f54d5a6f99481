"""What a program defines: names and the scopes they live in, what the language itself knows, cycles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal, TypeAlias

from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Diagnostic, Fix, Label, Span, quoted
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES
from tolcost.syntax import tree
from tolcost.syntax.beginners import TYPES
from tolcost.syntax.source import MAX_NAME_ERRORS

_MOST_HINTS = 30
_MOST_CANDIDATES = 5000
_MOST_STEPS = 6


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function may be called: with how many arguments (``high`` None: any number), and which named."""

    low: int
    high: int | None
    named: frozenset[str] = frozenset()

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        return self.low <= count and (self.high is None or count <= self.high)

    def __str__(self) -> str:
        """In words, as in "takes …".

        >>> str(Signature(1, 1)), str(Signature(2, 3)), str(Signature(1, None))
        ('1 argument', '2 to 3 arguments', 'at least 1 argument')
        """
        if self.high is None:
            return f"at least {self.low} argument{'s' * (self.low != 1)}"
        count = f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"
        return f"{count} argument{'s' * (self.high != 1)}"


KnownNames: TypeAlias = Mapping[str, Signature | None]
"""Names from elsewhere; None for a value."""

_PRIMITIVES = {
    "shape": (1, 1), "dim": (1, 1), "capacity": (1, 1), "vol": (1, 1), "space": (1, 1), "convert": (2, 2),
    "part": (2, 3), "part'": (2, 2), "swap": (3, 3), "reshape": (2, 2), "tile": (1, 1), "map": (2, 3),
    "reduce": (3, 4), "join": (2, 3), "embed": (1, 1), "put": (3, 3), "filter": (2, 2), "seq": (0, None),
    "repeat": (3, 3), "given": (1, 1), "exact": (2, 2), "same": (2, 2), "bdim": (2, 2), "kind": (1, 1),
    "lo": (1, 1), "hi": (1, 1), "chars": (1, 1), "known": (1, 1), "isseq": (1, 1), "bitcast": (2, 2),
    "apart": (2, 2), "outside": (1, 1), "choose": (3, 3), "trips": (3, 4), "agree": (2, 2),
    "halvings": (1, 1), "oneof": (2, 2), "different": (1, 1),
}  # fmt: skip

BUILTINS: dict[str, Signature] = {
    **{name: Signature(low, high) for name, (low, high) in _PRIMITIVES.items()},
    **{name: Signature(*function.arity) for name, function in FUNCTIONS.items()},
}
CONSTANTS = frozenset({"true", "false", "Inf", "NaN", "pi", "outputs"})
BINDERS = {"map": 2, "reduce": 3, "trips": 3}
"""The functions whose body sees coordinates, and which argument names these."""

Sort: TypeAlias = Literal["function", "value", "input", "zeros", "length", "parameter", "coordinate"]


@dataclass(eq=False, slots=True)
class Definition:
    """A name, what gave it, and which definitions of the same scope it needs."""

    name: str
    sort: Sort
    span: Span
    arity: int | None = None
    functional: bool = False
    """A value that, as it is written, is a function."""
    fills: bool = False
    """It fills a ToL declared before, whose name it bears."""
    needs: dict[Definition, Span] = field(default_factory=dict)

    @property
    def place(self) -> Span:
        """Where its name stands."""
        return place_of(self.span, self.name)

    @property
    def maybe_function(self) -> bool:
        """Whether it can be called, as far as one can see."""
        return self.functional or self.sort in ("function", "parameter")


def place_of(span: Span, name: str, which: int = 0) -> Span:
    """The first place of a name in a span (or the second …; -1 for the last); the span if there is none."""
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    found = [match.span() for match in pattern.finditer(span.source.text, span.start, span.end)]
    usable = -len(found) <= which < len(found)
    return Span(span.source, *found[which]) if usable else span


@dataclass(eq=False, slots=True)
class NameScope:
    """Names, those around them, and whether ``*`` means something here.

    ``owner`` is the definition whose parameters these are.
    """

    parent: NameScope | None
    star: bool = False
    owner: Definition | None = None
    names: dict[str, Definition] = field(default_factory=dict)

    def lookups(self, name: str) -> Iterator[tuple[Definition, Definition | None]]:
        """What a name may mean, the nearest first, each with the definition beside it that needs it."""
        scope: NameScope | None = self
        owner: Definition | None = None
        while scope is not None:
            if name in scope.names:
                yield scope.names[name], owner
            owner, scope = scope.owner, scope.parent

    def visible(self) -> Iterator[str]:
        """All names that can be used here."""
        scope: NameScope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent


def is_global(name: str, known: KnownNames) -> bool:
    """Whether a name has a meaning without being defined in the program."""
    return name in BUILTINS or name in CONSTANTS or name in SPACES or name in known


def signatures(program: tree.Module) -> dict[str, Signature | None]:
    """What a library defines for the programs that use it."""
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
    """The name under which a program can be called, and how; None without an ``operator`` header."""
    header = next((s for s in program.statements if isinstance(s, tree.Operator)), None)
    if header is None:
        return None
    inputs = [s for s in program.statements if isinstance(s, tree.InputDecl)]
    positional = [s for s in inputs if s.kind != "attr"]
    required = sum(not (s.optional or s.variadic) for s in positional)
    high = None if any(s.variadic for s in positional) else len(positional)
    return header.name, Signature(required, high, frozenset(s.name for s in inputs))


@dataclass(slots=True, eq=False)
class Declarations:
    """The definitions of a program and the mistakes found so far."""

    known: KnownNames
    found: list[Diagnostic] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    spaces: set[str] = field(default_factory=lambda: set(SPACES))
    uses: dict[Definition, list[Span]] = field(default_factory=dict)
    """Where each definition is mentioned."""

    def tell(
        self,
        code: str,
        message: str,
        span: Span,
        hint: str | None = None,
        labels: tuple[Label, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        """Note a mistake, unless there are too many already."""
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
        """Note a name that nothing has, and the one that was perhaps meant, or else ``otherwise``."""
        meant = self.similar(name, candidates)
        hint = f"did you mean `{meant}`?" if meant else otherwise
        self.tell(code, message, span, hint, fix=Fix(f"Write `{meant}`", span, meant) if meant else None)

    # ---- declarations

    def declare_all(self, program: tree.Module) -> NameScope:
        """The scope of the program, with everything that its statements define."""
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
        """Note what a statement defines."""
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
            first.fills = True  # so that the second one, if it builds on the first, is not told to be a cycle
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
        """A program has an output: those marked so, or else its last definition."""
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
        """A space is one of the language's, or declared."""
        if space not in self.spaces:
            span = place_of(statement.span, space, -1)
            meant = (TYPES[space],) if space in TYPES else sorted(self.spaces)
            self.tell_meant(
                "T0210", f"there is no space {quoted(space)}", span, TYPES.get(space, space), meant
            )

    def unique(self, names: Iterable[str], span: Span) -> None:
        """No name stands twice among parameters or coordinates."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                self.tell("T0211", f"{quoted(name)} is named twice", place_of(span, name, 1))
            seen.add(name)

    def similar(self, name: str, candidates: Iterable[str]) -> str | None:
        """The name that was perhaps meant; after many mistakes none is looked for."""
        return None if len(self.found) > _MOST_HINTS else similar(name, candidates)


def similar(name: str, candidates: Iterable[str]) -> str | None:
    """The name that was perhaps meant.

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
    """Whether a letter is another one, too many or missing: `exq` is `exp`, and `sqt` is `sqrt`."""
    same = _same_letters(meant, name)
    a, b = meant[same:], name[same:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:]


def _filled(place: Span) -> Fix | None:
    """``y := ...`` for ``y = ...``."""
    sign = re.compile(r"\s*(=)(?!=)").match(place.source.text, place.end)
    return Fix("Write `:=`", Span(place.source, *sign.span(1)), ":=") if sign else None


def _lengths(statement: tree.InputDecl) -> list[tree.Name]:
    """The names in a declared shape that stand for lengths."""
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
    """Whether an expression, as written, gives a function.  A name may stand for one."""
    match value:
        case tree.Arrow() | tree.OperatorName() | tree.Compose() | tree.Name():
            return True
        case tree.Call(args=args):
            return any(isinstance(arg, tree.Star) for arg in args)
        case _:
            return False


# ---- definitions that need themselves ----------------------------------------------------


def cycles(definitions: Iterable[Definition]) -> list[Diagnostic]:
    """One diagnostic for each cycle met; walks without recursion."""
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
                found.append(_told(path[open_[needed] :]))
                done.update(path[open_[needed] :])
            else:
                open_[needed] = len(path)
                path.append(needed)
                rest.append(iter(needed.needs))
    return found


def _told(cycle: list[Definition]) -> Diagnostic:
    first = cycle[0]
    following = [*cycle[1:], first]
    steps = [*cycle[:_MOST_STEPS], *cycle[-1:]] if len(cycle) > _MOST_STEPS else cycle
    way = " → ".join(quoted(d.name) for d in [*steps, first])
    labels = tuple(
        Label(d.needs[after], f"{quoted(d.name)} needs {quoted(after.name)}")
        for d, after in list(zip(cycle, following, strict=True))[1:_MOST_STEPS]
    )
    message = f"{quoted(first.name)} is defined in terms of itself"
    message += f": {way}" if len(cycle) > 1 else ""
    hint = "there is no recursion; a repeated step is written with `reduce`"
    return Diagnostic("T0204", message, first.needs[following[0]], labels, hint)
