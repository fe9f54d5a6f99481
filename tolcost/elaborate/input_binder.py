"""What a program declares, bound to what it is given: inputs, attributes, and the lengths they mention."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tolcost.algebra import (
    Cond,
    Poly,
    exact_div,
    length,
)
from tolcost.algebra.substitute import symbols_of
from tolcost.atoms.nodes import Input as InputNode
from tolcost.atoms.nodes import Part, Type
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import on_one_line, quoted
from tolcost.elaborate.arguments import kind_of_declared, length_for
from tolcost.elaborate.bounds import CODE as BOUNDS_CODE
from tolcost.elaborate.bounds import check_within
from tolcost.elaborate.context import Env, Lazy
from tolcost.elaborate.evaluate import evaluate
from tolcost.elaborate.expressions import as_length, asked_known, is_callable_name, mentioned
from tolcost.elaborate.faults import fail
from tolcost.elaborate.layout import check_rank, check_sequence, check_size
from tolcost.elaborate.shapes import shape_text, unify
from tolcost.elaborate.static_numbers import truth
from tolcost.elaborate.values import (
    Argument,
    Cast,
    Data,
    Inputs,
    Missing,
    Opaque,
    Seq,
    Spaces,
    Tensor,
    Value,
    Vec,
    plain,
    shape_given,
)
from tolcost.spaces import Bounds, bounds_of, kind_of, narrowed
from tolcost.syntax import tree

_TRUTHS = Bounds(0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class InputBinder:
    """Gives declared inputs, and the lengths their shapes mention, their values in ``names``.

    ``env`` sees the program's definitions too, so that a declared shape may mention them.
    """

    program: tree.Module
    env: Env
    names: dict[str, Lazy | Value]
    inputs: dict[str, list[InputNode]] = field(default_factory=dict)

    def bind(self, given: dict[str, Argument]) -> tuple[InputNode, ...]:
        """Bind everything declared; what is used of ``given`` is taken out of it."""
        declared = [s for s in self.program.statements if isinstance(s, tree.InputDecl)]
        self.env.context.declared.update((s.name, s.span) for s in declared)
        arguments = {s.name: given.pop(s.name, None) for s in declared}
        for statement in declared:
            check_rank(statement.shape, statement.span)
        told = [s for s in declared if arguments[s.name] is not None]
        for statement in told:
            self._name_lengths(statement, arguments[statement.name])
        self._open_lengths(declared, arguments)
        # Attributes and static inputs first: the shapes of the others may depend on them.
        for statement in sorted(declared, key=lambda s: s.kind == "tol"):
            self._bind_one(statement, arguments[statement.name])
        for statement in told:
            self._equate(statement, arguments[statement.name])
        return tuple(node for statement in declared for node in self.inputs.get(statement.name, ()))

    def _name_lengths(self, statement: tree.InputDecl, argument: Argument | None) -> None:
        """A length declared by a plain name is what is given there, whichever input comes first."""
        shape = shape_given(argument) or ()
        self.env.context.lengths.update(s.name for d in shape for s in symbols_of(d))
        for entry, actual in _pairs(statement, shape_given(argument)):
            if isinstance(entry, tree.Name):
                self.names.setdefault(entry.name, actual)

    def _open_lengths(self, declared: list[tree.InputDecl], arguments: dict[str, Argument | None]) -> None:
        """A name that nothing defines, in a declared shape, is a length of that name."""
        inputs = {s.name for s in declared}
        for statement in declared:
            if arguments[statement.name] is None and (statement.optional or statement.variadic):
                continue
            given = dict(_pairs(statement, shape_given(arguments[statement.name])))
            for entry in statement.shape:
                names = [] if isinstance(entry, tree.Ellipsis) else mentioned(entry)
                for name in names:
                    if name not in inputs and not _is_defined(self.env, name):
                        self.names[name] = length(name)
                        self.env.context.lengths.add(name)
                        if names == [name] and entry in given:
                            self.names[name] = self._part(length(name), entry, given[entry])

    def _part(self, unknown: Poly, entry: tree.Expr, actual: Poly) -> Poly:
        """A length of which so many times are given, as of ``2 * r`` pads; else the unknown itself."""
        declared = as_length(self.env, evaluate(self.env, entry), entry.span)
        times = exact_div(declared, unknown)
        part = None if times is None or times.constant is None else exact_div(actual, times)
        return unknown if part is None else part

    def _bind_one(self, statement: tree.InputDecl, argument: Argument | None) -> None:
        self.names[statement.name] = self._value(statement, argument)

    def _value(self, statement: tree.InputDecl, argument: Argument | None) -> Value:
        if argument is None or isinstance(argument, Missing):
            return self._absent(statement)
        if statement.variadic and not isinstance(argument, (Seq, Inputs)):
            argument = Inputs((argument,))
        return self._one(statement, argument, statement.name)

    def _one(self, statement: tree.InputDecl, argument: Argument, name: str) -> Value:
        if isinstance(argument, Inputs):
            check_sequence(len(argument.items), statement.span)
            items = enumerate(argument.items, start=1)
            return Seq(tuple(self._one(statement, item, f"{name}.{n}") for n, item in items))
        if not isinstance(argument, Tensor):
            return self._static(statement, argument)
        if statement.kind == "static" and not self._may_be_late(statement):
            hint = f"a program that asks `known({statement.name})` may also be given it as data"
            fail("T0413", f"the value of `{name}` must be known while compiling", statement.span, hint)
        return Data(self._input(statement, name, (Part(argument.shape, argument.space),)))

    def _input(self, statement: tree.InputDecl, name: str, parts: Type) -> InputNode:
        node = InputNode(name, parts, self._within(statement))
        self.inputs.setdefault(statement.name, []).append(node)
        return node

    def _may_be_late(self, statement: tree.InputDecl) -> bool:
        """Whether the program asks if it knows a static input, and so has an answer where it does not."""
        return statement.name in asked_known(self.program)

    def _static(self, statement: tree.InputDecl, argument: Value) -> Value:
        """A static value, which lies in the space that is declared; a truth value is 0 or 1."""
        own = _TRUTHS if statement.space == "B" else bounds_of(statement.space)
        bounds = self._within(statement) or (own,)
        check_within(self.env, argument, statement.space, bounds[0], statement.span, statement.name)
        value = _static_argument(statement, argument)
        self.env.context.arguments.append((statement.name, value))
        return value

    def _within(self, statement: tree.InputDecl) -> tuple[Bounds, ...]:
        """The bounds of a space of the program's own."""
        found = self.env.nearest(statement.space)
        return found.within if isinstance(found, Spaces) else ()

    def _equate(self, statement: tree.InputDecl, argument: Argument | None) -> None:
        """What a declared shape says and what is given are the same."""
        items = argument.items if isinstance(argument, Inputs) else (argument,)
        for item in items:
            for entry, actual in _pairs(statement, shape_given(item)):
                self._equate_length(statement, entry, actual)

    def _equate_length(self, statement: tree.InputDecl, entry: tree.Expr, actual: Poly) -> None:
        declared = self.names.get(entry.name) if isinstance(entry, tree.Name) else None
        if not isinstance(declared, Poly):
            declared = as_length(self.env, evaluate(self.env, entry), entry.span)
        so = f"`{statement.name}` is declared so"
        unify(self.env, actual, declared, so, entry.span, lambda: f"{so}: `{on_one_line(statement.span)}`")

    def _absent(self, statement: tree.InputDecl) -> Value:
        if statement.default is not None:
            return self._static(statement, evaluate(self.env, statement.default))
        if statement.optional:
            return Missing(statement.name)
        if statement.variadic:
            fail(
                "T0414",
                f"how many `{statement.name}` there are must be said",
                statement.span,
                hint="give their shapes",
            )
        if statement.kind == "tol":
            return self._symbolic(statement)
        if statement.shape or statement.kind == "static":
            return self._symbolic_vector(statement)
        return self._symbolic_attribute(statement)

    def _symbolic(self, statement: tree.InputDecl) -> Value:
        if any(isinstance(entry, tree.Ellipsis) for entry in statement.shape):
            fail(
                "T0408",
                f"the rank of `{statement.name}` is not declared",
                statement.span,
                hint=f"say its shape: --shape {statement.name}=n,m",
            )
        shape = tuple(
            as_length(self.env, evaluate(self.env, e), e.span)
            for e in statement.shape
            if not isinstance(e, tree.Ellipsis)
        )
        node = self._input(
            statement, statement.name, tuple(Part(shape, s) for s in self._declared_spaces(statement))
        )
        return Data(node)

    def _declared_spaces(self, statement: tree.InputDecl) -> tuple[str, ...]:
        found = self.env.nearest(statement.space)
        return found.names if isinstance(found, Spaces) else (statement.space,)

    def _symbolic_vector(self, statement: tree.InputDecl) -> Value:
        sizes = [
            as_length(self.env, evaluate(self.env, e), e.span).constant
            for e in statement.shape
            if not isinstance(e, tree.Ellipsis)
        ]
        if len(sizes) > 1 or None in sizes:
            fail(
                "T0413",
                f"the value of `{statement.name}` must be known while compiling",
                statement.span,
                hint=f"give it: --attr {statement.name}=...",
            )
        if not sizes:
            return length_for(statement, statement.name)
        count = sizes[0] or 0
        check_size(count, statement.span)
        names = (self.env.context.unused(f"{statement.name}{n + 1}") for n in range(count))
        return Vec((count,), tuple(length_for(statement, name) for name in names))

    def _symbolic_attribute(self, statement: tree.InputDecl) -> Value:
        kind = kind_of_declared(statement.space)
        if kind == "Z":
            return length_for(statement, statement.name)
        if kind in ("B", "S"):
            fail(
                "T0413",
                f"the value of `{statement.name}` must be known while compiling",
                statement.span,
                hint=f"give it: --attr {statement.name}=...",
            )
        node = self._input(statement, statement.name, (Part((), statement.space),))
        return Opaque(node, statement.space)


def _pairs(statement: tree.InputDecl, shape: tuple[Poly, ...] | None) -> list[tuple[tree.Expr, Poly]]:
    """Declared lengths beside the actual ones, where those are known; an ellipsis takes the rest."""
    if shape is None:
        return []
    declared = statement.shape
    gap = next((n for n, e in enumerate(declared) if isinstance(e, tree.Ellipsis)), None)
    head = declared if gap is None else declared[:gap]
    tail = () if gap is None else declared[gap + 1 :]
    if len(shape) < len(head) + len(tail) or (gap is None and len(shape) != len(head)):
        fail(
            "T0328",
            f"`{statement.name}` is declared with {len(head) + len(tail)} lengths, "
            f"but has shape {shape_text(shape)}",
            statement.span,
        )
    pairs = [*zip(head, shape, strict=False), *zip(tail, shape[len(shape) - len(tail) :], strict=True)]
    return [(e, d) for e, d in pairs if not isinstance(e, tree.Ellipsis)]


def _is_defined(env: Env, name: str) -> bool:
    return env.nearest(name) is not None or is_callable_name(env, name)


def _static_argument(statement: tree.InputDecl, value: Value) -> Value:
    """A static value in the space its input declares: truth values for B, exact reals for R."""
    if isinstance(value, Cast):
        return (
            value
            if kind_of(value.space) == "Z"
            else Cast(_static_argument(statement, value.value), value.space)
        )
    if isinstance(value, Vec):
        return Vec(value.shape, tuple(_static_argument(statement, v) for v in value.items), value.loose)
    if statement.space == "B" and not isinstance(value, (Cond, Data)):
        return truth(value) or value
    if (
        isinstance(value, Poly)
        and value.constant is not None
        and kind_of_declared(statement.space) == "R"
        and statement.kind == "attr"
    ):
        return Fraction(value.constant)
    return value


# ---- spaces of a program's own -------------------------------------------------------------------


def declared_spaces(env: Env, program: tree.Module) -> dict[str, Lazy | Value]:
    """Spaces and lists that a program declares, each standing for the spaces it is made of."""
    spaces: dict[str, Lazy | Value] = {}
    for statement in program.statements:
        match statement:
            case tree.SpaceDecl(name=name, space=space):
                found = _made_of(spaces, (space,))
                spaces[name] = Spaces(
                    found.names, tuple(_with_bounds(env, statement, b) for b in found.within)
                )
            case tree.ListDecl(name=name, spaces=names):
                spaces[name] = _made_of(spaces, names)
            case _:
                pass
    return spaces


def _made_of(known: Mapping[str, Lazy | Value], names: tuple[str, ...]) -> Spaces:
    found = [known.get(name, Spaces((name,), (bounds_of(name),))) for name in names]
    lists = [one for one in found if isinstance(one, Spaces)]
    return Spaces(
        tuple(name for one in lists for name in one.names), tuple(b for one in lists for b in one.within)
    )


def _with_bounds(env: Env, statement: tree.SpaceDecl, base: Bounds) -> Bounds:
    if statement.low is None or statement.high is None:
        return base
    low, high = (_number(env, end) for end in (statement.low, statement.high))
    if low > high or low not in base or high not in base:
        message = f"{quoted(statement.name)} has no bounds in {statement.space}: {low} and {high}"
        fail(BOUNDS_CODE, message, statement.span, hint=f"a lower and an upper one, {base}")
    return narrowed(base, Bounds(low, high))


def _number(env: Env, expr: tree.Expr) -> int | float | Fraction:
    match plain(evaluate(env, expr)):
        case Poly(constant=int(number)):
            return number
        case Fraction() | float() as number:
            return number
        case _:
            pass
    fail(BOUNDS_CODE, "a bound of a space is a number", expr.span, hint="space pixel: N [0, 255]")
