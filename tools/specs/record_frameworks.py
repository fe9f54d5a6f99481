"""Record what PyTorch and TensorFlow compute for ``specs/tensors``; ``make frameworks`` runs it.

Each program names the calls that it defines in comments (``# PyTorch: aten.mm(x, y)``,
``# TensorFlow: MatMul(a=x, b=y)``).  The calls are made with random inputs, and their results are written to
``reports/data/frameworks.json``, with the lists of all operators: core ATen's, and those of ``tf.raw_ops``.
Each framework is in an environment of its own, so that this runs twice: with ``torch`` and ``tensorflow``.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.specs.declared import Declared, read_declared

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "specs" / "tensors"
RECORD = ROOT / "reports" / "data" / "frameworks.json"
TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow"}
CASES = 2
Evaluate = Callable[[str, dict[str, Any]], Any]


def program_texts() -> Iterator[tuple[str, str]]:
    """Yield every program by its name."""
    for path in sorted(PROGRAMS.glob("*.tol")):
        yield path.name.removesuffix(".tol"), path.read_text("utf-8")


def calls(text: str, framework: str) -> list[str]:
    """Give the calls of a framework that a program stands for."""
    return re.findall(rf"^# {TITLES[framework]}: (.*)$", text, re.M)


def called(call: str) -> list[str]:
    """Name the operators that a call applies.

    >>> called("aten.sum.dim_IntList(x, [1])"), called("(lambda r: r[0])(raw.RFFT(input=x))")
    (['sum'], ['RFFT'])
    """
    aten = re.findall(r"\baten\.(\w+)", call)
    return aten or re.findall(r"(?:\braw\.|(?<![\w.]))([A-Z]\w*)\(", call)


def draw(text: str, rng: random.Random) -> dict[str, Any]:
    """Draw inputs: normal reals and small whole numbers, where the program names nothing else."""
    drawn = re.search(r"^# Drawn: (.*)$", text, re.M)
    wanted = drawn[1] if drawn else ""
    declared = read_declared(text)
    lengths = {length for one in declared for length in one.shape if not length.isdigit()}
    dims = {name: rng.randint(2, 3) for name in sorted(lengths | {d.name for d in declared if d.attribute})}

    def number(one: Declared) -> Any:
        listed = re.search(rf"\b{one.name} of ((?:-?(?:[\d.]+|inf|nan)(?:, )?)+)", wanted)
        if listed is not None:
            return float(rng.choice(listed[1].strip(", ").split(", ")))
        if one.space == "B":
            return rng.random() < 0.5
        between = re.search(rf"\b{one.name} from (\S+) to ([^\s,]+)", wanted)
        low, high = (float(between[1]), float(between[2])) if between else (-4.0, 4.0)
        if one.space == "Z":
            return rng.randint(int(low), int(high))
        return round(rng.uniform(low, high) if between else rng.gauss(0, 1), 3)

    def value(one: Declared, shape: tuple[str, ...]) -> Any:
        if not shape:
            return number(one)
        length = int(shape[0]) if shape[0].isdigit() else dims[shape[0]]
        return [value(one, shape[1:]) for _ in range(length)]

    return {**dims, **{one.name: value(one, one.shape) for one in declared if not one.attribute}}


def drawn_cases(name: str, text: str) -> list[dict[str, Any]]:
    """Draw the inputs of all cases of a program: the same ones for both frameworks."""
    rng = random.Random(name)
    return [draw(text, rng) for _ in range(CASES)]


def plain(value: Any) -> Any:
    """Give results as lists of numbers, reals with ten digits."""
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    if hasattr(value, "numpy"):
        value = value.detach().numpy() if hasattr(value, "detach") else value.numpy()
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return [plain(one) for one in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def space_of(value: Any) -> str:
    """Name the type of a number, or of the numbers of a list."""
    while isinstance(value, list):
        value = value[0]
    return {bool: "bool", int: "int64", float: "float64"}[type(value)]


def with_torch() -> tuple[str, Any, Evaluate]:
    """Give PyTorch's version, the names of core ATen, and how a call is made."""
    import torch
    import torchgen
    import yaml

    native = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    functions = yaml.safe_load(native.read_text("utf-8"))
    core = {f["func"].split("(")[0].split(".")[0] for f in functions if "core" in f.get("tags", [])}

    def evaluate(call: str, given: dict[str, Any]) -> Any:
        names: dict[str, Any] = {"torch": torch, "aten": torch.ops.aten}
        for name, value in given.items():
            kind = getattr(torch, space_of(value))
            names[name] = torch.tensor(value, dtype=kind) if isinstance(value, (list, float)) else value
        return eval(call, names)  # noqa: S307 - a comment of a program of our own

    return torch.__version__, sorted(core), evaluate


def with_tensorflow() -> tuple[str, Any, Evaluate]:
    """Give TensorFlow's version, the kinds of its raw operators by name, and how a call is made."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    raw = {name: getattr(tf.raw_ops, name) for name in dir(tf.raw_ops) if name[0].isupper()}
    kinds = {name: kind_of(name, op_def_registry.get(name)) for name in sorted(raw)}

    def evaluate(call: str, given: dict[str, Any]) -> Any:
        def f32(value: Any) -> Any:
            return tf.cast(value, tf.float32)

        names = {**raw, "tf": tf, "raw": tf.raw_ops, "f32": f32}
        for name, value in given.items():
            kind = getattr(tf, space_of(value))
            names[name] = tf.constant(value, kind) if isinstance(value, (list, float)) else value
        return eval(call, names)  # noqa: S307 - a comment of a program of our own

    return tf.__version__, kinds, evaluate


_FLOW = r"Switch|Merge|Enter|Exit|NextIteration|LoopCond|If$|While|Case$|PartitionedCall|NoOp|Abort|Barrier"
_BY_NAME = (
    (r"Quantize|Dequantize|Requantiz|FakeQuant", "quantised numbers"),
    (r"Sparse|Ragged|CSR", "sparse and ragged tensors"),
    (r"Grad|Backprop", "gradients"),
    (_FLOW, "control flow"),
)


def kind_of(name: str, definition: Any) -> str:
    """Say what an operator of ``tf.raw_ops`` is about: by its definition, and else by its name."""
    arguments = [*definition.input_arg, *definition.output_arg]
    types = {argument.type for argument in arguments}
    resource, variant, text = 20, 21, 7  # of enum DataType
    attributes = {attribute.name for attribute in definition.attr}
    if definition.HasField("deprecation"):
        return "withdrawn"
    if re.match(r"Xla|TPU|Tpu|Collective|Nccl|Infeed|Outfeed|Configure|Compile|Prelinearize|_", name):
        return "devices and their communication"
    if "seed" in attributes or re.match(r"Stateless|Random", name):
        return "random numbers"
    if definition.is_stateful or types & {resource, variant} or any(a.is_ref for a in arguments):
        return "state, resources and data sets"
    if text in types:
        return "texts and files"
    for pattern, kind in _BY_NAME:
        if re.search(pattern, name):
            return kind
    return "tensors"


def main(arguments: list[str]) -> int:
    """Update the part of the record that is about one framework."""
    (framework,) = arguments
    version, names, evaluate = {"torch": with_torch, "tensorflow": with_tensorflow}[framework]()
    old = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    versions = old.get("versions", {}) | {framework: version}
    operators = old.get("operators", {}) | {framework: names}
    programs = {}
    for name, text in program_texts():
        known = old.get("programs", {}).get(name, [])
        rows = []
        for number, given in enumerate(drawn_cases(name, text)):
            row = {"inputs": given}
            if number < len(known) and json.dumps(known[number]["inputs"]) == json.dumps(given):
                row = dict(known[number])
            results = [plain(evaluate(call, dict(given))) for call in calls(text, framework)]
            row.pop(framework, None)
            if results:
                assert all(json.dumps(one) == json.dumps(results[0]) for one in results), (name, results)
                row[framework] = results[0]
            rows.append(row)
        programs[name] = rows
    RECORD.write_text(record_text(versions, operators, programs), encoding="utf-8")
    return 0


def record_text(versions: Any, operators: Any, programs: dict[str, list[Any]]) -> str:
    """Write the record, with a line for each case."""
    lines = [f'{{"versions": {json.dumps(versions)},']
    lines += [
        '"operators": ' + json.dumps(operators, separators=(",", ":")).replace('",', '",\n') + ",",
        '"programs": {',
    ]
    blocks = []
    for name, rows in sorted(programs.items()):
        cases = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in rows)
        blocks.append(f"{json.dumps(name)}: [\n{cases}]")
    return "\n".join([*lines, ",\n".join(blocks) + "}}", ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
