"""Nodes of graphs inside of others that are copied, because another like them was elaborated before.

What they come to is what it would be if every one of them were elaborated, whatever is around them.
"""

from pathlib import Path

import pytest
from onnx.parser import parse_model

import tolcost
from tolcost.atoms.verify import verify
from tolcost.catalogue import subgraphs
from tolcost.elaborate import again
from tolcost.models.lowered import Lowered
from tolcost.models.schemes import _last

HEAD = """<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[n, n] x, float[n, k] w, bool p) => (float[n, n] y) {{
  at = Constant <value = int64 {{0}}> ()
  few = Constant <value = int64[1] {{3}}> ()
  size = Shape(x)
  m = Gather(size, at)
  {}
}}"""
LOOP = """y, s = Loop <body = b (int64 i, bool c, float[n, n] v) => (bool d, float[n, n] z, float[n, n] o) {{
  d = Identity(c)
  {}
}}> (m, , x)"""
BRANCH = """y = If <
  then_branch = t () => (float[n, n] z) {{ {} }},
  else_branch = e () => (float[n, n] u) {{ {} }}
> (p)"""

BODIES = {
    "alike": "a = MatMul(v, v) b = MatMul(v, x) e = MatMul(a, b) f = Exp(e) z = Exp(f) o = Exp(z)",
    "one and the same": "a = Mul(v, v) b = Mul(v, x) e = Mul(x, v) f = Mul(x, x) g = Sum(a, b, e, f) "
    "z = Sum(g, g, v, v) o = Sum(v, v, g, g)",
    "by the turn": "r = Gather(x, i) j = Add(i, i) t = Cast <to = 1> (j) a = Mul(v, t) z = Add(a, r) "
    "q = Add(v, r) o = Mul(q, t)",
    "lengths that are equal": "a = MatMul(w, x) b = MatMul(w, v) e = MatMul(a, b) z = Add(e, v) "
    "o = Add(a, v)",
    "several outputs": "a, b = TopK <axis = 1> (v, few) e, f = TopK <axis = 1> (x, few) z = Add(a, e) "
    "g = Add(b, f) h = Cast <to = 1> (g) o = Add(h, z)",
    "sums": "a = Softmax(v) b = Softmax(a) e = Softmax <axis = 0> (b) f = Softmax(x) "
    "z = Add(e, f) o = Add(f, e)",
}
BRANCHES = [
    ("a = MatMul(x, x) z = Exp(a)", "a = MatMul(x, x) q = MatMul(a, a) u = Exp(q)"),
    ("a = Softmax(x) b = Softmax(a) z = Add(a, b)", "a = Softmax <axis = 0> (x) u = Add(a, a)"),
]


def models() -> dict[str, str]:
    loops = {name: LOOP.format(body) for name, body in BODIES.items()}
    return loops | {f"branch {n}": BRANCH.format(*sides) for n, sides in enumerate(BRANCHES)}


def lowered(text: str, *specs: Path) -> Lowered:
    """The node with graphs inside, lowered in a process that knows nothing yet."""
    _last.clear()
    study = tolcost.from_onnx(parse_model(HEAD.format(text)), specs=specs).study
    assert study.coverage.missing == ()
    (found,) = (
        part for applied in study.cost.nodes for part, _ in applied.parts if part.op in ("Loop", "If")
    )
    return found


def told(found: Lowered) -> list[str]:
    """All that is told of an operator."""
    counts, traffic = found.counts, found.traffic
    parts = (counts.histogram, counts.index, counts.atoms, counts.macs, traffic.read, traffic.written)
    more = (traffic.certain, found.outputs, found.conditions, found.equal, found.inside, counts.status)
    return [*map(str, (*parts, *more)), str(tolcost.cost.depths(found.program).chain.candidates)]


@pytest.mark.parametrize("name", models())
def test_what_is_copied_is_what_would_be_elaborated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[object] = []
    copied = again._copy
    monkeypatch.setattr(again, "_copy", lambda *given: (found := copied(*given), copies.append(found))[0])
    found = lowered(models()[name])
    verify(found.program)
    assert copies
    assert None not in copies
    monkeypatch.setattr(subgraphs, "apply_or_copy", lambda env, known, program, inputs, apply: apply())
    assert told(lowered(models()[name])) == told(found)


def test_what_depends_on_how_a_value_came_about_is_not_copied(tmp_path: Path) -> None:
    """Whole numbers become integers for free, others have to be rounded: the type of both is the same."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "Whole.tol").write_text(
        "# Integers.\noperator Whole\ntol x: R [...]\ny := convert(x, int64)\n"
    )
    body = "a = Floor(v) b = own.Whole(a) z = Exp(v) f = own.Whole(z) g = Add(b, f) o = Cast <to = 1> (g)"
    functions = dict(lowered(LOOP.format(body), tmp_path).counts.histogram)
    assert functions["round", "float32"] == functions["floor", "float32"] == functions["add", "int64"]


def test_a_loop_in_a_loop_has_coordinates_of_its_own(tmp_path: Path) -> None:
    """What was elaborated under one coordinate is no copy where there are two: its own may be one of them."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "Sums.tol").write_text(
        "# Every row times its sum.\noperator Sums\ntol x: R [n, m]\n"
        "sums = map(tol[n], reduce(x[k], add, 0), [k])\ny := map(x, * * sums[i], [i, j])\n"
    )
    inside = """q, r = Loop <
      body = b (int64 i, bool c, float[n, n] u) => (bool d, float[n, n] t, float[n, n] s) {
        d = Identity(c) t = own.Sums(u) s = own.Sums(t)
      }> (m, , v)"""
    found = lowered(LOOP.format(f"a = own.Sums(v) {inside} z = Add(a, q) o = own.Sums(z)"), tmp_path)
    verify(found.program)
    assert str(found.counts.histogram["mul", "float32"]) == "2*n**3*(n + 1)"
