"""A program of the atomic IR as ToLang: the text, read again, gives a program with the same counts.

Each binding of the program is a statement, each binding inside of a block one of a block in braces. Names are
those of the program, made different from one another. What ToLang cannot say is refused, such as a complex
number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from fractions import Fraction
from functools import partial
from math import isinf, isnan
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    LARGEST_LENGTH,
    And,
    Cond,
    Eq,
    Exponential,
    Floor,
    Ge,
    Generator,
    Log2,
    Logic,
    Not,
    Or,
    Poly,
    Relu,
    Symbol,
    Truth,
    cond_text,
    exact_div,
    is_nonnegative,
)
from tolcost.algebra.poly import UNIT, affine_parts
from tolcost.algebra.walk import Rule, RuleTable
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import defined_length, program_nodes, program_symbols
from tolcost.atoms.nodes import Block, Condition, Constant, Node, Program, Type, Var
from tolcost.diagnostics import Source, refuse
from tolcost.elementary import FUNCTIONS, INFIX
from tolcost.spaces import SPACES
from tolcost.syntax import parse
from tolcost.syntax.format import format_program
from tolcost.syntax.names import CONSTANTS

_TAKEN = frozenset(
    (*CONSTANTS, "tol", "static", "attr", "list", "space", "use", "operator", "and", "or", "xor", "not")
)
"""Words that are no names of values; a function's name may be one, as only calls mean the function."""
_LETTERS = "ijkluvqrst"
_SIGNS = {function: sign for sign, function in INFIX.items()}
_LEVELS = {
    **dict.fromkeys(("or", "xor"), 1),
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/%", 5),
    "^": 6,
}
_ATOM = 9
"""The level of what needs no brackets."""


class Printed(Struct, frozen=True):
    """A piece of a program, and how tightly it binds."""

    text: str
    level: int = _ATOM

    def at(self, level: int) -> str:
        """Return the text, in brackets if it binds less tightly than asked for."""
        return self.text if self.level >= level else f"({self.text})"


def tolang(program: Program, comment: str = "") -> str:
    """Print a program as ToLang, in the canonical layout."""
    writer = _Writer()
    text = writer.program(program, comment)
    return format_program(parse(Source(f"{program.name}.tol", text)))


class _Writer(Struct):
    names: dict[Var, str] = field(default_factory=dict)
    symbols: dict[Symbol, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: set(_TAKEN))
    spaces: dict[str, str] = field(default_factory=dict)
    """Other names of spaces, where a value has the name of the space."""

    # ---- statements ------------------------------------------------------------------------

    def program(self, program: Program, comment: str) -> str:
        """Return the statements of a program."""
        lines = [f"# {line}".rstrip() for line in comment.splitlines()]
        used = program_symbols(replace(program, conditions=(), symbols=()))
        lengths = [s for s in used if s.kind != "coord"]
        given = {s for one in program.inputs for part in one.type for n in part.shape for s in n.free}
        defined = set(map(defined_length, program_nodes(program)))
        for symbol in sorted(lengths, key=lambda s: s.key):
            if symbol.kind == "data" and symbol not in given:
                if symbol in defined:
                    continue  # its name is that of the node that defines it
                refuse("T0904", f"the length {symbol.name} is decided by data, and has no name in ToLang")
            self.symbols[symbol] = self.fresh(symbol.name)
        for needed in program.inputs:
            self.inputs[needed.name] = self.fresh(needed.name)
        outputs = {out.name: self.fresh(out.name) for out in program.outputs}
        lines += [f"# where {cond_text(one.condition)}" for one in program.conditions]
        lines += self.declared(program)
        for space in sorted(self.taken & SPACES.keys()):
            self.spaces[space] = self.fresh(f"space_{space}")
            lines.append(f"space {self.spaces[space]}: {space}")
        results = {out.node.var: outputs[out.name] for out in program.outputs if isinstance(out.node, ir.Ref)}
        order = [results[var] for var, _ in program.bindings if var in results]
        if order != list(outputs.values())[: len(order)]:  # outputs come in the order of their lines
            results = {}
        printed = set()
        for var, node in program.bindings:
            name = results.get(var)
            if name is None or name in printed:
                name = self.fresh(var.name)
                lines.append(f"{name} = {self.kept(node)}")
            else:
                printed.add(name)
                lines.append(f"{name} := {self.kept(node)}")
            self.names[var] = name
            self.note_length(node, name)
        for out in program.outputs:
            if outputs[out.name] not in printed:
                lines.append(f"{outputs[out.name]} := {self.kept(out.node)}")
        return "\n".join(lines) + "\n"

    def note_length(self, node: Node, name: str) -> None:
        """Note how the length that a node defines is written, if it has no name of its own."""
        if isinstance(node, (ir.Filter, ir.Length)):
            self.symbols.setdefault(node.length, f"|{name}|[1]" if node.type[0].shape else name)

    def declared(self, program: Program) -> list[str]:
        """Return the declarations of lengths that inputs do not say all of, of list spaces, and of inputs."""
        lines: list[str] = []
        shapes = [length for one in program.inputs for part in one.type for length in part.shape]
        plain = {symbol for shape in shapes for symbol in shape.free}
        for symbol, name in self.symbols.items():
            low = None if symbol.lo is None else symbol.lo.constant
            if symbol in plain and low == 1:
                continue
            share = _quotient(symbol, program.conditions, set(self.symbols) - {symbol})
            if share is not None:
                top, bottom = share
                lines.append(f"{name} = exact({self.poly(top).text}, {bottom})")
                continue
            lines.append(f"attr {name}: {'N*' if low == 1 else 'N' if low == 0 else 'Z'}")
        for needed in program.inputs:
            name = self.inputs[needed.name]
            space = needed.type[0].space
            if len(needed.type) > 1:
                if len({part.shape for part in needed.type}) > 1:
                    refuse("T0904", f"the components of the input {needed.name} differ in shape")
                space = self.fresh(f"{name}_parts")
                lines.append(f"list {space}: {', '.join(part.space for part in needed.type)}")
            shape = ", ".join(self.poly(length).text for length in needed.type[0].shape)
            lines.append(f"tol {name}: {space}" + (f" [{shape}]" if needed.type[0].shape else ""))
        return lines

    def fresh(self, wanted: str) -> str:
        """Return a name that is not taken, and take it."""
        base = re.sub(r"\W+", "_", wanted)
        if not base.strip("_0123456789"):
            base = "t"
        if base[0].isdigit() or base[0] == "_":
            base = f"t{base}"
        name, number = base, 2
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name

    def free_letter(self, wanted: str, letters: str) -> str:
        """Return a name if it is not taken, else another letter that is not, if there is one."""
        if wanted not in self.taken:
            return wanted
        return next((letter for letter in letters if letter not in self.taken), wanted)

    # ---- blocks ----------------------------------------------------------------------------

    def block(self, block: Block) -> Printed:
        """Return a block: its result alone if it binds nothing."""
        if not block.bindings:
            return self.node(block.result)
        before = set(self.taken)
        rows = []
        for var, node in block.bindings:
            text = self.node(node).text
            name = self.names[var] = self.fresh(var.name)
            rows.append(f"{name} = {text}")
            self.note_length(node, name)
        rows.append(self.node(block.result).text)
        self.taken = before
        return Printed(f"{{ {'; '.join(rows)} }}".replace("; ", "\n"))

    def bound(self, coords: Sequence[Symbol]) -> list[str]:
        """Return names of coordinates, which are free again outside."""
        found = []
        for symbol in coords:
            self.symbols[symbol] = self.fresh(self.free_letter(symbol.name, _LETTERS))
            found.append(self.symbols[symbol])
        return found

    def build(self, node: ir.Build) -> Printed:
        """Return a ``map`` over a range."""
        before = set(self.taken)
        domain = self.domain(node.extents)
        coords = self.bound(node.coords)
        result = node.body.result
        plain = isinstance(result, ir.Number) and not node.body.bindings
        body = self.kept(result) if plain else self.block(node.body).text
        self.taken = before
        return Printed(f"map({domain}, {body}, [{', '.join(coords)}])")

    def fold(self, node: ir.Fold) -> Printed:
        """Return a ``reduce`` over a range."""
        if node.ends is not None:
            return self.ended_by_data(node)
        before = set(self.taken)
        start = self.node(node.start).text
        coords, extents = list(node.coords), list(node.extents)
        ragged = [k for k, extent in enumerate(extents) if not extent.free.isdisjoint(coords)]
        if ragged:
            return self.nested(node, ragged[0])
        domain = self.domain(node.extents)
        names = self.bound(node.coords)
        carried, element = self.fresh(self.free_letter("a", "atrc")), self.fresh("z")
        self.names[node.accumulator] = carried
        body = self.block(node.body).text
        self.taken = before
        return Printed(f"reduce({domain}, ({carried}, {element}) => {body}, {start}, [{', '.join(names)}])")

    def ended_by_data(self, node: ir.Fold) -> Printed:
        """Return a ``while``: the first component of what is carried says whether there is another turn."""
        before = set(self.taken)
        start, (turn,) = self.node(node.start).text, self.bound(node.coords)
        carried = self.fresh(self.free_letter("a", "atrc"))
        self.names[node.accumulator] = carried
        body = self.block(node.body).text
        self.taken = before
        most = node.ends.hi if node.ends is not None else None
        limit = "" if most is None or most.constant == LARGEST_LENGTH else f", {self.poly(most).text}"
        return Printed(f"while(({carried}) => {carried}[1]', ({carried}, {turn}) => {body}, {start}{limit})")

    def nested(self, node: ir.Fold, split: int) -> Printed:
        """Return a ``reduce`` inside of another one, for a range that depends on coordinates before it."""
        var = Var(node.accumulator.name, node.accumulator.type)
        inner = ir.Fold(
            node.coords[split:],
            node.extents[split:],
            node.accumulator,
            ir.Ref(var, var.type),
            node.body,
            node.type,
            node.span,
        )
        outer = ir.Fold(
            node.coords[:split], node.extents[:split], var, node.start, Block((), inner), node.type, node.span
        )
        return self.fold(outer)

    def domain(self, extents: Iterable[Poly]) -> str:
        """Return a range as zeros of its shape."""
        return f"tol[{', '.join(map(self.extent, extents))}]"

    def extent(self, extent: Poly) -> str:
        """Return the end of a range; one that coordinates may make negative is empty there."""
        inner = any(symbol.kind == "coord" for symbol in extent.free)
        text = self.poly(extent).text
        return f"max({text}, 0)" if inner and not is_nonnegative(extent) else text

    # ---- nodes -----------------------------------------------------------------------------

    def node(self, node: Node) -> Printed:
        """Return a node."""
        return _FORMS[type(node)](self, node)

    def kept(self, node: Node) -> str:
        """Return a node in a place that does not say which space a number is in."""
        return (self.number(node) if isinstance(node, ir.Number) else self.node(node)).text

    def number(self, node: ir.Number) -> Printed:
        """Return a number with its space."""
        text, space = self.constant(node.value), node.type[0].space
        value = node.value
        if space == "R" and isinstance(value, Poly) and value.constant is not None:
            return Printed(f"{text.text}.0", text.level)
        is_own = isinstance(value, (bool, float)) and space in ("B", "R")
        if is_own or (isinstance(value, Poly) and space == "Z"):
            return text
        return Printed(f"convert({text.text}, {self.space(space)})")

    def space(self, space: str) -> str:
        """Return the name of a space in an expression."""
        return self.spaces.get(space, space)

    def function(self, node: ir.Lambda) -> Printed:
        """Return an application; a number takes its space from data beside it."""
        args = node.args
        beside = any(not isinstance(a, ir.Number) and a.type[0].space == node.space for a in args)
        comparing = FUNCTIONS[node.function].rule == "compare"
        texts = [
            self.number(a) if isinstance(a, ir.Number) and not beside and not comparing else self.node(a)
            for a in args
        ]
        sign = _SIGNS.get(node.function)
        is_static = node.charge == "static"
        if sign is None or len(args) != 2 or sign == "^" or (is_static and sign == "/"):
            name = "div" if sign == "/" else node.function
            return Printed(f"{name}({', '.join(one.text for one in texts)})")
        level = _LEVELS[sign]
        return Printed(f"{texts[0].at(level + (level == 3))} {sign} {texts[1].at(level + 1)}", level)

    def where(self, node: ir.Where) -> Printed:
        """Return a choice on data."""
        sides = [node.then, node.other]
        space = node.type[0].space
        kept = all(isinstance(side, ir.Number) for side in sides) or not any(
            side.type[0].space == space for side in sides if not isinstance(side, ir.Number)
        )
        texts = [self.kept(side) if kept else self.node(side).text for side in sides]
        return Printed(f"where({self.node(node.condition).text}, {', '.join(texts)})")

    def select(self, node: ir.Select) -> Printed:
        """Return a choice by lengths and coordinates, or one by data that computes one side only."""
        sides = [node.then, node.other]
        plain = [isinstance(side.result, ir.Number) and not side.bindings for side in sides]
        texts = []
        for side, is_number in zip(sides, plain, strict=True):
            both = all(plain) and is_number
            texts.append(self.kept(side.result) if both else self.block(side).text)
        if isinstance(node.condition, (Truth, Ge, Eq, And, Or, Not)):
            return Printed(f"where({self.condition(node.condition).text}, {', '.join(texts)})")
        return Printed(f"choose({self.node(node.condition).text}, {', '.join(texts)})")

    def member(self, node: ir.Member) -> Printed:
        """Return an element."""
        return Printed(f"{self.node(node.tol).at(_ATOM)}[{self.index(node.at)}]")

    def index(self, at: Iterable[Poly | Node]) -> str:
        """Return the indices of a list."""
        return ", ".join(self.poly(i).text if isinstance(i, Poly) else self.node(i).text for i in at)

    def table(self, node: ir.Table) -> Printed:
        """Return a table, as nested brackets."""
        space = node.type[0].space
        shape = [length.constant or 0 for length in node.type[0].shape]
        rows = [self.constant(value).text for value in node.values]
        if not rows:
            return Printed(f"map({self.domain(node.type[0].shape)}, convert(0, {self.space(space)}))")
        for length in reversed(shape):
            rows = [f"[{', '.join(rows[k : k + length])}]" for k in range(0, len(rows), length)]
        return Printed(f"convert({rows[0]}, {self.space(space)})")

    def convert(self, node: ir.Convert) -> Printed:
        """Return a conversion."""
        spaces = {part.space for part in node.type}
        if len(spaces) > 1:
            refuse("T0904", "a conversion of a list to several spaces is not printed as ToLang", node.span)
        name = "bitcast" if node.bits else "convert"
        return Printed(f"{name}({self.node(node.value).text}, {self.space(spaces.pop())})")

    # ---- static values ---------------------------------------------------------------------

    def constant(self, value: Constant) -> Printed:
        """Return a static number."""
        match value:
            case Poly():
                return self.poly(value)
            case bool():
                return Printed("true" if value else "false")
            case Fraction():
                sign = "-" if value < 0 else ""
                return Printed(
                    f"{sign}div({abs(value.numerator)}, {value.denominator})", 4 if sign else _ATOM
                )
            case float() if isnan(value):
                return Printed("NaN")
            case float() if isinf(value):
                return Printed("Inf") if value > 0 else Printed("-Inf", 4)
            case float():
                return Printed(_decimal(value), _ATOM if value >= 0 else 4)
            case str():
                return Printed('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"')
            case complex():
                refuse("T0904", "a complex number is not printed as ToLang")
            case _:
                return self.condition(value)

    def poly(self, p: Poly) -> Printed:
        """Return a form in lengths and coordinates."""
        if p.den != 1:
            whole = self.poly(Poly(dict(p.terms)))
            return Printed(f"{whole.at(5)} / {p.den}", 5)
        if not p.terms:
            return Printed("0")
        rows = sorted(p.terms.items(), key=lambda row: (row[1] < 0, not row[0], [g.key for g in row[0]]))
        text, level = "", _ATOM
        for mono, coef in rows:
            factors = [self.power(g, mono.count(g)) for g in dict.fromkeys(mono)]
            if abs(coef) != 1 or mono == UNIT:
                factors.insert(0, Printed(str(abs(coef))))
            several = Printed(" * ".join(factor.at(6) for factor in factors), 5)
            one = several if len(factors) > 1 else factors[0]
            if not text:
                text, level = (one.text, one.level) if coef > 0 else (f"-{one.at(6)}", 4)
            else:
                text, level = f"{text} {'+' if coef > 0 else '-'} {one.at(5)}", 4
        return Printed(text, level)

    def power(self, generator: Generator, times: int) -> Printed:
        """Return a power of a generator."""
        base = FORMULAS[type(generator)](self, generator)
        return base if times == 1 else Printed(f"{base.at(_ATOM)} ^ {times}", 6)

    def condition(self, condition: Cond) -> Printed:
        """Return a condition on lengths and coordinates."""
        return _CONDITIONS.of(condition, lambda p: partial(self.compared, p))

    def compared(self, p: Poly, sign: str) -> Printed:
        """Return a comparison with 0, with no minus sign."""
        plus = Poly({mono: coef for mono, coef in p.terms.items() if coef > 0})
        minus = Poly({mono: -coef for mono, coef in p.terms.items() if coef < 0})
        return Printed(f"{self.poly(plus).at(4)} {sign} {self.poly(minus).at(4)}", 3)


def _quotient(
    symbol: Symbol, conditions: Iterable[Condition], others: Set[Symbol]
) -> tuple[Poly, int] | None:
    """Return the dividend and the divisor of a length that conditions say is a share of another."""
    for one in conditions:
        if isinstance(one.condition, Eq) and symbol in one.condition.p.free:
            parts = affine_parts(one.condition.p, symbol)
            slope = None if parts is None else parts[0].constant
            if parts is not None and slope and parts[1].free <= others:
                return (-parts[1], slope) if slope > 0 else (parts[1], -slope)
    return None


def _decimal(value: float) -> str:
    """Return a number as a numeral that is read as exactly this number, rounded."""
    text = repr(value)
    return text.replace("e+", "e")


def _component(writer: _Writer, node: ir.Component) -> Printed:
    return Printed(f"{writer.node(node.value).at(_ATOM)}[{node.j}]'")


def _pack(writer: _Writer, node: ir.Pack) -> Printed:
    return Printed(f"({', '.join(writer.kept(item) for item in node.items)})")


def _put(writer: _Writer, node: ir.Put) -> Printed:
    at = writer.index(node.at)
    return Printed(f"put({writer.node(node.tol).text}, [{at}], {writer.node(node.value).text})")


def _reshape(writer: _Writer, node: ir.Reshape) -> Printed:
    shape = ", ".join(writer.poly(length).text for length in node.type[0].shape)
    return Printed(f"reshape({writer.node(node.value).text}, [{shape}])")


def _join(writer: _Writer, node: ir.Join) -> Printed:
    return Printed(f"join({writer.node(node.left).text}, {writer.node(node.right).text}, {node.d})")


def _filter(writer: _Writer, node: ir.Filter) -> Printed:
    tol, mask = writer.node(node.tol).text, writer.node(node.mask).text
    if not node.repeats:
        return Printed(f"filter({tol}, {mask})")
    most = None if node.length.hi is None else exact_div(node.length.hi, node.tol.type[0].shape[0])
    if most is None:
        refuse("T0904", "a `repeat` without a most is not printed as ToLang", node.span)
    return Printed(f"repeat({tol}, {mask}, {writer.poly(most).text})")


_CONDITIONS: Logic[Callable[[str], Printed], Printed] = Logic(
    lambda compared: compared(">="),
    lambda compared: compared("=="),
    lambda compared: compared("!="),
    lambda value: Printed("true" if value else "false"),
    lambda parts: Printed(" and ".join(part.at(3) for part in parts), 2),
    lambda parts: Printed(" or ".join(part.at(2) for part in parts), 1),
)
"""The text of conditions on lengths and coordinates."""


def _no_formula(_: _Writer, generator: Generator) -> Printed:
    refuse("T0904", f"the formula {generator} is not printed as ToLang")


FORMULAS: RuleTable[Rule[Printed]] = RuleTable(
    "ToLang",
    {
        Symbol: lambda w, symbol: Printed(w.symbols[symbol]),
        Floor: lambda w, floor: Printed(f"({w.poly(floor.p).at(5)} / {w.poly(floor.q).at(6)})"),
        Relu: lambda w, clip: Printed(f"max({w.poly(clip.p).text}, 0)"),
        Log2: lambda w, log: Printed(f"halvings({w.poly(log.p).text})"),
        Exponential: lambda w, power: Printed(f"{power.base} ^ {w.poly(power.p).at(_ATOM)}", 6),
    },
    otherwise=_no_formula,
)
"""The text of each kind of generator in a formula."""

_FORMS: Mapping[type, Callable[[_Writer, Any], Printed]] = {
    ir.Input: lambda w, node: Printed(w.inputs[node.name]),
    ir.Number: lambda w, node: w.constant(node.value),
    ir.Table: _Writer.table,
    ir.Ref: lambda w, node: Printed(w.names[node.var]),
    ir.Lambda: _Writer.function,
    ir.Where: _Writer.where,
    ir.Member: _Writer.member,
    ir.Component: _component,
    ir.Pack: _pack,
    ir.Join: _join,
    ir.Embed: lambda w, node: Printed(f"embed({w.node(node.value).text})"),
    ir.Build: _Writer.build,
    ir.Fold: _Writer.fold,
    ir.Select: _Writer.select,
    ir.Reshape: _reshape,
    ir.Convert: _Writer.convert,
    ir.Put: _put,
    ir.Filter: _filter,
    ir.Length: lambda w, node: Printed(f"|1..{w.node(node.value).at(6)}|[1]"),
}
"""The text of each kind of node."""

__all__ = ["Printed", "Type", "tolang"]
