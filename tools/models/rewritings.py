"""A model and the same model written otherwise: what the two cost is the same, figure by figure.

``python -m tools.models.rewritings FILE.onnx...`` holds files to this, ``--nodes`` the models of ONNX's node
tests, and ``--random 1000`` as many random ones.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
from msgspec import Struct
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tolcost.algebra import ZERO, Poly, evaluate, substitute, to_text, total_of
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.model import ModelStudy, Wanted, model_cost, of_model
from tools.generate.valid_models import valid_model

OWN = "rewriting"
"""The domain of functions that nodes are wrapped into."""


# ---- rewritings ----------------------------------------------------------------------------------


def copied(proto: ModelProto) -> ModelProto:
    """A copy to change."""
    found = ModelProto()
    found.CopyFrom(proto)
    return found


def replaced_nodes(graph: GraphProto, nodes: Iterable[NodeProto]) -> None:
    """Put other nodes into a graph."""
    listed = list(nodes)
    del graph.node[:]
    graph.node.extend(listed)


def _inputs(graph: GraphProto) -> list[str]:
    """What a graph is given and holds, by name: the inputs of a body of the same nodes."""
    held = (*(t.name for t in graph.initializer), *(t.values.name for t in graph.sparse_initializer))
    return list(dict.fromkeys([*(given.name for given in graph.input), *held]))


def wrapped(proto: ModelProto) -> ModelProto | None:
    """All nodes in a function, which is given all that the graph holds."""
    found, graph = copied(proto), proto.graph
    made = {name for node in graph.node for name in node.output}
    outputs = [output.name for output in graph.output]
    if not set(outputs) <= made or len(set(outputs)) < len(outputs):
        return None
    names = _inputs(graph)
    opsets = [*proto.opset_import]
    function = helper.make_function(OWN, "whole", names, outputs, list(graph.node), opsets)
    found.functions.append(function)
    found.opset_import.append(helper.make_opsetid(OWN, 1))
    found.ir_version = max(proto.ir_version, 8)
    replaced_nodes(found.graph, [helper.make_node("whole", names, outputs, domain=OWN)])
    del found.graph.value_info[:]
    return found


def wrapped_held(proto: ModelProto) -> ModelProto | None:
    """All nodes in a function that holds what the graph holds."""
    return None if proto.graph.sparse_initializer else wrapped(as_constants(proto))


def branched(proto: ModelProto) -> ModelProto | None:
    """All nodes in a branch that is taken: the other one has the same nodes."""
    return _branched(proto, copied(proto))


def branched_held(proto: ModelProto) -> ModelProto | None:
    """The same where the branch that is taken holds what the graph holds, and the other one, too."""
    found = copied(proto)
    del found.graph.initializer[:]
    return _branched(proto, found, list(proto.graph.initializer))


def _branched(proto: ModelProto, found: ModelProto, held: Iterable[TensorProto] = ()) -> ModelProto | None:
    graph = proto.graph
    names = [output.name for output in graph.output]
    made = {name for node in graph.node for name in node.output}
    given = {one.name for one in graph.input}
    kept = list(held)
    if not set(names) <= made or any(t.name in given for t in kept):
        return None
    body = GraphProto(name="body", node=graph.node, initializer=kept, output=graph.output)
    _rename(body, {name: f"{name}.inside" for name in names})
    taken = numpy_helper.from_array(np.array(True), "taken")
    found.graph.initializer.append(taken)
    node = helper.make_node("If", ["taken"], names, then_branch=body, else_branch=body)
    replaced_nodes(found.graph, [node])
    del found.graph.value_info[:]
    return found


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _rename(graph: GraphProto, names: Mapping[str, str]) -> None:
    """Change names wherever a graph and the graphs inside of it mention them."""
    for node in graph.node:
        for names_of in (node.input, node.output):
            names_of[:] = [names.get(name, name) for name in names_of]
        for inner in _graphs(node):
            _rename(inner, names)
    for listed in (graph.input, graph.output, graph.value_info, graph.initializer):
        for one in listed:
            one.name = names.get(one.name, one.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = names.get(sparse.values.name, sparse.values.name)


def as_constants(proto: ModelProto) -> ModelProto:
    """What the graph holds, in nodes that hold it; what an input may replace stays."""
    found = copied(proto)
    given = {one.name for one in proto.graph.input}
    turned = [t for t in proto.graph.initializer if t.name not in given]
    kept = [t for t in proto.graph.initializer if t.name in given]
    nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in turned]
    del found.graph.initializer[:]
    found.graph.initializer.extend(kept)
    replaced_nodes(found.graph, [*nodes, *proto.graph.node])
    return found


def as_initializers(proto: ModelProto) -> ModelProto:
    """What nodes hold, held by the graph."""
    found = copied(proto)
    held = [node for node in proto.graph.node if _holds(node)]
    for node in held:
        tensor = TensorProto()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
        found.graph.initializer.append(tensor)
    replaced_nodes(found.graph, [node for node in proto.graph.node if not _holds(node)])
    return found


def _holds(node: NodeProto) -> bool:
    return node.op_type == "Constant" and [a.name for a in node.attribute] == ["value"]


def overridable(proto: ModelProto) -> ModelProto:
    """What the graph holds is an input as well, with a value of its own."""
    found = copied(proto)
    given = {one.name for one in proto.graph.input}
    found.graph.input.extend(
        helper.make_tensor_value_info(t.name, t.data_type, t.dims)
        for t in proto.graph.initializer
        if t.name not in given
    )
    return found


def not_overridable(proto: ModelProto) -> ModelProto:
    """What the graph holds is no input."""
    found = copied(proto)
    held = {t.name for t in proto.graph.initializer}
    kept = [one for one in proto.graph.input if one.name not in held]
    del found.graph.input[:]
    found.graph.input.extend(kept)
    return found


def renamed(proto: ModelProto) -> ModelProto:
    """All names of values in between, and of nodes, are others."""
    found = copied(proto)
    kept = {one.name for one in (*proto.graph.input, *proto.graph.output)}
    made = [name for node in proto.graph.node for name in node.output]
    names = {name for name in (*made, *_inputs(proto.graph)) if name and name not in kept}
    _rename(found.graph, {name: f"v{n}" for n, name in enumerate(sorted(names))})
    return found


def reordered(proto: ModelProto) -> ModelProto:
    """Nodes in another order, each after those it needs."""
    found, choice = copied(proto), random.Random(len(proto.graph.node))
    maker = {name: n for n, node in enumerate(proto.graph.node) for name in node.output if name}
    waits = [{maker[name] for name in _uses(node) if name in maker} for node in proto.graph.node]
    left, order = set(range(len(waits))), list[int]()
    done: set[int] = set()
    while left:
        ready = sorted(n for n in left if waits[n] <= done)
        n = choice.choice(ready)
        order.append(n)
        done.add(n)
        left.remove(n)
    replaced_nodes(found.graph, [proto.graph.node[n] for n in order])
    return found


def _uses(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for graph in _graphs(node):
        for inner in graph.node:
            yield from _uses(inner)
        yield from (output.name for output in graph.output)


def with_identities(proto: ModelProto) -> ModelProto:
    """Every value in between passes through a node that does nothing."""
    found = copied(proto)
    outputs = {one.name for one in proto.graph.output}
    nodes: list[NodeProto] = []
    for node in proto.graph.node:
        nodes.append(node)
        passed = [name for name in node.output if name and name not in outputs]
        for name in passed:
            nodes.append(helper.make_node("Identity", [f"{name}.before"], [name]))
            changed = NodeProto()
            changed.CopyFrom(nodes[nodes.index(node)])
            changed.output[:] = [f"{n}.before" if n == name else n for n in changed.output]
            nodes[nodes.index(node)] = node = changed
    replaced_nodes(found.graph, nodes)
    return found


def at_newest(proto: ModelProto) -> ModelProto | None:
    """The same by newer versions of the operators, as onnx rewrites it."""
    from onnx import version_converter

    if proto.functions or any(one.domain for one in proto.opset_import):
        return None
    try:
        return version_converter.convert_version(proto, 21)
    except Exception:  # of many operators it has no rewriting
        return None


# ---- figures ---------------------------------------------------------------------------------------


FIGURES = (
    "eops", "flops", "macs", "index", "read", "written",
    "parameters", "parameter bytes", "inputs", "outputs", "peak", "depth", "shapes", "status",
)  # fmt: skip


def figures(study: ModelStudy) -> dict[str, str]:
    """What a model comes to, as text."""
    total, held, peak, depth = study.total, study.holdings, study.peak, study.depth
    put = study.adder.settle
    shapes = [shape_of(study.cost.known(name)) for name in study.model.graph.outputs]
    told = [None if s is None else [str(substitute(d, study.cost.equal)) for d in s] for s in shapes]
    found = {
        "eops": str(total.eops),
        "flops": str(total.flops),
        "macs": str(total.macs),
        "index": str(total.index_ops),
        "read": str({space: to_text(form) for space, form in total.traffic.read.items()}),
        "written": str({space: to_text(form) for space, form in total.traffic.written.items()}),
        "parameters": str(put(held.parameters)),
        "parameter bytes": _settled(put, held.parameter_bytes),
        "inputs": _settled(put, held.input_bytes),
        "outputs": _settled(put, held.output_bytes),
        "peak": "" if peak is None else " ".join(sorted(map(str, map(put, peak.bytes.candidates)))),
        "depth": "" if depth is None else " ".join(sorted(map(str, depth.candidates))),
        "shapes": str(told),
        "status": total.status,
    }
    return {name: _without_names(text, study) for name, text in found.items()}


def _without_names(text: str, study: ModelStudy) -> str:
    """A figure in which what data decides has no name: that is the node's, which may stand elsewhere."""
    for symbol in sorted(study.symbols, key=lambda symbol: -len(symbol.name)):
        text = text.replace(symbol.name, "?") if symbol.kind == "data" else text
    return "".join(sorted(text)) if "?" in text else text  # terms are in the order of names


def _settled(put: Callable[[Poly], Poly], form: Poly | None) -> str:
    return "" if form is None else str(put(form))


def row_sums(study: ModelStudy) -> Iterator[str]:
    """Where rows do not add up to the total, and what they add up to."""
    total = study.total
    whole = {"eops": total.eops, "flops": total.flops, "macs": total.macs, "bytes": total.bytes}
    whole["parameters"] = study.adder.settle(study.holdings.parameters)
    for by in ("op", "node", "scope"):
        rows = study.rows(by, 3)
        for key, form in whole.items():
            amounts = [row.amounts[key] for row in rows]
            known = [amount for amount in amounts if amount is not None]
            added = None if len(known) < len(amounts) else _total(known)
            if added != form:
                yield f"{key} by {by}: {added}, not {form}"


def _total(forms: list[Poly]) -> Poly:
    return total_of(forms) if forms else ZERO


class Rewriting(Struct, frozen=True):
    """Another way to write a model, and the figures that may be others then, with the reason."""

    name: str
    change: Callable[[ModelProto], ModelProto | None]
    apart: frozenset[str] = frozenset()
    fewer: frozenset[str] = frozenset()
    """Figures that may be less, and never more."""


_GROUPED = frozenset({"read", "written", "peak", "depth", "parameters", "parameter bytes"})
"""What passes between nodes inside is neither read nor written, and both branches hold what they make."""

_ONE_PROGRAM = frozenset({"eops", "flops", "macs", "index"})
"""What nothing needs is not computed, and what is computed from lengths and constants alone is free."""

REWRITINGS = (
    Rewriting("wrapped", wrapped, frozenset({"peak", "depth"})),
    Rewriting("wrapped with all it holds", wrapped_held, frozenset({"peak", "depth"})),
    Rewriting("branched", branched, _GROUPED, _ONE_PROGRAM),
    Rewriting("branched with all it holds", branched_held, _GROUPED, _ONE_PROGRAM),
    Rewriting("constants", as_constants),
    Rewriting("initializers", as_initializers),
    Rewriting("overridable", overridable),
    Rewriting("not overridable", not_overridable),
    Rewriting("renamed", renamed),
    Rewriting("reordered", reordered, frozenset({"peak"})),
    Rewriting("identities", with_identities, frozenset({"read", "written", "peak"})),
    Rewriting("newest", at_newest),
)


def studied(proto: ModelProto, session: Session) -> ModelStudy | None:
    """A model with all nodes costed; None where it is not."""
    try:
        study = of_model(model_cost(model_of(proto, "m"), "m.onnx", session, Wanted()))
    except Rejected:
        return None
    return None if study.coverage.missing else study


def differences(
    proto: ModelProto, session: Session, rewritings: Iterable[Rewriting] = REWRITINGS
) -> Iterator[tuple[str, str, str]]:
    """Figures that change with how a model is written, by rewriting: the figure, and both sides."""
    first = studied(proto, session)
    if first is None:
        return
    own = figures(first)
    yield from (("", "rows", problem) for problem in row_sums(first))
    for rewriting in rewritings:
        changed = rewriting.change(proto)
        if changed is None:
            continue
        other = studied(changed, session)
        if other is None:
            yield rewriting.name, "costed", "not costed"
            continue
        theirs = figures(other)
        for name in FIGURES:
            if name in rewriting.apart or own[name] == theirs[name]:
                continue
            if name not in rewriting.fewer or not _is_less(name, other, first):
                yield rewriting.name, name, f"{own[name]} became {theirs[name]}"
        yield from ((rewriting.name, "rows", problem) for problem in row_sums(other))


def _is_less(name: str, study: ModelStudy, than: ModelStudy) -> bool:
    """Whether a figure is nowhere more than that of another study, of the lengths tried."""
    one, other = (_form(name, each) for each in (study, than))
    return all(_at(one, n) <= _at(other, n) for n in (8, 64, 1000))


def _form(name: str, study: ModelStudy) -> Poly:
    total = study.total
    return {"eops": total.eops, "flops": total.flops, "index": total.index_ops}[name]


def _at(form: Poly, number: int) -> int:
    return evaluate(form, dict.fromkeys(form.free, number))


# ---- lengths in the file ---------------------------------------------------------------------------


def with_numbers(proto: ModelProto, dims: Mapping[str, int]) -> ModelProto:
    """The same model with numbers for its lengths in the file."""
    found = copied(proto)
    for given in found.graph.input:
        for dim in given.type.tensor_type.shape.dim:
            if dim.dim_param in dims:
                dim.dim_value = dims[dim.dim_param]
    return found


def at_point(proto: ModelProto, dims: Mapping[str, int], session: Session) -> dict[str, object] | None:
    """Figures at lengths that are the same whether the file has them or not; None where data decides some."""
    try:
        cost = model_cost(model_of(proto, "m"), "m.onnx", session, Wanted(dict(dims), lenient=True))
    except Rejected:
        return None
    study = of_model(cost)
    if study.coverage.missing or any(symbol.kind == "data" for symbol in study.symbols):
        return None
    held, peak = study.holdings, study.peak
    known = [shape_of(study.cost.known(name)) or () for name in study.model.graph.outputs]
    return {
        "parameters": cost.number(held.parameters),
        "inputs": cost.number(held.input_bytes),
        "outputs": cost.number(held.output_bytes),
        "peak": None if peak is None else cost.number(peak.bytes),
        "shapes": [[cost.number(substitute(d, study.cost.equal)) for d in shape] for shape in known],
    }


# ---- campaigns -------------------------------------------------------------------------------------


def node_tests() -> Iterator[tuple[str, ModelProto]]:
    """The models of ONNX's node tests."""
    from onnx.backend.test.loader import load_node_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from ((test.name, test.model) for test in load_node_model_tests())


def main(arguments: list[str]) -> int:
    """Hold models to their rewritings, and tell what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", default="")
    asked = parser.parse_args(arguments)
    session, found = Session(open_library()), Counter[str]()
    chosen = [one for one in REWRITINGS if not asked.only or one.name in asked.only.split(",")]
    sources: list[tuple[str, Callable[[], ModelProto]]] = [
        (file.stem, lambda file=file: onnx.load(file, load_external_data=False)) for file in asked.files
    ]
    if asked.nodes:
        sources += [(name, lambda proto=proto: proto) for name, proto in node_tests()]
    sources += [
        (f"random {n}", lambda n=n: valid_model(n).proto)
        for n in range(asked.start, asked.start + asked.random)
    ]
    for name, read in sources:
        began = time.process_time()
        for rewriting, figure, problem in differences(read(), session, chosen):
            found[f"{rewriting}: {figure}"] += 1
            print(f"{name}, {rewriting}, {figure}: {problem[:300]}", flush=True)
        if time.process_time() - began > 20:
            print(f"{name} took {time.process_time() - began:.0f} s", flush=True)
    for problem, times in found.most_common():
        print(f"{times:6} {problem}")
    print(f"{len(sources)} models, {sum(found.values())} differences")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(with_deep_stack(lambda: main(sys.argv[1:])))
