"""Inputs for a run of which only the counts are asked for: any will do that the program does not refuse."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tolcost.atoms.nodes import Part, Program
from tolcost.execute.dtypes import Array
from tolcost.execute.inputs import Arrays, lengths_of, random_arrays, value_of
from tolcost.spaces import SPACES


def plain_arrays(program: Program, dims: Mapping[str, int], seed: int) -> Arrays:
    """Random reals and truths, of which all seeds but the first make some 0: data may ask for such.

    Texts are empty.  Whole numbers are all 0: they may be places in a table, of which the first is always
    there.
    """
    kinds = {needed.name: SPACES[needed.type[0].space].kind for needed in program.inputs}
    lengths = {symbol: dims[symbol.name] for symbol in lengths_of(program)}

    def empty(part: Part) -> Array:
        return np.full([value_of(entry, lengths) for entry in part.shape], "", np.object_)

    texts = {
        needed.name: tuple(map(empty, needed.type)) for needed in program.inputs if kinds[needed.name] == "S"
    }
    rng = np.random.default_rng(seed)
    share = 1.0 if seed == 1 else rng.random()

    def thinned(array: Array, kind: str) -> Array:
        kept = rng.random(array.shape) < (0 if kind == "Z" else share)
        return np.asarray(np.where(kept, array, array.dtype.type(0)), array.dtype)

    drawn = random_arrays(program, texts, dims, seed)
    return texts | {
        name: tuple(thinned(part, kinds[name]) for part in parts) for name, parts in drawn.items()
    }
