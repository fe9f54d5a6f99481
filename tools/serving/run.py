"""Runs a serving program on given parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tolcost.algebra import evaluate
from tolcost.apps.plan.door import PlannedModel
from tolcost.atoms.lengths import lengths_of
from tolcost.catalogue.specs import open_library
from tolcost.elaborate.inputs import arguments
from tolcost.execute import run_vectorised
from tolcost.platform import read_spec
from tolcost.result.instances import lower_source
from tolcost.syntax import parse
from tolcost.syntax.tree import InputDecl

from .layouts import Array


def run_program(model: PlannedModel, given: Mapping[str, Array], past: int, absorbed: bool = False) -> Array:
    """Run the program of a model on parameters, ids and a cache, as it reads a prompt or is absorbed."""
    source = read_spec("serving", model.family.program)
    window = model.lengths.get("window", 1)
    numbers = {"t": past, "u": min(past, max(window - 1, 0))}
    (texts, new) = given["ids"].shape
    known = {**model.lengths, **numbers, "b": texts, "s": new}
    if "source" in given:
        known["x"] = given["source"].shape[1]
    tree = parse(source)
    named = {one.name for one in tree.statements if isinstance(one, InputDecl) and one.kind == "attr"}
    own = {} if absorbed or past else model.family.reading
    attrs = {**model.attrs, **own, **{k: v for k, v in known.items() if k in named}}
    attrs |= {"all_logits": True} if "all_logits" in named else {}
    program = lower_source(source, open_library(()), arguments(tree, None, attrs)).program
    dims = {symbol.name: known.get(symbol.name, 1) for symbol in lengths_of(program)}
    point = {symbol: dims[symbol.name] for symbol in lengths_of(program)}
    arrays = {}
    for one in program.inputs:
        shape = tuple(evaluate(d, point) for d in one.type[0].shape)
        if one.name in given:
            assert given[one.name].shape == shape, (one.name, given[one.name].shape, shape)
            arrays[one.name] = given[one.name]
        else:
            arrays[one.name] = np.zeros(shape)
    found = run_vectorised(program, {name: (value,) for name, value in arrays.items()}, dims, 1 << 40)
    return np.asarray(found.outputs["logits"])
