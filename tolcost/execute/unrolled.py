"""The third interpreter: it runs a program as a sequence of its five atoms.

No quantifiers, blocks or primitives remain.  Where data decides what to compute, the atoms so far are
executed first, and their results guide the rest of the unrolling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tolcost.algebra import Symbol
from tolcost.atoms.nodes import Part, Program
from tolcost.atoms.unroll import (
    MAX_ATOMS,
    Atom,
    AtomResult,
    CastOperand,
    Constants,
    InputOperand,
    Operand,
    Unrolled,
    unroll,
)
from tolcost.diagnostics import NOWHERE
from tolcost.execute.dtypes import Arrays, as_places, convert, numbers, same_bits
from tolcost.execute.functions import apply_checked, uniform
from tolcost.execute.inputs import InputArrays, Met, execute
from tolcost.execute.values import (
    Execution,
    Faults,
    Lengths,
    OutputValue,
    Piece,
    RunValue,
    Tally,
    all_fault,
    as_output,
    element,
    first_fault,
    joined,
    reshaped,
    within,
)
from tolcost.execute.whole_numbers import in_space

_ATOMS_KEPT = 1_000
"""Up to this many atoms, all results are kept: they take little memory."""


def run_unrolled(
    program: Program,
    inputs: InputArrays | Met,
    max_atoms: int = MAX_ATOMS,
) -> Execution:
    """Unroll a program at the lengths of its inputs, run it atom by atom, and count the atoms."""
    return execute(
        program, inputs, None, lambda arrays, lengths: _Unrolling(program, arrays, lengths, max_atoms)
    )


class _Unrolling:
    """A run that executes the unrolled atoms in order."""

    def __init__(
        self,
        program: Program,
        arrays: Arrays,
        bindings: Mapping[Symbol, int],
        max_atoms: int,
    ) -> None:
        self.program = program
        self.arrays = arrays
        self.env = Lengths(bindings)
        self.max_atoms = max_atoms
        self.tally = Tally()

    def outputs(self) -> dict[str, OutputValue]:
        dims = {symbol.name: value for symbol, value in self.env.items()}
        unrolled = unroll(self.program, dims, self.max_atoms, AtomByAtom(self.arrays).look)
        for symbol, values in unrolled.lengths.items():
            self.env[symbol] = values[-1]
            for value in values:
                self.tally.define(symbol, value)
        for atom in unrolled.atoms:
            if atom.operation == "lambda":
                self.tally.apply(atom.function, atom.space, atom.charge, 1)
            elif atom.charge == "data":
                self.tally.atoms[atom.operation] += 1
        return AtomByAtom(self.arrays).outputs(unrolled)


class AtomByAtom:
    """The atoms executed so far, and their results."""

    def __init__(self, arrays: Arrays) -> None:
        """Start before the first atom."""
        self.given = {name: tuple(map(Piece, parts)) for name, parts in arrays.items()}
        self.results: list[RunValue] = []
        self.faults = Faults()

    def look(self, atoms: Sequence[Atom], operand: Operand) -> list[int]:
        """Execute the remaining atoms, and return the entries of a value as whole numbers."""
        for atom in atoms[len(self.results) :]:
            self.do(atom)
        value = self.fetch(operand)
        self.faults.check(value)
        found: list[int] = as_places(np.asarray(value[0].data)).reshape(-1).tolist()
        return found

    def outputs(self, unrolled: Unrolled) -> dict[str, OutputValue]:
        """Execute all atoms and return the outputs; long runs drop each result after its last use."""
        over = _last_uses(unrolled) if len(unrolled.atoms) > _ATOMS_KEPT else {}
        for place, atom in enumerate(unrolled.atoms):
            self.do(atom)
            for used in over.get(place, ()):
                self.results[used] = ()
        return {name: self.output(operand, shapes) for name, operand, shapes in unrolled.outputs}

    def output(self, operand: Operand, shapes: Sequence[tuple[int, ...]]) -> OutputValue:
        """Return the value of an output; a fault in it is an error."""
        value = self.fetch(operand)
        self.faults.check(value)
        return as_output([np.asarray(p.data).reshape(s) for p, s in zip(value, shapes, strict=True)])

    def do(self, atom: Atom) -> None:
        """Execute one atom."""
        self.results.append(self.result(atom, [self.fetch(operand) for operand in atom.args]))

    def fetch(self, operand: Operand) -> RunValue:
        """Return the value of an operand."""
        match operand:
            case AtomResult(place=place):
                return self.results[place]
            case InputOperand(name=name):
                return self.given[name]
            case CastOperand(value=value, spaces=spaces, bits=bits):
                given = self.fetch(value)
                cast = same_bits if bits else in_space
                pairs = zip(given, spaces, strict=True)
                pieces = tuple(Piece(cast(np.asarray(p.data), space), p.fault) for p, space in pairs)
                return within(self.faults, operand, spaces, given, pieces)
            case Constants(values=values, shape=shape, space=space):
                return (Piece(numbers(values, space).reshape(shape)),)

    def result(self, atom: Atom, args: list[RunValue]) -> RunValue:
        """Return the result of an atom."""
        match atom.operation:
            case "lambda":
                return self.applied(atom, args)
            case "norm":
                return (Piece(np.array(args[0][0].data.shape)),)
            case "member" if atom.component:
                return (args[0][atom.component - 1],)
            case "member":
                return self.member(atom, args[0])
            case "join" if atom.d:
                pieces = zip(*(map(_as_vector, value) for value in args), atom.spaces, strict=True)
                return tuple(joined(a, b, atom.d - 1, Part((), space)) for a, b, space in pieces)
            case "join":
                return (*args[0], *args[1])
            case "embed":
                return tuple(reshaped(piece, atom.shape) for piece in args[0])

    def applied(self, atom: Atom, args: list[RunValue]) -> RunValue:
        """Apply an elementary function; a choice takes a whole value."""
        if atom.function == "where":
            (condition, broken), then, other = args[0][0], args[1], args[2]
            taken = zip(then if condition != 0 else other, atom.spaces, strict=True)
            pieces = tuple(Piece(in_space(np.asarray(p.data), space), p.fault) for p, space in taken)
            return pieces if broken is None else tuple(all_fault(piece, int(broken)) for piece in pieces)
        data = [np.asarray(value[0].data) for value in args]
        fault = first_fault([value[0].fault for value in args])
        if atom.function == "rand":
            return (Piece(convert(uniform(len(self.results), (), data), atom.spaces[0]), fault),)
        found, wrong = apply_checked(atom.function, atom.space, atom.spaces[0], data)
        if wrong is not None:
            beyond = self.faults.of_numbers(wrong, NOWHERE, f"`{atom.function}` gives", atom.spaces[0])
            fault = first_fault([fault, beyond])
        return (Piece(found, fault),)

    def member(self, atom: Atom, tol: RunValue) -> RunValue:
        """Read a member, or leave a fault if it does not exist."""
        at, fault = [], 0
        for index in atom.index:
            if not isinstance(index, int):
                piece = self.fetch(index)[0]
                fault = fault or int(piece.fault or 0)
                index = int(as_places(np.asarray(piece.data)))
            at.append(index - 1)
        shape = tol[0].data.shape or (1,) * len(at)
        for k, size in zip(at, shape, strict=True):
            if not 0 <= k < size:
                fault = fault or self.faults.out_of_range(NOWHERE, "read", k + 1, size)
        if fault:
            return tuple(all_fault(Piece(np.zeros((), piece.data.dtype)), fault) for piece in tol)
        return tuple(element(reshaped(piece, shape), tuple(at)) for piece in tol)


def _as_vector(piece: Piece) -> Piece:
    """Return a numeric as a vector of one entry."""
    return piece if piece.data.ndim else reshaped(piece, (1,))


def _last_uses(unrolled: Unrolled) -> dict[int, list[int]]:
    """Return for each place the results used there for the last time; outputs are kept to the end."""
    last: dict[int, int] = {}
    for place, atom in enumerate(unrolled.atoms):
        last.update((used, place) for used in _places((*atom.args, *atom.index)))
    kept = set(_places(operand for _, operand, _ in unrolled.outputs))
    over: dict[int, list[int]] = {}
    for used, place in last.items():
        if used not in kept:
            over.setdefault(place, []).append(used)
    return over


def _places(operands: Iterable[Operand | int]) -> Iterator[int]:
    for operand in operands:
        while isinstance(operand, CastOperand):
            operand = operand.value
        if isinstance(operand, AtomResult):
            yield operand.place
