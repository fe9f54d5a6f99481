"""ONNX's node tests at other lengths, ranks, attributes and versions, held to those who run them.

A variation is kept if ONNX's shape inference accepts it and its evaluator runs it, or if onnxruntime does,
where that is installed.  Then our value and shape are theirs; the closed form is what a run counts, with
symbols for lengths and with numbers; what is read is what a walk over all coordinates finds; and a model of
the node costs the same whether its file has the lengths or leaves them open, or says that it is at most that.

``python -m tools.catalogue.varied_nodes 10 --start 1`` tries ten variations of every node test; ``--only
Conv,Resize`` those of some operators.  What is known and explained (``EXPLAINED``) is counted and not told.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from msgspec.structs import replace
from onnx import AttributeProto, ModelProto, TypeProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tolcost.algebra import evaluate, product_of
from tolcost.atoms.kit import inner_nodes, roots
from tolcost.atoms.lengths import decided_by_data
from tolcost.atoms.nodes import Program, Put
from tolcost.catalogue.cases import Case, _axes, arrays_by_name, attempt
from tolcost.catalogue.conformance import (
    Result,
    check,
    count_difference,
    results,
    shape_difference,
    value_difference,
)
from tolcost.catalogue.graph import met
from tolcost.catalogue.reading import model_of, node_of
from tolcost.cost.traffic import elements_read
from tolcost.diagnostics import Rejected
from tolcost.elaborate.faults import Outside
from tolcost.execute import Execution, meet, run_reference, run_vectorised
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.cost import Cost
from tolcost.result.model import Wanted, model_cost
from tools.catalogue.variations import LIBRARY, Item, Varied, item_of, node_tests, places_of, value_at, varied
from tools.cost.brute_traffic import can_be_walked, walked
from tools.generate.valid_models import Made
from tools.models.random_models import Wrong, judge

RTOL, ATOL = 2e-3, 1e-5

MOST_TOLD, SLOW = 6, 10.0
FEW_STEPS = 3000
"""Runs of so many atoms are repeated by the plain interpreter, and what they read is walked."""


# ---- those who run it ------------------------------------------------------------------------------


def type_of(item: Item, shape: Sequence[int | str] | None) -> TypeProto:
    if isinstance(item, list):
        code = helper.np_dtype_to_tensor_dtype(item[0].dtype) if item else onnx.TensorProto.FLOAT
        shapes = {entry.shape for entry in item}
        alike = shapes.pop() if len(shapes) == 1 else None
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(code, alike))
    assert item is not None
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(item.dtype), shape)


def model_with(one: Varied, held: set[int], shapes: Mapping[int, Sequence[int | str]]) -> ModelProto:
    """A model of the node, which holds some of the inputs."""
    given: dict[str, ValueInfoProto] = {}
    kept = {}
    for n, (name, item) in enumerate(zip(one.node.input, one.inputs, strict=True)):
        if item is None or name in given or name in kept:
            continue
        if n in held:
            assert isinstance(item, np.ndarray)
            kept[name] = numpy_helper.from_array(item, name)
        else:
            shape = shapes.get(n, item.shape if isinstance(item, np.ndarray) else None)
            given[name] = helper.make_value_info(name, type_of(item, shape))
    outputs = [ValueInfoProto(name=name) for name in one.node.output if name]
    graph = helper.make_graph([one.node], "g", list(given.values()), outputs, list(kept.values()))
    opsets = [helper.make_opsetid(one.node.domain, one.opset)]
    if one.node.domain:
        opsets.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feeds(one: Varied) -> dict[str, Item]:
    return {name: item for name, item in zip(one.node.input, one.inputs, strict=True) if item is not None}


def evaluated(proto: ModelProto, given: Mapping[str, Item]) -> list[Any]:
    """What onnx's evaluator gives, if onnx has no objection to the shapes."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
        return ReferenceEvaluator(proto).run(None, given)


def run_by_onnxruntime(proto: ModelProto, given: Mapping[str, Item]) -> list[Any]:
    """What onnxruntime gives."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    text = proto.SerializeToString()
    session = onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
    asked = {one.name for one in proto.graph.input}
    return session.run(None, {name: item for name, item in given.items() if name in asked})


RUNNERS = {"evaluator": evaluated, "onnxruntime": run_by_onnxruntime}


def _serve(pipe: Any) -> None:
    while True:
        try:
            who, text, given = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(RUNNERS[who](onnx.load_from_string(text), given))
        except Exception as error:  # whatever it is, it has no answer
            pipe.send(f"{type(error).__name__}: {error}")


class Others:
    """Those who run a node, in a process of their own: some shapes end it."""

    def __init__(self) -> None:
        self.there = [who for who in RUNNERS if find_spec(who) or who == "evaluator"]
        self._process: Any = None

    def answers(self, one: Varied, proto: ModelProto) -> dict[str, tuple[Item, ...] | str]:
        """What each gives, or why not."""
        return {who: self._ask(who, one, proto) for who in self.there}

    def _ask(self, who: str, one: Varied, proto: ModelProto) -> tuple[Item, ...] | str:
        if self._process is None:
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        try:
            self._pipe.send((who, proto.SerializeToString(), feeds(one)))
            found = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            self._process = None
            return "it crashed"
        return found if isinstance(found, str) else tuple(map(item_of, found))


# ---- what is known ---------------------------------------------------------------------------------


class Explained(Struct, frozen=True):
    """A difference that is no defect of a definition: of which operators, what is said of it, and why."""

    ops: str
    said: str
    why: str


EXPLAINED = (
    Explained(
        "ArgMax ArgMin", "value (onnxruntime)", "onnxruntime does not reduce what is empty along the axis"
    ),
    Explained(
        "Reduce", "duplicate value in 'axis'", "an axis twice: onnxruntime alone accepts it, or not at all"
    ),
    Explained(
        "PRelu", "the other case cannot be", "only the slope is spread, by ONNX's text; both spread the input"
    ),
    Explained(
        "Attention", "value (evaluator)", "a mask of last length 1 is spread; the evaluator pads it with -Inf"
    ),
    Explained("Attention", "value (apart)", "a softmax of integers, or a mode that does not exist"),
    Explained("Pool", "value (evaluator)", "SAME with steps that skip: the evaluator pads less than nothing"),
    Explained("Pool", "value (onnxruntime)", "SAME with gaps: onnxruntime forgets them"),
    Explained("Pool", "value (apart)", "SAME with gaps: both of these"),
    Explained(
        "Pool", "negative", "a window larger than what it slides over: one, by a division towards zero"
    ),
    Explained("Window", "nan", "a symmetric window of one: 0/0 by ONNX's body, its first value here"),
    Explained("LSTM GRU RNN", "value (evaluator)", "the evaluator does not clip"),
    Explained("NegativeLogLikelihoodLoss", "nan, not 0.0", "the mean of nothing is 0/0"),
    Explained("NonMaxSuppression", "refused", "limits and thresholds are single numbers, by ONNX's text"),
    Explained("SequenceInsert", "must have as many", "a position is a single number"),
    Explained("Adam", "element type", "the evaluator computes in float64"),
    Explained("Cast", "-2147483648", "a real that is no int32: undefined, by ONNX's text"),
    Explained("DFT", "T0306", "a transform of no points, which the evaluator refuses"),
    Explained("Compress GroupNormalization Expand", "T0328", "a rank that ONNX's text does not allow"),
    Explained("ConstantOfShape STFT", "T0328", "the same"),
    Explained(
        "GroupNormalization", "is declared so", "a scale for each channel, by ONNX's text; one is spread"
    ),
    Explained("BlackmanWindow", "0, not 1", "0.42 + 0.5 + 0.08 is less than 1 in double precision"),
    Explained("DynamicQuantizeLinear", "not 1.0", "a range of no width: onnxruntime alone gives the scale 1"),
    Explained("Attention", "0 with symbols", "of no queries nothing is needed, or all that is done once"),
    Explained("Window", "-2147483648", "a symmetric window of one: 0/0 as an integer"),
    Explained("Cast", "element type float8", "a type that this version does not have"),
    Explained("Concat", "the others equal", "onnxruntime passes over what is empty"),
    Explained(
        "CumSum CumProd", "refused (onnxruntime)", "onnxruntime does not look at the axis of what is empty"
    ),
    Explained(
        "Resize", "`roi` is optional", "a region to crop that is not given: onnxruntime takes the whole"
    ),
    Explained("ReverseSequence", "value (evaluator)", "one axis for both, or more than there is to reverse"),
    Explained("CenterCropPad", "negative", "onnxruntime alone takes a negative length"),
)

FEWER = {
    "Det": "the first factor is the number 1, where steps are as many as a number says",
    "TfIdfVectorizer": "sums of no counts are the number 0",
    "TreeEnsemble": "an index with one value is a number, where a length is one",
    "TreeEnsembleRegressor": "the same",
    "TreeEnsembleClassifier": "the same",
    "FlexAttention": "what is computed from lengths is free where they are constants",
    "Resize": "positions in a length that is open are not told apart",
}
"""Operators of which figures with numbers may be less, each with the reason (docs/models.md, Lengths)."""


def explained(one: Varied, kind: str, problem: str) -> bool:
    """Whether a problem is among those that are known."""
    op, said = one.node.op_type, f"{kind} {problem}"
    return any(any(name in op for name in known.ops.split()) and known.said in said for known in EXPLAINED)


# ---- judging ---------------------------------------------------------------------------------------


def case_of(one: Varied) -> Case:
    """The case that the catalogue would have of it."""
    inputs = tuple(tuple(i) if isinstance(i, list) else i for i in one.inputs)
    rest = iter(one.outputs)
    outputs = tuple(next(rest, None) if name else None for name in one.node.output)
    settled = tuple(tuple(i) if isinstance(i, list) else i for i in outputs)
    return Case(one.test, node_of(one.node), one.opset, inputs, settled, RTOL, ATOL)


def difference(ours: Sequence[Item], theirs: Sequence[Item]) -> str | None:
    """How results differ; nothing has any type."""
    for x, y in zip(ours, theirs, strict=False):
        a, b = (tuple(i) if isinstance(i, list) else i for i in (x, y))
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and not b.size:
            a = a.astype(b.dtype)
        problem = None if b is None else shape_difference(a, b) or value_difference(a, b, RTOL, ATOL)
        if problem is not None:
            return problem
    return None


def held_inputs(one: Varied) -> set[int]:
    """Inputs that the definition must know: a model of the node holds them."""
    spec = LIBRARY.find(one.node.domain, one.node.op_type, one.opset)
    declared = () if spec is None else met(spec.inputs, len(one.inputs))
    pairs = enumerate(zip(declared, one.inputs, strict=False))
    return {n for n, (s, item) in pairs if s.kind == "static" and isinstance(item, np.ndarray)}


RANDOM = ("Random", "Bernoulli", "Multinomial")
Answers = Mapping[str, tuple[Item, ...] | str]


def judged(
    one: Varied, answers: Callable[[Varied, ModelProto], Answers], session: Session
) -> tuple[str, str]:
    """A class of answers, and what is wrong, which may be nothing."""
    if LIBRARY.find(one.node.domain, one.node.op_type, one.opset) is None:
        return "no definition", ""
    if one.node.op_type.startswith(RANDOM) or "training" in one.test:
        return "random", ""
    told = answers(one, model_with(one, held_inputs(one), {}))
    given = {who: answer for who, answer in told.items() if not isinstance(answer, str)}
    if not given:
        return "nobody runs it", ""
    cases = [replace(one, outputs=answer) for answer in given.values()]
    empty = any(0 in value_at(one, place).shape for place in places_of(one))
    found = [(held_with_numbers if empty else held_with_symbols)(case_of(case)) for case in cases]
    best = next((n for n, result in enumerate(found) if result.status == "pass"), 0)
    apart = difference(cases[0].outputs, cases[-1].outputs)
    who = " and ".join(given) if apart is None else "apart"
    if found[best].status == "pass" and not empty:
        found[best] = held_with_numbers(case_of(cases[best]))
    if found[best].status != "pass":
        said = next((f" | {answer}"[:160] for answer in told.values() if isinstance(answer, str)), "")
        return _failed(found[best], who, said)
    return f"fine ({who}), {held_as_models(cases[best], session)}", ""


def _failed(result: Result, who: str, said: str) -> tuple[str, str]:
    cause = f"{result.cause}{said}"
    if result.status == "outside":
        return f"outside: {result.cause}", ""
    if result.status == "crash":
        return "crash", f"{cause}\n{result.detail}"
    if "T0346" in cause:
        return "data that is out of range", ""
    if result.value is None:
        alike = who == "evaluator" and said and "NOT_IMPLEMENTED" not in said
        return ("refused, as by onnxruntime", "") if alike else (f"refused ({who})", cause)
    return ("count", cause) if result.count is False else (f"value ({who})", cause)


def held_with_symbols(case: Case) -> Result:
    """The definition with symbols for lengths, held to a case."""
    return check(case, LIBRARY, recorded=False)


def held_with_numbers(case: Case) -> Result:
    """The definition lowered with numbers for all lengths, held to a case as one with symbols is."""
    spec = LIBRARY.find(case.node.domain, case.node.op, case.opset)
    assert spec is not None
    found = Result(case.name, case.node.op, "fail")
    try:
        derived = attempt(case, spec, LIBRARY, tuple(_axes(case, spec)))
        arrays = arrays_by_name(case, spec)
        program = derived.lowered.program
        used = meet(program, {needed.name: arrays[needed.name] for needed in program.inputs})
        run = run_vectorised(program, used)
        counted = count_difference(derived.counts, run)
        if counted is None and sum(run.counts.atoms.values()) < FEW_STEPS:
            run = run_reference(program, used)
            counted = count_difference(derived.counts, run) or _read_otherwise(program)
    except Outside as outside:
        return replace(found, status="outside", cause=outside.diagnostics[0].message)
    except Rejected as error:
        return replace(found, cause=f"{error.diagnostics[0].code} {error.diagnostics[0].message}")
    except Exception as error:  # a defect of ours
        return replace(found, status="crash", cause=repr(error), detail=traceback.format_exc(limit=-8))
    value = None if _is_random(run) else difference(results(derived, run), case.outputs)
    problems = [problem for problem in (counted, value) if problem is not None]
    return replace(
        found,
        status="fail" if problems else "pass",
        cause="; ".join(problems),
        value=value is None,
        count=counted is None,
    )


def _is_random(run: Execution) -> bool:
    return any(function == "rand" for function, _ in run.counts.histogram)


def _read_otherwise(program: Program) -> str | None:
    """An input of which other elements are read than are counted, by a walk over all coordinates."""
    puts = any(isinstance(node, Put) for node in inner_nodes(roots(program)))
    if puts or decided_by_data(program) or program.symbols or not can_be_walked(program):
        return None
    found, needed = elements_read(program), walked(program, {})
    for given in program.inputs:
        there = sum(name == given.name for name, _ in needed)
        counted = sum(evaluate(form, {}) for _, form in found.get(given.name, ()))
        volume = sum(evaluate(product_of(part.shape), {}) for part in given.type)
        if not there <= counted <= volume or (counted < volume and counted != there):
            return f"{there} elements of {given.name} are read, {counted} are counted, of {volume}"
    return None


def held_as_models(one: Varied, session: Session) -> str:
    """Models of the node, with lengths and with symbols, are what runs say and cost the same."""
    held = held_inputs(one)
    values = {**feeds(one), **dict(zip(filter(None, one.node.output), one.outputs, strict=False))}
    shapes = {
        n: [f"{'abcdefgh'[n % 8]}{n // 8 or ''}_{d}" for d in range(item.ndim)]
        for n, item in enumerate(one.inputs)
        if isinstance(item, np.ndarray) and n not in held
    }
    dims = {
        name: length
        for n, names in shapes.items()
        for name, length in zip(names, one.inputs[n].shape, strict=True)  # type: ignore[union-attr]
    }
    counts = {f"|{name}|": len(item) for name, item in feeds(one).items() if isinstance(item, list)}
    dims |= counts
    fixed, left_open = model_with(one, held, {}), model_with(one, held, shapes)
    answer, said = judge(Made(fixed, counts, values), session), judge(Made(left_open, dims, values), session)
    if answer.startswith("costed") and said.startswith("costed"):
        cost = model_cost(model_of(fixed, "m"), "m.onnx", session, Wanted(counts, lenient=True))
        other = model_cost(model_of(left_open, "m"), "m.onnx", session, Wanted(dims, lenient=True))
        _same_figures(one, cost, other)
    return f"with numbers {answer}, with symbols {said}"


FIGURES = ("eops", "flops", "macs", "index", "bytes", "params", "param_bytes", "peak_bytes", "depth")


def _same_figures(one: Varied, cost: Cost, other: Cost) -> None:
    with_numbers, with_symbols = ({m.key: c.value(m.form) for m in c.measures} for c in (cost, other))
    fewer = one.node.op_type in FEWER or any(a.type == AttributeProto.GRAPH for a in one.node.attribute)
    for key in FIGURES:
        a, b = with_numbers[key], with_symbols[key]
        if not isinstance(a, int) or not isinstance(b, int) or a == b:
            continue  # what data decides has no number
        bound = fewer or key == "depth" or (key == "bytes" and not other.moves_all)
        if not bound or a > b:
            raise Wrong(f"{key}: {a} with numbers, {b} with symbols")


# ---- campaigns -------------------------------------------------------------------------------------


def shown(one: Varied) -> str:
    """A variation as one line."""

    def told(item: Item) -> str:
        if isinstance(item, list):
            return f"[{', '.join(map(told, item))}]"
        if item is None:
            return "-"
        small = item.dtype.kind in "iub" and item.size <= 8
        return f"{item.dtype.name}{list(item.shape)}" + (f"={item.tolist()}" if small else "")

    kinds = (AttributeProto.GRAPH, AttributeProto.TENSOR)
    plain = [
        (a.name, "..." if a.type in kinds else helper.get_attribute_value(a)) for a in one.node.attribute
    ]
    attributes = ", ".join(f"{name}={value}" for name, value in plain)
    return f"{one.node.op_type}@{one.opset}({', '.join(map(told, one.inputs))}) {attributes}"


def answered(
    one: Varied, answers: Callable[[Varied, ModelProto], Answers], session: Session
) -> tuple[str, str]:
    """A class of answers, and what is wrong, whatever that is."""
    try:
        kind, problem = judged(one, answers, session)
    except Wrong as wrong:
        kind, problem = "wrong", str(wrong)
    except Exception as error:  # a defect of ours
        kind, problem = "traceback", f"{error!r}\n{traceback.format_exc()[-1500:]}"
    return ("known, and explained", "") if problem and explained(one, kind, problem) else (kind, problem)


def main(arguments: list[str]) -> int:
    """Try variations, and tell what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", dest="first", default="", help="the name of the first test")
    asked = parser.parse_args(arguments)
    session, others = Session(LIBRARY), Others()
    found, wrong = Counter[str](), Counter[tuple[str, str]]()
    tests = [
        one for one in node_tests(frozenset(filter(None, asked.only.split(",")))) if one.test >= asked.first
    ]
    for test in tests[:: asked.every]:
        for seed in range(asked.start, asked.start + asked.count):
            one = varied(test, f"{test.test} {seed}")
            if one is None:
                continue
            clock = time.process_time()
            kind, problem = answered(one, others.answers, session)
            found[kind] += 1
            if problem:
                wrong[test.node.op_type, kind] += 1
                if wrong[test.node.op_type, kind] <= MOST_TOLD:
                    print(f"{kind} | {test.test} {seed} | {shown(one)}\n      {problem[:1800]}", flush=True)
            if time.process_time() - clock > SLOW:
                print(
                    f"{test.test} {seed} took {time.process_time() - clock:.0f} s: {shown(one)}", flush=True
                )
    for kind, times in found.most_common():
        print(f"{times:6} {kind}")
    print(f"{sum(found.values()) - found['nobody runs it']} compared, {sum(wrong.values())} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(with_deep_stack(lambda: main(sys.argv[1:])))
