"""Cases of operators that onnx does not know, as recorded from the run-time that has them.

A domain's folder may hold ``recorded/Name.json.gz``: nodes of that operator, what they were given, and what
came out.  Its first line says where that is from; every further one is a case.  Reading needs no run-time.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from onnx import helper

from tolcost.catalogue.cases import Case
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import Library, folder_of
from tolcost.catalogue.types import SPACE_OF_CODE, Array

_ENDING = ".json.gz"
_DTYPES = {space: helper.tensor_dtype_to_np_dtype(code) for code, space in SPACE_OF_CODE.items()}


def recorded_cases(
    library: Library, domain: str | None = None, names: Collection[str] = ()
) -> tuple[Case, ...]:
    """The recorded cases of a domain (of all domains if none is given), or those of some operators or names.

    An operator may be named with its domain.
    """
    domains = library.domains() if domain is None else (domain,)
    return tuple(case for one in domains for case in _of_domain(library, one, frozenset(names)))


def _of_domain(library: Library, domain: str, names: frozenset[str]) -> Iterator[Case]:
    partly = {name.rpartition("-")[0] for name in names}
    for op in library.names(domain):
        wholly = not names or op in names or f"{domain}.{op}" in names
        if wholly or op in partly:
            found = _of_operator(library, domain, op)
            yield from (case for case in found if wholly or case.name in names)


def _of_operator(library: Library, domain: str, op: str) -> tuple[Case, ...]:
    for root in library.roots:
        file = root.joinpath(folder_of(domain), "recorded", op + _ENDING)
        if file.is_file():
            lines = gzip.decompress(file.read_bytes()).decode("utf-8").splitlines()
            return tuple(_case(domain, op, n, json.loads(line)) for n, line in enumerate(lines[1:], start=1))
    return ()


def _case(domain: str, op: str, number: int, one: dict[str, Any]) -> Case:
    inputs = tuple(map(_array, one["in"]))
    outputs = tuple(map(_array, one["out"]))
    node = helper.make_node(
        op,
        [f"i{n}" if array is not None else "" for n, array in enumerate(inputs)],
        [f"o{n}" if array is not None else "" for n, array in enumerate(outputs)],
        domain=domain,
        **one.get("attrs", {}),
    )
    tolerance = one.get("rtol", 1e-4), one.get("atol", 1e-5)
    return Case(f"{op}-{number}", node_of(node), one.get("opset", 1), inputs, outputs, *tolerance)


def _array(kept: list[Any] | None) -> Array | None:
    """A tensor: its element type, its shape, and its elements, as base64 of their bytes or as texts."""
    if kept is None:
        return None
    space, shape, items = kept
    if space == "string":
        return np.array(items, np.object_).reshape(shape)
    return np.frombuffer(base64.b64decode(items), _DTYPES[space]).reshape(shape)
