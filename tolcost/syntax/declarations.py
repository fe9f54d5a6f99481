"""What the statements of a program define, and what can be wrong with that alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tolcost.diagnostics import Diagnostic, Label, Span, quoted
from tolcost.spaces import SPACES
from tolcost.syntax.depth import children
from tolcost.syntax.limits import MAX_NAME_ERRORS
from tolcost.syntax.scopes import Definition, Known, Scope, place_of
from tolcost.syntax.tree import (
    Call,
    Compose,
    Define,
    Ellipsis,
    Expr,
    Input,
    Lambda,
    ListDecl,
    Name,
    Operator,
    OperatorName,
    Program,
    SpaceDecl,
    Star,
    Statement,
    Unpack,
    Zeros,
)

_MOST_HINTS = 30
_MOST_CANDIDATES = 5000


@dataclass(slots=True)
class Declarations:
    """The definitions of a program and the mistakes found so far."""

    known: Known
    found: list[Diagnostic] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    spaces: set[str] = field(default_factory=lambda: set(SPACES))

    def tell(
        self, code: str, message: str, span: Span, hint: str | None = None, labels: tuple[Label, ...] = ()
    ) -> None:
        """Note a mistake, unless there are too many already."""
        if len(self.found) < MAX_NAME_ERRORS:
            self.found.append(Diagnostic(code, message, span, labels, hint))

    # ---- declarations

    def declare_all(self, program: Program) -> Scope:
        """The scope of the program, with everything that its statements define."""
        top = Scope(None)
        inputs = [s for s in program.statements if isinstance(s, Input)]
        for statement in program.statements:
            if isinstance(statement, (SpaceDecl, ListDecl)):
                self.spaces.add(statement.name)
            self.declare(statement, top)
        for name in [n for s in inputs for n in _lengths(s)]:
            top.names.setdefault(name.name, Definition(name.name, "length", name.span))
        self._check_header(program.statements)
        return top

    def declare(self, statement: Statement, scope: Scope) -> None:
        """Note what a statement defines."""
        match statement:
            case Define(name=name, params=None, value=value, output=output):
                found = Definition(name, "value", statement.span, functional=_is_function(value))
                self._define(found, scope, output)
            case Define(name=name, params=params, output=output):
                found = Definition(name, "function", statement.span, len(params or ()))
                self._define(found, scope, output)
            case Unpack(names=names):
                for name in names:
                    self._define(Definition(name, "value", statement.span), scope)
            case Zeros(name=name):
                self._define(Definition(name, "zeros", statement.span), scope)
            case Input(name=name):
                is_graph = statement.space == "G"
                self._define(Definition(name, "input", statement.span, functional=is_graph), scope)
            case _:
                pass

    def _define(self, definition: Definition, scope: Scope, output: bool = False) -> None:
        first = scope.names.get(definition.name)
        definition.fills = first is not None and first.sort == "zeros" and output
        if first is not None and not definition.fills:
            label = (Label(first.place, "the first one is here"),)
            hint = "a ToL declared by `tol` is filled with `:=`" if first.sort == "zeros" else None
            self.tell("T0202", f"{quoted(definition.name)} is defined twice", definition.place, hint, label)
            first.fills = True  # so that the second one, if it builds on the first, is not told to be a cycle
            return
        scope.names[definition.name] = definition
        self.definitions.append(definition)

    def _check_header(self, statements: Sequence[Statement]) -> None:
        for place, statement in enumerate(statements):
            if isinstance(statement, Operator) and place > 0:
                hint = "a file holds one operator, and its header comes first"
                self.tell("T0215", "the header of an operator stands in the middle", statement.span, hint)
        positional = [s for s in statements if isinstance(s, Input) and s.kind != "attr"]
        for statement in positional[:-1]:
            if statement.variadic:
                message = f"{quoted(statement.name)} takes all that follows, so it has to come last"
                self.tell("T0216", message, place_of(statement.span, statement.name))

    def check_output(self, program: Program) -> None:
        """A program has an output: those marked so, or else its last definition."""
        defined = [s for s in program.statements if isinstance(s, (Define, Unpack, Zeros))]
        if any(isinstance(s, Define) and s.output for s in defined):
            return
        if not defined:
            span = program.statements[-1].span if program.statements else program.span
            where = Span(span.source, span.start, min(span.end, span.start + 1))
            self.tell("T0212", "the program defines nothing", where, "mark an output with `:=`")
        elif isinstance(last := defined[-1], Define) and last.params is not None:
            hint = "the last definition is the output, unless others are marked with `:=`"
            place = place_of(last.span, last.name)
            self.tell("T0212", "the program has no output: a function is not one", place, hint)

    def check_space(self, space: str, statement: Statement) -> None:
        """A space is one of the language's, or declared."""
        if space not in self.spaces:
            span = place_of(statement.span, space, -1)
            self.tell("T0210", f"there is no space {quoted(space)}", span, self.similar(space, self.spaces))

    def unique(self, names: Iterable[str], span: Span) -> None:
        """No name stands twice among parameters or coordinates."""
        seen: set[str] = set()
        for name in names:
            if name in seen:
                self.tell("T0211", f"{quoted(name)} is named twice", place_of(span, name, 1))
            seen.add(name)

    def similar(self, name: str, candidates: Iterable[str]) -> str | None:
        """A hint that names what was perhaps meant."""
        from difflib import get_close_matches

        if len(self.found) > _MOST_HINTS or len(name) > 60:
            return None
        apart = max(1, len(name) // 3)
        usable = [c for c in candidates if abs(len(c) - len(name)) <= apart][:_MOST_CANDIDATES]
        close = get_close_matches(name, usable, 1, 0.74) or [c for c in usable if c.lower() == name.lower()]
        return f"did you mean `{close[0]}`?" if close else None


def _lengths(statement: Input) -> list[Name]:
    """The names in a declared shape that stand for lengths."""
    found: list[Name] = []
    waiting = [e for e in statement.shape if not isinstance(e, Ellipsis)]
    while waiting:
        match waiting.pop():
            case Name() as name:
                found.append(name)
            case Call(args=args):
                waiting.extend(args)
            case other:
                waiting.extend(children(other))
    return found


def _is_function(value: Expr) -> bool:
    """Whether an expression, as written, gives a function.  A name may stand for one."""
    match value:
        case Lambda() | OperatorName() | Compose() | Name():
            return True
        case Call(args=args):
            return any(isinstance(arg, Star) for arg in args)
        case _:
            return False
