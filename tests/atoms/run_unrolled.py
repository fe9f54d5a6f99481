"""Executing nothing but the five atoms, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from tolcost.atoms.nodes import ATOMS
from tolcost.atoms.unroll import Atom, AtomResult, CastOperand, Constants, InputOperand, Operand, Unrolled
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute.dtypes import Array, convert, dtype_of, number
from tolcost.execute.functions import apply_function, uniform
from tolcost.execute.values import OutputValue, as_output, check_size

_Components = tuple[Array, ...]


def evaluate_unrolled(
    unrolled: Unrolled, inputs: Mapping[str, Array | tuple[Array, ...]]
) -> dict[str, OutputValue]:
    """Run the atoms and give the outputs."""
    given = {name: _parts(value) for name, value in inputs.items()}
    results: list[_Components] = []
    with np.errstate(all="ignore"):
        for place, atom in enumerate(unrolled.atoms):
            args = [_fetch(arg, results, given) for arg in atom.args]
            at = [i if isinstance(i, int) else int(_fetch(i, results, given)[0]) for i in atom.index]
            results.append(_result(atom, args, at, place))
        outputs = [
            (name, _fetch(operand, results, given), shapes) for name, operand, shapes in unrolled.outputs
        ]
    return {
        name: as_output([part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)])
        for name, parts, shapes in outputs
    }


def count_unrolled(unrolled: Unrolled) -> dict[str, int]:
    """Count the atoms; functions that are not applied to data do not count."""
    counted = (
        atom.operation for atom in unrolled.atoms if atom.operation != "lambda" or atom.charge == "data"
    )
    return {**dict.fromkeys(ATOMS, 0), **Counter(counted)}


def _parts(value: Array | tuple[Array, ...]) -> _Components:
    return tuple(map(np.asarray, value)) if isinstance(value, tuple) else (np.asarray(value),)


def _fetch(operand: Operand, results: Sequence[_Components], given: Mapping[str, _Components]) -> _Components:
    match operand:
        case AtomResult(place=place):
            return results[place]
        case InputOperand(name=name):
            if name not in given:
                raise Rejected(Diagnostic("T0340", f"no value was given for the input {name!r}"))
            return given[name]
        case CastOperand(value=value, spaces=spaces):
            parts = _fetch(value, results, given)
            return tuple(convert(part, space) for part, space in zip(parts, spaces, strict=True))
        case Constants(values=values, shape=shape, space=space):
            made = np.empty(len(values), dtype_of(space))
            for k, entry in enumerate(values):
                made[k] = number(entry, space)[()]
            return (made.reshape(shape),)


def _result(atom: Atom, args: list[_Components], at: list[int], place: int) -> _Components:
    match atom.operation:
        case "lambda":
            return _applied(atom, args, place)
        case "norm":
            return (np.array(args[0][0].shape),)
        case "member" if atom.component:
            return (args[0][atom.component - 1],)
        case "member":
            return tuple(_element(part, at) for part in args[0])
        case "join" if atom.d:
            return tuple(
                _joined(left, right, atom.d, space)
                for left, right, space in zip(args[0], args[1], atom.spaces, strict=True)
            )
        case "join":
            return (*args[0], *args[1])
        case "embed":
            return tuple(part.reshape(atom.shape) for part in args[0])


def _applied(atom: Atom, args: list[_Components], place: int) -> _Components:
    if atom.function == "rand":
        return (convert(uniform(place, [], [parts[0] for parts in args]), atom.spaces[0]),)
    if atom.function == "where":
        chosen = args[1] if bool(args[0][0] != 0) else args[2]
        return tuple(convert(part, space) for part, space in zip(chosen, atom.spaces, strict=True))
    return (apply_function(atom.function, atom.space, atom.spaces[0], [parts[0] for parts in args]),)


def _element(part: Array, at: list[int]) -> Array:
    shape = part.shape or (1,) * len(at)
    if not all(1 <= k <= size for k, size in zip(at, shape, strict=True)):
        raise Rejected(Diagnostic("T0346", "a member is read out of range"))
    return np.asarray(part.reshape(shape)[tuple(k - 1 for k in at)])


def _joined(left: Array, right: Array, d: int, space: str) -> Array:
    """Join along a dimension; a numeric stands for a vector of one entry."""
    check_size([left.size + right.size])
    ready = [convert(part, space) for part in (left, right)]
    return np.concatenate([part if part.ndim else part.reshape(1) for part in ready], d - 1)
