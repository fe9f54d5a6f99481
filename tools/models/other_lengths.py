"""Random models with open lengths, costed, and run by onnxruntime at other lengths than they were made at.

Where all conditions hold, the run succeeds, and shapes and whole numbers that are known are as stated; where
onnxruntime refuses, a condition fails, or the difference is among those that are known and explained here.
``python -m tools.models.other_lengths 10000`` runs a campaign, in an environment that has onnxruntime.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from onnx import ModelProto, helper

from tolcost.algebra import NotInteger, Poly, Symbol, atom, evaluate, evaluate_cond, symbols_of_cond
from tolcost.catalogue.graph import GraphNode, Model
from tolcost.catalogue.reading import model_of
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Seq
from tolcost.elaborate.values import Vec, plain
from tolcost.models.analysis import conditions_of
from tolcost.models.facts import Known, shape_of
from tolcost.models.walking import Session
from tolcost.result.model import ModelStudy, Wanted, model_cost, of_model
from tools.generate.draw import Draw
from tools.generate.measured_nodes import EVERY
from tools.generate.valid_graphs import Array, Item, drawn
from tools.generate.valid_models import Made, valid_model
from tools.generate.valid_nodes import REDUCE
from tools.models.graphs import with_all_values
from tools.models.random_models import Campaign, Wrong, main

POINTS, LONGEST = 4, 6
_NODE = re.compile(r"while running (\w+) node")


class Difference(Struct, frozen=True):
    """Where onnxruntime refuses what the operator allows, or gives another shape, and what it is about."""

    op: str
    said: str
    why: str


POOLS = ("MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
KNOWN = (
    Difference("Split", "Invalid num_outputs value", "more parts than elements: the last ones are empty"),
    Difference("Split", "exceeds the remaining size", "the same"),
    Difference("Conv", "Invalid input shape", "a kernel larger than what it slides over gives nothing"),
    Difference("ConvTranspose", "Computed output dimension is <= 0", "padding cuts everything off"),
    *(Difference(op, "input_shape.Size() > 0", "of nothing comes nothing") for op in POOLS),
    Difference("Pad", "Pad reflect", "what is mirrored is mirrored again where it is too short"),
    Difference("Pad", "zero effective input extent", "of nothing comes nothing"),
    Difference("LayerNormalization", "must be at least 1", "of nothing comes nothing"),
    Difference("Gather", "out of data bounds", "nothing is read where the result is empty"),
    Difference("Div", "division by zero", "a value that nothing needs is not computed"),
    Difference("Mod", "modulo by zero", "the same"),
    Difference("ArgMax", "", "of nothing there is no largest: the index is 0"),
    Difference("ArgMin", "", "the same"),
    Difference("Scan", "must have the shape set", "it does not follow the shapes of its graph"),
    Difference("Resize", "mode only supports", "a kernel for some ranks only"),
    Difference("Resize", "Scale value should be greater than 0", "nothing is left, or nothing was there"),
)
SHAPES_APART = {
    **dict.fromkeys(POOLS, "a window larger than what it slides over: one, by a division towards zero"),
    **dict.fromkeys(REDUCE, "an empty tensor is not reduced along all axes that are given"),
}


# ---- onnxruntime ---------------------------------------------------------------------------------


class Runtime:
    """A model as onnxruntime has it, all values of its graph among the outputs."""

    def __init__(self, proto: ModelProto) -> None:
        import onnxruntime

        whole = with_all_values(proto)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        self._session = onnxruntime.InferenceSession(
            whole.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._names = [output.name for output in self._session.get_outputs()]

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Item] | str:
        """All values, or what it says where it refuses."""
        try:
            return dict(zip(self._names, self._session.run(self._names, dict(feeds)), strict=True))
        except Exception as error:  # whatever it is, it has no answer
            return str(error)


def feeds_at(proto: ModelProto, dims: Mapping[str, int], draw: Draw) -> dict[str, Array]:
    """Random input of the lengths."""
    found = {}
    for given in proto.graph.input:
        kind = helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type).name
        shape = [d.dim_value or dims[d.dim_param] for d in given.type.tensor_type.shape.dim]
        found[given.name] = drawn(draw, kind, tuple(shape))
    return found


# ---- judging -------------------------------------------------------------------------------------


def judge(model: Model, dims: Mapping[str, int], theirs: Mapping[str, Item] | str, session: Session) -> str:
    """How our answer and a run at some lengths go together; ``Wrong`` where they do not."""
    try:
        cost = model_cost(model, "m.onnx", session, Wanted(dict(dims), lenient=True))
    except Rejected as rejected:
        why = f"{rejected.diagnostics[0].code} {rejected.diagnostics[0].message[:110]}"
        return "both refuse" if isinstance(theirs, str) else f"only we refuse: {why}"
    study = of_model(cost)
    if isinstance(theirs, str):
        return _refused(theirs, study, cost.point.values)
    at = {**cost.point.values, **_decided(study, theirs)}
    broken = _broken(study, at)
    if broken is not None:
        return f"only we refuse, by data: {broken}"
    for step in study.model.graph.nodes:
        for name in filter(None, step.outputs):
            problem = _difference(study.cost.known(name), theirs[name], at)
            if problem is not None and step.op in SHAPES_APART:
                return f"another shape, as is known: {step.op}"
            if problem is not None:
                raise Wrong(f"{step.shown}, {name}: {problem}")
    if study.coverage.missing:
        return f"in part: {study.coverage.missing[0].op} {study.coverage.missing[0].why[:110]}"
    return f"the same, {cost.status}"


def _refused(theirs: str, study: ModelStudy, at: Mapping[Symbol, int]) -> str:
    op = next(iter(_NODE.findall(theirs)[::-1]), "?")
    if any(known.op == op and known.said in theirs for known in KNOWN):
        return f"only onnxruntime refuses, as is known: {op}"
    settled = {*study.cost.equal, *(s for form in study.cost.equal.values() for s in form.free)}
    mentioned = {s for one in conditions_of(study.cost) for s in symbols_of_cond(one.condition)}
    if any(symbol.kind == "data" for symbol in settled | mentioned):
        return f"only onnxruntime refuses, where data decides a condition: {op}"
    if any(_reduces_nothing(step, study, at) for step in study.model.graph.nodes):
        return f"only onnxruntime refuses, after a shape that is another, as is known: {op}"
    if study.coverage.missing:
        missing = study.coverage.missing[0]
        return f"onnxruntime refuses {op}, in part: {missing.op} {missing.why[:110]}"
    raise Wrong(f"onnxruntime refuses, no condition fails: {theirs[:400]}")


def _reduces_nothing(step: GraphNode, study: ModelStudy, at: Mapping[Symbol, int]) -> bool:
    known = study.cost.known(step.inputs[0]) if step.op in REDUCE else None
    shape = (None if known is None else shape_of(known)) or ()
    return any(d.free <= at.keys() and evaluate(d, at) == 0 for d in shape)


def _decided(study: ModelStudy, theirs: Mapping[str, Item]) -> dict[Symbol, int]:
    """Lengths that data decided, from the shapes of a run."""
    found = {}
    for name, item in theirs.items():
        known = study.cost.known(name)
        shape = None if known is None else shape_of(known)
        if shape is not None and isinstance(item, np.ndarray) and len(shape) == item.ndim:
            for form, size in zip(shape, item.shape, strict=True):
                found.update({s: size for s in form.free if s.kind == "data" and form == atom(s)})
    return found


def _broken(study: ModelStudy, at: Mapping[Symbol, int]) -> str | None:
    for one in conditions_of(study.cost):
        try:
            if symbols_of_cond(one.condition) <= at.keys() and not evaluate_cond(one.condition, at):
                return one.reason
        except NotInteger:
            return one.reason
    return None


def _difference(known: Known | None, item: Item, at: Mapping[Symbol, int]) -> str | None:
    shape = None if known is None else shape_of(known)
    if shape is None or not isinstance(item, np.ndarray):
        return None
    said = [evaluate(d, at) if d.free <= at.keys() else None for d in shape]
    alike = [ours in (None, size) for ours, size in zip(said, item.shape, strict=False)]
    if len(said) != item.ndim or not all(alike):
        return f"shape {said} of {[str(d) for d in shape]}, not {list(item.shape)}"
    numbers = _numbers(known, at) if item.dtype.kind in "biu" else None
    if numbers is not None and numbers != item.ravel().tolist():
        return f"value {numbers}, not {item.ravel().tolist()}"
    return None


def _numbers(known: Known | None, at: Mapping[Symbol, int]) -> list[int] | None:
    """A value of whole numbers that is known, at some lengths."""
    value = None if known is None or isinstance(known, Seq) else plain(known)
    items = value.items if isinstance(value, Vec) else (value,)
    forms = [one for item in items if isinstance(one := plain(item), Poly) and one.free <= at.keys()]
    return [evaluate(form, at) for form in forms] if len(forms) == len(items) else None


# ---- campaigns -----------------------------------------------------------------------------------


def judged(made: Made, seed: int, session: Session) -> Iterator[str]:
    """A model where it was made and elsewhere."""
    try:
        runtime = Runtime(made.proto)
    except Exception as error:  # a type it has no kernel for, or a shape that it cannot follow
        yield f"onnxruntime does not load it: {str(error)[:70]}"
        return
    model, draw = model_of(made.proto, "m"), Draw(seed)
    points = [made.dims, *({name: draw.number(1, LONGEST) for name in made.dims} for _ in range(POINTS))]
    for dims in points:
        try:
            yield judge(model, dims, runtime.run(feeds_at(made.proto, dims, draw)), session)
        except Wrong as wrong:
            raise Wrong(f"at {dims}: {wrong}") from None


OTHER = Campaign(
    "other",
    lambda seed: valid_model(seed, EVERY).proto,
    lambda seed, session: judged(valid_model(seed, EVERY), seed, session),
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], OTHER, __doc__))
