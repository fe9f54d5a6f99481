"""Circuits: as large and as deep as the closed forms say, the same after a file, compared as polynomials."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random

import jsonschema
import numpy as np
import pytest

from tests.kernels.holding import SPECS, Held, drawn, hold, outputs_of, same_values
from tolcost.algebra import evaluate, symbols_of_cond
from tolcost.apps.circuits.circuit import Circuit, circuit_of
from tolcost.apps.circuits.files import circuit_dot, circuit_json, circuit_program, read_circuit
from tolcost.apps.circuits.identity import same_polynomials
from tolcost.atoms.lengths import given_lengths
from tolcost.atoms.nodes import Program
from tolcost.cost import analyze_program
from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_vectorised
from tolcost.pipeline import lower, read_program
from tools.programs.road import lengths_of

SIZES = {"m": 3, "w": 3, "steps": 3}
# what data decides (where to write, how long a result is) is no wire
NO_CIRCUIT = {
    *(f"motifs/graph/{name}" for name in ("bellman_ford", "dijkstra", "max_flow")),
    *(f"motifs/sampling/{name}" for name in ("reservoir", "shuffle")),
    *(f"motifs/set/{name}" for name in ("difference", "distinct", "intersection", "union", "union_find")),
    *(f"motifs/sort/{name}" for name in ("counting", "merge")),
    *(f"motifs/statistics/{name}" for name in ("histogram", "kmeans")),
    *("turing/machine", "turing/busy_beaver", "lambda/ski", "lambda/normal_order"),
}
# a step of a fold waits for less than all that the one before gives: the closed form is more than the depth
LESS_DEEP = {
    *(f"circuits/{name}" for name in ("determinant", "elimination", "powers")),
    *(f"motifs/{name}" for name in ("logic/edit_distance", "matrix/conjugate_gradient", "sort/insertion")),
    *("motifs/logic/sha256", "motifs/statistics/quantiles"),
    *(f"polybench/{name}" for name in ("cholesky", "deriche", "gramschmidt", "lu", "ludcmp", "nussinov")),
    *(f"polybench/{name}" for name in ("seidel-2d", "trisolv")),
}
PROGRAMS = sorted(
    str(path.relative_to(SPECS)).removesuffix(".tol")
    for folder in ("circuits", "lambda", "motifs", "polybench", "turing")
    for path in (SPECS / folder).rglob("*.tol")
)
BACK = (
    "circuits/determinant", "circuits/powers", "motifs/transform/fft", "motifs/logic/adder",
    "motifs/logic/edit_distance", "motifs/graph/pagerank", "motifs/statistics/moments", "polybench/nussinov",
    "polybench/durbin",
)  # fmt: skip


def held(name: str) -> Held:
    one = Held(name, {})
    return Held(name, {"source": 1}) if "static source" in one.text else one


def sizes(program: Program) -> dict[str, int]:
    names = {symbol.name for symbol in lengths_of(program) if symbol.kind != "data"}
    names |= {symbol.name for each in program.conditions for symbol in symbols_of_cond(each.condition)}
    found = {name: SIZES.get(name, 2) for name in names if not name.endswith("_share")}
    size = 4 if "p" in names or "n_share" in names else 3
    return found | {name: size for name in ("n",) if name in names}


@pytest.mark.parametrize("name", PROGRAMS)
def test_size_and_depth_are_those_of_the_closed_forms(name: str) -> None:
    program = held(name).program
    dims = sizes(program)
    if name in NO_CIRCUIT:
        with pytest.raises(Rejected):
            circuit_of(program, dims)
        return
    circuit, analysis, at = circuit_of(program, dims), analyze_program(program), given_lengths(program, dims)
    assert circuit.size == evaluate(analysis.eops, at)
    assert analysis.span is not None
    depth = analysis.span.chain.at(at)
    assert circuit.depth < depth if name in LESS_DEEP else circuit.depth == depth
    assert not (analysis.span.chain.exact and name in LESS_DEEP)
    assert read_circuit(circuit_json(circuit)) == circuit


def test_the_index_says_how_many_are_less_deep() -> None:
    told = f"so it is for {len(LESS_DEEP)} of {len(PROGRAMS) - len(NO_CIRCUIT)} programs here"
    assert told in (SPECS.parent / "docs" / "libraries.md").read_text("utf-8")


@pytest.mark.parametrize("name", BACK)
def test_a_circuit_read_back_is_a_program_that_computes_and_costs_the_same(name: str) -> None:
    program = held(name).program
    dims = sizes(program)
    circuit = read_circuit(circuit_json(circuit_of(program, dims)))
    again = lower(read_program(Source("again.tol", circuit_program(circuit)))).program
    at = given_lengths(program, dims)
    found, expected = analyze_program(again), analyze_program(program)
    counts = {key: times for key, form in expected.counts.histogram.items() if (times := evaluate(form, at))}
    assert {key: form.constant for key, form in found.counts.histogram.items()} == counts
    assert found.span is not None
    assert found.span.chain.at({}) == circuit.depth
    given = drawn(program, {symbol.name: value for symbol, value in at.items()}, np.random.default_rng(0))
    runs = [run_vectorised(each, given, sizes_) for each, sizes_ in ((program, dims), (again, {}))]
    for a, b in zip(*map(outputs_of, runs), strict=False):
        same_values(a, b, name, 1e-12)


@pytest.mark.parametrize("name", ["motifs/transform/fft", "polybench/nussinov", "motifs/logic/adder"])
def test_a_file_keeps_to_its_schema(name: str) -> None:
    schema = json.loads((SPECS.parent / "docs" / "schemas" / "circuit.json").read_text("utf-8"))
    program = held(name).program
    written = json.loads(circuit_json(circuit_of(program, sizes(program))))
    jsonschema.Draft202012Validator(schema).validate(written)


def test_a_graph_for_graphviz() -> None:
    circuit = circuit_of(held("circuits/horner").program, {"n": 2})
    text = circuit_dot(circuit)
    assert text.startswith("digraph circuit {")
    assert text.count("[label=") == circuit.size
    assert '[shape=plaintext, label="c[2]"]' in text


def polynomial(name: str, **dims: int) -> Circuit:
    return circuit_of(held(name).program, dims)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_two_ways_to_one_polynomial(n: int) -> None:
    horner, powers = polynomial("circuits/horner", n=n), polynomial("circuits/powers", n=n)
    assert same_polynomials(horner, powers).differs is None
    bird, elimination = polynomial("circuits/determinant", n=n), polynomial("circuits/elimination", n=n)
    found = same_polynomials(bird, elimination)
    assert found.differs is None
    assert found.error < 1e-100


def test_unused_gates_are_as_deep_in_the_program_read_back() -> None:
    """The program had one more output for each, and a depth of 44 where the circuit said 36."""
    program = held("motifs/matrix/conjugate_gradient").program
    circuit = circuit_of(program, sizes(program))
    again = circuit_of(lower(read_program(Source("again.tol", circuit_program(circuit)))).program, {})
    assert (again.size, again.depth) == (circuit.size, circuit.depth)


def test_bits_read_as_another_type_are_no_wire() -> None:
    program = lower(read_program(Source("b.tol", "tol x: float32 [n]\ny := bitcast(x, int32)\n"))).program
    with pytest.raises(Rejected, match="bits that are read as another type"):
        circuit_of(program, {"n": 2})


@pytest.mark.parametrize(
    "index, told", [("0", "index 0 is outside 1..2"), ("3", "an index stays inside its dimension")]
)
def test_a_member_out_of_range_is_no_wire(index: str, told: str) -> None:
    """With 0 it was the last element, with 3 an error of Python; and a run stops there."""
    text = f"tol x: R [n]\ny := reduce(tol[1], (s, z) => (s[1]' + x[s[2]'], s[2]'), (0, {index}), [k])[1]'\n"
    program = lower(read_program(Source("x.tol", text))).program
    with pytest.raises(Rejected, match=told):
        circuit_of(program, {"n": 2})
    with pytest.raises(Rejected, match=told):
        run_vectorised(program, {"x": np.ones(2)})


def test_seven_products_instead_of_eight() -> None:
    strassen, plain = polynomial("motifs/matrix/strassen", n=4), polynomial("examples/matmul", n=4, k=4, m=4)
    assert [sum(gate.function == "mul" for gate in each.gates) for each in (strassen, plain)] == [56, 64]
    assert same_polynomials(strassen, plain).differs is None


def test_a_difference_is_found_and_what_is_no_polynomial_refused() -> None:
    wrong = circuit_of(
        lower(read_program(Source("w.tol", "tol c: R [n]\ntol x: R\ny := c[1] + x\n"))).program, {"n": 2}
    )
    assert same_polynomials(polynomial("circuits/horner", n=2), wrong).differs == "y, element 1"
    other = polynomial("motifs/sort/odd_even", n=2)
    with pytest.raises(Rejected, match="no arithmetic gate"):
        same_polynomials(other, other)


@pytest.mark.parametrize("seed", range(60))
def test_a_broken_file_is_a_diagnostic(seed: int) -> None:
    text = circuit_json(polynomial("motifs/logic/adder", n=2))
    random = Random(seed)
    data = json.loads(text)
    here = random.choice([data, *data["gates"], *data["outputs"], *data["inputs"]])
    key = random.choice(list(here))
    here[key] = random.choice(
        [None, -1, 10**9, "x", [], {}, [[]], True, [{"gate": 0, "output": 7}], [{"at": [1]}]]
    )
    with suppress(Rejected):
        read_circuit(json.dumps(data))


def determinant(A):  # noqa: N803
    return np.linalg.det(A)


def evaluated(c, x):
    return np.polyval(c[::-1], x)


def symmetric(x):
    return np.poly(-x)


TWINS = {"determinant": determinant, "elimination": determinant, "horner": evaluated, "powers": evaluated}


@pytest.mark.parametrize("name", ["determinant", "elimination", "horner", "powers", "symmetric"])
def test_values(name: str) -> None:
    hold(f"circuits/{name}", TWINS.get(name, symmetric), rtol=1e-6)


def test_what_is_wrong_with_a_circuit_is_told_with_its_place() -> None:
    """Words of Python such as *'int' object is not iterable* were all that was told."""
    head = '{"tolcost": 1, "kind": "circuit", "name": "x", "inputs": [], '
    for rest, told in (
        ('"gates": []}', "the circuit has no `outputs`"),
        ('"gates": 3}', "the circuit is not of the form"),
        ('"gates": [{"function": "sine"}]}', "gate 0: there is no such function"),
        ('"gates": [[]]}', "gate 0: it is not of the form"),
        ('"gates": [], "outputs": [{"name": "y"}]}', "an output has no `space`"),
    ):
        with pytest.raises(Rejected, match=told):
            read_circuit(head + rest)
