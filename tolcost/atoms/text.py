"""The readable text form of a program of the atomic IR, and of an unrolled program.

One line per named value. Bodies of quantifiers and choices are indented below the line that opens them. A
node that is used twice, or would make a line too long, gets a number: unlike a name, the number stands for
its text and counts wherever it is used. The text uses the paper's signs: Λ lambda (Λᵢ on coordinates, Λ₀
static), Π member, ⋈ join, Ξ embed, and Ξ⋈ for a whole Build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct, field

from tolcost.algebra import Poly, Symbol, cond_text, display_names, quoted, to_text
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Indices,
    Schedule,
    ScheduledNode,
    program_symbols,
    regions,
    schedule_block,
    schedule_program,
)
from tolcost.atoms.nodes import Block, Constant, Node, Part, Program, Type, Var
from tolcost.atoms.unroll import Atom, AtomResult, CastOperand, Constants, InputOperand, Operand, Unrolled

WIDTH = 100
"""The length of an expression from which on it gets a line of its own."""


def program_text(program: Program) -> str:
    """Print a program as text."""
    writer = _ProgramWriter(display_names(program_symbols(program)))
    lines = writer.lines
    lines.append(f"program {program.name}")
    lines.extend(f"  {quoted(needed.name)}: {writer.type(needed.type)}" for needed in program.inputs)
    titles = [
        (f"{quoted(output.name)} := ", f"  : {writer.type(output.node.type)}") for output in program.outputs
    ]
    writer.write(schedule_program(program), 1, titles)
    for condition in program.conditions:
        lines.append(f"  where {cond_text(condition.condition, writer.names)}  # {condition.reason}")
    for condition in program.unproved:
        lines.append(f"  run checks {cond_text(condition.condition, writer.names)}  # {condition.reason}")
    return "\n".join(lines) + "\n"


class _ProgramWriter(Struct):
    """The lines printed so far, the names of symbols and variables, and the numbers used."""

    names: Mapping[Symbol, str]
    lines: list[str] = field(default_factory=list)
    vars: dict[Var, str] = field(default_factory=dict)
    taken: Counter[str] = field(default_factory=Counter)
    numbered: int = 0

    # ---- lines ---------------------------------------------------------------------------

    def write(self, plan: Schedule, indent: int, titles: Sequence[tuple[str, str]]) -> None:
        """Print the lines of a schedule; each result is printed with the given prefix and suffix."""
        uses = Counter(k for step in plan.steps for k in step.operands)
        uses.update(plan.roots)
        results = plan.roots[len(plan.roots) - len(titles) :]
        own_line = {k: title for k, title in zip(results, titles, strict=True) if uses[k] == 1}
        texts: list[str] = []
        for k, step in enumerate(plan.steps):
            args = [texts[j] for j in step.operands]
            if k in own_line and regions(step.node) and not step.binds:
                self.open(step.node, args, indent, own_line[k])
                texts.append("")
            else:
                texts.append(self.step(step, args, uses[k], indent))
        for k, (before, after) in zip(results, titles, strict=True):
            if texts[k]:
                self.lines.append(f"{'  ' * indent}{before}{texts[k]}{after}")

    def step(self, step: ScheduledNode, args: list[str], uses: int, indent: int) -> str:
        """Return the text of a step, or its name if it has or needs one."""
        node = step.node
        if not regions(node) and not step.binds:
            text = self.node(node, args)
            if isinstance(node, (ir.Input, ir.Number, ir.Ref)) or (uses <= 1 and len(text) <= WIDTH):
                return text
            name = self.number()
            self.lines.append(f"{'  ' * indent}{name} = {text}")
            return name
        name = self.named(step.binds) if step.binds else self.number()
        self.open(node, args, indent, (f"{name} = ", ""))
        return name

    def open(self, node: Node, args: list[str], indent: int, title: tuple[str, str]) -> None:
        """Print a line for a node, and the blocks inside it below."""
        self.lines.append(f"{'  ' * indent}{title[0]}{self.node(node, args)}{title[1]}")
        for k, region in enumerate(regions(node)):
            if k:
                self.lines.append(f"{'  ' * indent}else")
            self.block(region.block, indent + 1)

    def block(self, block: Block, indent: int) -> None:
        """Print the lines of a block, its result last."""
        self.write(schedule_block(block), indent, [("", "")])

    def named(self, variables: tuple[Var, ...]) -> str:
        """Give the variables of one value an unused name."""
        name = self.fresh(variables[0].name)
        self.vars.update(dict.fromkeys(variables, name))
        return name

    def fresh(self, wanted: str) -> str:
        """Return a name that is different from all others."""
        base = quoted(wanted)
        self.taken[base] += 1
        return base if self.taken[base] == 1 else self.fresh(f"{wanted}_{self.taken[base]}")

    def number(self) -> str:
        """Return the next number."""
        self.numbered += 1
        return f"%{self.numbered}"

    # ---- parts of a line -----------------------------------------------------------------

    def node(self, node: Node, args: list[str]) -> str:
        """Print a node, given the texts of its operands."""
        return _FORMS[type(node)](self, node, args)

    def index(self, at: Indices, computed: list[str]) -> str:
        """Print an index list."""
        texts = iter(computed)
        return ", ".join(to_text(i, self.names) if isinstance(i, Poly) else next(texts) for i in at)

    def table(self, values: Sequence[Constant]) -> str:
        """Print the first entries of a table."""
        return f"[{', '.join(map(self.constant, values[:8]))}{', …' if len(values) > 8 else ''}]"

    def ranges(self, node: ir.Build | ir.Fold) -> str:
        """Print the ranges of a quantifier."""
        pairs = zip(node.coords, node.extents, strict=True)
        return ", ".join(f"{quoted(self.names[s])} ≤ {to_text(e, self.names)}" for s, e in pairs)

    def constant(self, value: Constant) -> str:
        """Print a static numeric."""
        match value:
            case Poly():
                return to_text(value, self.names)
            case bool():
                return "true" if value else "false"
            case float() | complex() | Fraction():
                return str(value)
            case str():
                return repr(value)  # quoted, unlike a name
            case _:
                return cond_text(value, self.names)

    def type(self, types: Type) -> str:
        """Print a type: the spaces and shapes of its components."""
        return ", ".join(map(self.part, types))

    def part(self, part: Part) -> str:
        """Print the type of one component."""
        shape = ", ".join(to_text(length, self.names) for length in part.shape)
        return f"{part.space} [{shape}]" if part.shape else part.space


_CHARGES = {"data": "Λ", "index": "Λᵢ", "static": "Λ₀"}
"""The sign of a function by its charge: only functions on data are unmarked."""

_FORMS: Mapping[type, Callable[[_ProgramWriter, Any, list[str]], str]] = {
    ir.Input: lambda w, node, args: quoted(node.name),
    ir.Number: lambda w, node, args: w.constant(node.value),
    ir.Table: lambda w, node, args: w.table(node.values),
    ir.Ref: lambda w, node, args: w.vars.get(node.var) or quoted(node.var.name),
    ir.Lambda: lambda w, node, args: (
        f"{_CHARGES[node.charge]}({node.function}.{node.space}; {', '.join(args)})"
    ),
    ir.Where: lambda w, node, args: f"{_CHARGES[node.charge]}(where.{node.space}; {', '.join(args)})",
    ir.Member: lambda w, node, args: f"Π({args[0]}; {w.index(node.at, args[1:])})",
    ir.Component: lambda w, node, args: f"Π'({args[0]}; {node.j})",
    ir.Pack: lambda w, node, args: f"({' ⋈̄ '.join(args)})",
    ir.Join: lambda w, node, args: f"({args[0]} ⋈{node.d} {args[1]})",
    ir.Embed: lambda w, node, args: f"Ξ({args[0]})",
    ir.Build: lambda w, node, args: f"Ξ⋈ [{w.ranges(node)}]",
    ir.Fold: lambda w, node, args: (
        f"fold{' while' if node.ends else ''} [{w.ranges(node)}] "
        f"{w.named((node.accumulator,))} from {args[0]}"
    ),
    ir.Select: lambda w, node, args: f"select {args[0] if args else cond_text(node.condition, w.names)}",
    ir.Reshape: lambda w, node, args: f"reshape({args[0]}; {w.type(node.type)})",
    ir.Convert: lambda w, node, args: f"convert({args[0]}; {w.type(node.type)})",
    ir.Put: lambda w, node, args: f"put({args[0]}; {w.index(node.at, args[1:-1])}; {args[-1]})",
    ir.Filter: lambda w, node, args: (
        f"{'repeat' if node.repeats else 'filter'}({args[0]}; {args[1]}; {quoted(w.names[node.length])})"
    ),
    ir.Length: lambda w, node, args: f"length({args[0]}; {quoted(w.names[node.length])})",
}
"""The printer of each kind of node, given the texts of its operands."""


def unrolled_text(unrolled: Unrolled) -> str:
    """Print every atom as a line, then the outputs."""
    lines = [f"%{k + 1} = {atom_text(atom)}" for k, atom in enumerate(unrolled.atoms)]
    lines.extend(f"{quoted(name)} := {operand_text(operand)}" for name, operand, _ in unrolled.outputs)
    return "\n".join(lines) + "\n"


def atom_text(atom: Atom) -> str:
    """Print one atom.

    >>> atom_text(Atom("lambda", (AtomResult(2), AtomResult(4)), ("R",), "add", "R"))
    'Λ(add; %3, %5)'
    """
    args = [operand_text(arg) for arg in atom.args]
    match atom.operation:
        case "lambda":
            return f"Λ({atom.function}; {', '.join(args)})" if args else f"Λ({atom.function})"
        case "norm":
            return f"‖{args[0]}‖"
        case "member" if atom.component:
            return f"Π'({args[0]}; {atom.component})"
        case "member":
            at = (str(i) if isinstance(i, int) else operand_text(i) for i in atom.index)
            return f"Π({args[0]}; {', '.join(at)})"
        case "join":
            return (" ⋈ " if atom.d else " ⋈̄ ").join(args)
        case "embed":
            return f"Ξ({args[0]})"


def operand_text(operand: Operand) -> str:
    """Print an operand."""
    match operand:
        case AtomResult(place=place):
            return f"%{place + 1}"
        case InputOperand(name=name):
            return quoted(name)
        case CastOperand(value=value, spaces=spaces):
            return f"{'/'.join(spaces)}({operand_text(value)})"
        case Constants(values=values, shape=shape):
            texts = [repr(value) if isinstance(value, str) else str(value) for value in values[:8]]
            return texts[0] if not shape else f"[{', '.join(texts)}{', …' if len(values) > 8 else ''}]"
