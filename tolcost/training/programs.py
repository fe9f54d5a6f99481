"""Programs of training that belong to no operator: optimisers, and the sum of two gradients."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tolcost.algebra import Poly, Symbol, const, product_of, substituting, the_symbol
from tolcost.algebra import length as length_of
from tolcost.atoms.nodes import Program
from tolcost.catalogue.specs import NamedText
from tolcost.cost import count, traffic
from tolcost.cost.traffic import bytes_of
from tolcost.diagnostics import Source, quoted, refuse
from tolcost.elaborate import Tensor
from tolcost.models.lowered import ComputedCost, Lowered
from tolcost.pipeline import lower, read_program
from tolcost.platform import specs_root

FOLDER = "optimizers"
VECTORS = ".vectors"
"""The end of the name of what an optimiser does to parameters that are no matrices, if that differs."""
SUM = "sum of gradients"


class ShapedProgram(Struct, frozen=True, eq=False):
    """A program over tensors of one shape, with symbols for its lengths, and its cost."""

    name: str
    program: Program
    cost: ComputedCost
    lengths: tuple[Symbol, ...]

    def at(self, lengths: tuple[Poly, ...], title: str) -> Lowered:
        """Return the program at lengths, as an operator."""
        put = substituting(dict(zip(self.lengths, lengths, strict=True)))
        made = ComputedCost(self.cost.counts.map_forms(put), self.cost.traffic.map_forms(put), ())
        symbols = dict(zip(self.lengths, lengths, strict=True))
        return Lowered(title, "", made, (), {}, frozenset(), self.program, lengths=symbols)

    def held(self, lengths: tuple[Poly, ...], outside: tuple[str, ...], space: str = "") -> Poly:
        """Return the bytes of its inputs at lengths, without those that are named.

        Those of ``float32`` are held in another space if one is given.
        """
        put = substituting(dict(zip(self.lengths, lengths, strict=True)))
        total = const(0)
        for given in self.program.inputs:
            if given.name not in outside:
                for part in given.type:
                    held = space if space and part.space == "float32" else part.space
                    size = bytes_of(tuple([put(extent) for extent in part.shape]), held)
                    total = total if size is None else total + size
        return total


def optimizers() -> tuple[str, ...]:
    """Return the names of the optimisers that there are."""
    names = (file.name for file in specs_root().joinpath(FOLDER).iterdir())
    return tuple(sorted(n.removesuffix(".tol") for n in names if n.endswith(".tol") and VECTORS not in n))


def optimizer(name: str) -> Mapping[int, ShapedProgram]:
    """Return what an optimiser does to a parameter of one or two dimensions, by how many it has."""
    known = optimizers()
    if name not in known:
        refuse("T0910", f"there is no optimiser {quoted(name)}", hint=f"there are {', '.join(known)}")
    folder = specs_root().joinpath(FOLDER)
    vectors = folder.joinpath(f"{name}{VECTORS}.tol")
    if not vectors.is_file():
        return {1: rule(f"{FOLDER}/{name}", 1)}
    return {1: rule(f"{FOLDER}/{name}{VECTORS}", 1), 2: rule(f"{FOLDER}/{name}", 2)}


def texts_of(name: str) -> tuple[NamedText, ...]:
    """Return the programs of an optimiser, and those that add gradients up and unscale them."""
    root = specs_root()
    files = (f"{FOLDER}/{name}", f"{FOLDER}/{name}{VECTORS}", "backward/sum", "backward/unscaled")
    found = ((file, root.joinpath(f"{file}.tol")) for file in files)
    return tuple([NamedText(f"{n}.tol", (f.read_text("utf-8"),), False) for n, f in found if f.is_file()])


_RULES: dict[tuple[str, int], ShapedProgram] = {}


def rule(file: str, rank: int, space: str = "float32") -> ShapedProgram:
    """Read a program, and lower it with symbols for its lengths."""
    key = (f"{file}:{space}", rank)
    if key not in _RULES:
        text = specs_root().joinpath(f"{file}.tol").read_text("utf-8")
        parsed = read_program(Source(f"{file}.tol", text))
        names = ("m", "n")[2 - rank :]
        symbols = tuple([the_symbol(length_of(name)) for name in names])
        found = lower(parsed).program
        there = {symbol.name: symbol for symbol in found.symbols}
        symbols = tuple([there.get(symbol.name, symbol) for symbol in symbols])
        cost = ComputedCost(count(found), traffic(found), ())
        _RULES[key] = ShapedProgram(file, found, cost, symbols)
    return _RULES[key]


def shape_for(rules: Mapping[int, ShapedProgram], tensor: Tensor) -> tuple[Poly, ...]:
    """Return the lengths that a rule takes for a parameter: of more dimensions, the last ones are one."""
    if 2 not in rules or len(tensor.shape) < 2:
        return (product_of(tensor.shape),)
    return tensor.shape[0], product_of(tensor.shape[1:])
