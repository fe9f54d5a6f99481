"""Names: what can be known about a program's names without knowing any value or shape.

Unknown names, calls with the wrong number of arguments, names defined twice or in terms of themselves,
``*`` where no element is meant.  Types, shapes and the sense of attributes are the elaborator's.  The
walk keeps its own stack, and tells everything it finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Fix, Label, Span, quoted
from tolcost.syntax import tree
from tolcost.syntax.beginners import ARGUMENTS, FUNCTIONS, MEMBERS
from tolcost.syntax.declarations import (
    BINDERS,
    BUILTINS,
    CONSTANTS,
    Declarations,
    Definition,
    KnownNames,
    NameScope,
    Signature,
    Sort,
    cycles,
    is_global,
    place_of,
)

_KNOWN_INSIDE: Mapping[Sort, str] = {
    "parameter": "the function whose parameter it is",
    "coordinate": "the `map` or `reduce` whose coordinate it is",
    "value": "the block that defines it",
}
"""Where names of other scopes are known, in words."""


def resolve(
    program: tree.Module,
    known: KnownNames | None = None,
    library: bool = False,
    others: Iterable[str] = (),
) -> tuple[Diagnostic, ...]:
    r"""All mistakes in the names of a program, in the order of its text.

    ``known`` are names from elsewhere: the definitions of libraries in use, and operators; ``others`` are
    operators that are not mentioned, but perhaps meant.  A library needs no output.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> [d.message for d in resolve(parse(Source("demo", "tol x: R [n]\ny := map(x, exq(*))")))]
    ['there is no function `exq`']
    """
    resolver = _resolved(program, known)
    if not library:
        resolver.check_output(program)
    resolver.tell_unknown({name.lower(): name for name in others} if resolver.unknown else {})
    found = [*resolver.found, *cycles(resolver.definitions)]
    return tuple(sorted(found, key=lambda d: d.span.start))


@dataclass(frozen=True, slots=True)
class Occurrences:
    """A name of a program: where it is defined, and where it is mentioned."""

    name: str
    sort: Sort
    place: Span
    uses: tuple[Span, ...]
    statement: Span
    """What defines it."""


def occurrences(program: tree.Module, known: KnownNames | None = None) -> tuple[Occurrences, ...]:
    r"""All that a program defines, in the order of its text; one name may be defined in several scopes.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> found = occurrences(parse(Source("demo", "tol x: R [n]\ny := map(x, f(*))\nf(x) = x + 1")))
    >>> [(one.name, one.sort, len(one.uses)) for one in found][2:]
    [('y', 'value', 0), ('f', 'function', 1), ('x', 'parameter', 1)]
    """
    uses = _resolved(program, known).uses
    filled = {place for one, places in uses.items() if one.fills for place in places}
    found = [
        Occurrences(one.name, one.sort, one.place, tuple(places), one.span)
        for one, places in uses.items()
        if one.place not in filled or one.fills
    ]
    return tuple(sorted(found, key=lambda one: one.place.start))


def unused(program: tree.Module) -> tuple[Diagnostic, ...]:
    r"""A warning for each definition that nothing mentions and that is no output.

    >>> from tolcost.diagnostics import Source
    >>> from tolcost.syntax.parser import parse
    >>> [d.message for d in unused(parse(Source("demo", "tol x: R [n]\nk = 2\ny := map(x, exp)")))]
    ['`k` is never used']
    """
    defined = [s for s in program.statements if isinstance(s, tree.Define | tree.Unpack)]
    marked = [s for s in defined if isinstance(s, tree.Define) and s.output] or defined[-1:]
    outputs = {statement.span for statement in marked}
    return tuple(
        Diagnostic("T0218", f"{quoted(one.name)} is never used", one.place, severity="warning")
        for one in occurrences(program)
        if one.sort in ("value", "function") and not one.uses and one.statement not in outputs
    )


def _resolved(program: tree.Module, known: KnownNames | None) -> _Resolver:
    resolver = _Resolver(known or {})
    top = resolver.declare_all(program)
    for definition in top.names.values():
        resolver.uses.setdefault(definition, [])
    for statement in program.statements:
        resolver.check(statement, top)
    resolver.walk()
    return resolver


class _Resolver(Declarations):
    def __init__(self, known: KnownNames) -> None:
        super().__init__(known)
        self.unknown: dict[str, tuple[bool, tree.Name, NameScope]] = {}
        self.waiting: list[tuple[tree.Expr, NameScope]] = []

    # ---- statements

    def check(self, statement: tree.Statement, scope: NameScope) -> None:
        """The parts of a statement: spaces at once, expressions later."""
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
            self._body(statement, scope)
        else:
            self._later(tree.children(statement), scope)

    def _body(self, statement: tree.Define | tree.Unpack, scope: NameScope) -> None:
        """The value of a definition, in the scope of its parameters."""
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
        """Look at all expressions there are."""
        while self.waiting:
            expr, scope = self.waiting.pop()
            self._visit(expr, scope)

    def _later(self, exprs: Iterable[tree.Expr | tree.Ellipsis], scope: NameScope) -> None:
        self.waiting.extend((e, scope) for e in exprs if not isinstance(e, tree.Ellipsis))

    def _visit(self, expr: tree.Expr, scope: NameScope) -> None:
        match expr:
            case tree.Name():
                self._value(expr, scope)
            case tree.Star() if not scope.star:
                hint = "`*` is the current element of a `map` or `reduce`"
                self.tell("T0206", "`*` stands outside of any `map` or `reduce`", expr.span, hint)
            case tree.Call():
                self._call(expr, scope)
            case tree.Compose(functions=functions):
                self._composed(functions, scope)
            case tree.Arrow(params=params, body=body):
                self.unique(params, expr.span)
                self._later((body,), NameScope(scope, scope.star, None, self._parameters(params, expr.span)))
            case tree.BlockExpr():
                self._block(expr, NameScope(scope, scope.star))
            case tree.ListSubscript(item=tree.Splice(span=span)):
                self.tell("T0207", "a list has one index, so nothing can be spliced there", span)
            case _:
                self._later(tree.children(expr), scope)

    def _block(self, block: tree.BlockExpr, inner: NameScope) -> None:
        for statement in block.statements:
            self.declare(statement, inner)
        for definition in inner.names.values():
            self.uses.setdefault(definition, [])
        for statement in block.statements:
            self._body(statement, inner)
        self._later((block.result,), inner)

    def _value(self, name: tree.Name, scope: NameScope) -> None:
        for definition, owner in scope.lookups(name.name):
            self._note(owner, definition, name.span)
            return
        if not is_global(name.name, self.known) and name.name not in self.spaces:
            self._unknown(name, scope, is_function=False)

    def _call(self, call: tree.Call, scope: NameScope) -> None:
        signature = None
        function = call.function
        if isinstance(function, tree.Name):
            signature = self._function(function, scope, call)
        else:
            self._later((function,), scope)
        place = BINDERS.get(function.name) if isinstance(function, tree.Name) else None
        if place is not None and signature is not None:
            self._bound(call, place, scope)
        else:
            self._later((a for a in call.args if not isinstance(a, tree.Star)), scope)
        self._later((value for _, value in call.named), scope)

    def _composed(self, functions: tuple[tree.Expr, ...], scope: NameScope) -> None:
        last = functions[-1]
        member = last.name if isinstance(last, tree.Name) else ""
        for function in functions:
            if isinstance(function, tree.Name):
                self._function(function, scope, None, MEMBERS.get(member))
            else:
                self._later((function,), scope)

    def _bound(self, call: tree.Call, place: int, scope: NameScope) -> None:
        """``map`` and ``reduce``: their body sees ``*`` and the coordinates that are named after it."""
        coordinates = call.args[place] if len(call.args) > place else None
        names = self._coordinates(coordinates)
        self.unique((n.name for n in names), coordinates.span if coordinates else call.span)
        bound = self._local(Definition(n.name, "coordinate", n.span) for n in names)
        for index, arg in enumerate(call.args[:place]):
            inner = NameScope(scope, True, None, bound) if index == 1 else scope
            if not isinstance(arg, tree.Star) or inner.star:
                self._later((arg,), inner)

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

    def _function(
        self, name: tree.Name, scope: NameScope, call: tree.Call | None, hint: str | None = None
    ) -> Signature | None:
        """What a name in call position means: the nearest function of that name; ``hint`` if it is none."""
        hidden: Definition | None = None
        for definition, owner in scope.lookups(name.name):
            builtin = name.name in BUILTINS or name.name in self.known
            if definition.maybe_function and not (definition.sort == "value" and builtin):
                self._note(owner, definition, name.span)
                if definition.arity is not None:
                    self._count(name, Signature(definition.arity, definition.arity), call, definition)
                return None
            hidden = hidden or definition
        signature = self.known.get(name.name) or BUILTINS.get(name.name)
        if signature is not None:
            self._count(name, signature, call, None)
        elif hidden is not None or name.name in CONSTANTS:
            label = (Label(hidden.place, f"this {hidden.sort}"),) if hidden else ()
            indexed = hidden is not None and hidden.sort in ("input", "zeros") and len(name.name) < 40
            hint = hint or (f"an element is selected with `{name.name}[i]`" if indexed else None)
            fix = _indexed(name, call) if indexed and call is not None else None
            self.tell("T0205", f"{quoted(name.name)} is not a function", name.span, hint, label, fix)
        elif name.name not in self.known:
            self._unknown(name, scope, is_function=True)
        return signature

    def _count(
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
            self.tell("T0208", message, call.span, hint, label, _renamed(call, wrong[0], meant))
        count = len(call.args)
        if any(isinstance(a, tree.Splice) for a in call.args):
            return
        if not signature.takes(count if not call.named else max(count, signature.low)):
            message = f"{quoted(name.name)} takes {signature}, not {count}"
            hint = ARGUMENTS.get(name.name) if own is None and count < signature.low else None
            self.tell("T0203", message, call.span, hint, label)

    def _unknown(self, name: tree.Name, scope: NameScope, is_function: bool) -> None:
        """Remember the first use of an unknown name."""
        first = self.unknown.get(name.name)
        if first is None or name.span.start < first[1].span.start:
            self.unknown[name.name] = is_function, name, scope

    def tell_unknown(self, others: Mapping[str, str]) -> None:
        """Tell of the unknown names, of each once; ``others`` are operators by name in small letters."""
        for is_function, name, scope in self.unknown.values():
            told = f"there is {'no function' if is_function else 'nothing named'} {quoted(name.name)}"
            if name.name == "iter":
                self.tell("T0201", told, name.span, "name the coordinates after the body: `map(t, f(i), i)`")
                continue
            if name.name in FUNCTIONS:
                self.tell("T0201", told, name.span, FUNCTIONS[name.name])
                continue
            operators = [others[small]] if (small := name.name.lower()) in others else []
            otherwise = None if is_function else self._how_to_know(name.name)
            candidates = (*scope.visible(), *BUILTINS, *CONSTANTS, *self.known, *operators)
            self.tell_meant("T0201", told, name.span, name.name, candidates, otherwise)

    def _how_to_know(self, name: str) -> str:
        """What can be done about a value of no name: it is another scope's, or is to come from outside."""
        inner = next((one.sort for one in self.uses if one.name == name and one.sort in _KNOWN_INSIDE), None)
        if inner is not None:
            return f"it is known only inside of {_KNOWN_INSIDE[inner]}"
        return f"`attr {name}: N` takes a number from outside, and `tol {name}: R [n]` data"

    def _parameters(self, names: Iterable[str], span: Span) -> dict[str, Definition]:
        return self._local(Definition(name, "parameter", span) for name in names)

    def _local(self, definitions: Iterable[Definition]) -> dict[str, Definition]:
        """The names of a scope of their own."""
        found = {definition.name: definition for definition in definitions}
        self.uses.update((definition, []) for definition in found.values())
        return found

    def _note(self, owner: Definition | None, needed: Definition, span: Span) -> None:
        """Remember where a definition is mentioned, and which other needs it: not the ToL that it fills."""
        self.uses.setdefault(needed, []).append(span)
        if owner is not None and not (owner is needed and owner.fills):
            owner.needs.setdefault(needed, span)


def _indexed(name: tree.Name, call: tree.Call) -> Fix | None:
    """A call of what is no function as the selection of an element."""
    span = Span(call.span.source, name.span.end, call.span.end)
    inside = span.text.strip()
    if call.named or not call.args or inside[:1] != "(":
        return None
    return Fix("Write `[ ]`", span, f"[{inside[1:-1]}]")


def _renamed(call: tree.Call, wrong: str, meant: str | None) -> Fix | None:
    """A named argument under the name that was meant."""
    span = call.span
    place = re.compile(rf"(?<!\w){re.escape(wrong)}(?=\s*:)").search(span.source.text, span.start, span.end)
    if meant is None or place is None:
        return None
    return Fix(f"Write `{meant}`", Span(span.source, *place.span()), meant)
