"""What a user reads is what was derived: a slice of ``tools.result.shown``, and what it has found."""

import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import onnx
import pytest
from msgspec.structs import replace
from onnx import TensorProto, helper

import tolcost
from tolcost.algebra import Poly, evaluate, length, the_symbol
from tolcost.algebra.parse import parse_text
from tolcost.algebra.powers import powers
from tolcost.atoms.nodes import Program
from tolcost.cost import record
from tolcost.cost.derive import derive
from tolcost.cost.device import Duration
from tolcost.cost.record import FormRatio
from tolcost.cost.traffic import Traffic
from tolcost.cost.weights import Weighed
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import lower, read_program
from tolcost.result.derivation import derivation_json, derivation_text
from tolcost.result.study import Located
from tolcost.result.view import CostView, written
from tolcost.show.document import Code, Fact, Facts, latex_of, mathml_of, text_of, write
from tolcost.show.shorten import MORE, percent_text, si
from tools.result.shown import Browser, compared, random_programs, spec_programs, wrong_program
from tools.result.shown_models import wrong_model
from tools.show.readers import of_latex, of_mathml, of_text

ROOT = Path(__file__).parents[2]
N = length("n")
FILTERED = """tol x: R [n]
tol m: B [n]
y := map(tol[n - 2], x[i] + x[i + 2], [i])
z := reduce(filter(x, m), (a, e) => where(a > e, exp(a), e), 0)
"""
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@needs_node
def test_random_programs_are_shown_as_they_are() -> None:
    browser = Browser()
    programs = [*random_programs(range(18)), *list(spec_programs())[::60]]
    for name, text, seed in programs:
        try:
            assert list(wrong_program(text, seed, browser)) == [], name
        except Rejected:
            continue
    assert list(browser.wrong()) == []
    assert min(compared[kind] for kind in ("text", "fragment", "csv", "json", "browser")) > 200


@needs_node
def test_a_model_is_shown_as_it_is() -> None:
    assert list(wrong_model(str(ROOT / "examples" / "bert.onnx"))) == []


@pytest.mark.parametrize("form", [3 * powers(2, N), 12 * powers(10, N) * N + 1, powers(2, N) * 2], ids=str)
def test_a_number_and_a_power_of_one_are_two_numbers(form: Poly) -> None:
    """``3 2^{n}`` is set as 32 to the n."""
    for n in (1, 2, 5):
        wanted = evaluate(form, {the_symbol(N): n})
        assert of_text(text_of(form), {"n": n}) == wanted
        assert of_latex(latex_of(form), {"n": n}) == wanted
        assert of_mathml(mathml_of(form), {"n": n}) == wanted


def test_a_time_in_latex_keeps_numbers_apart() -> None:
    one, other = Weighed(4 * N, 1, "µs"), Weighed(N + 1, 1, "µs")
    for time in (
        Duration(one.at({the_symbol(N): 1}), ((2, (one, other)),)),
        Duration(Fraction(0), ((3, (other,)),)),
    ):
        assert of_latex(latex_of(time), {"n": 5}) == time.at({the_symbol(N): 5})


def test_bounds_data_and_conditions_are_told_in_every_format() -> None:
    cost = tolcost.analyze(FILTERED)
    shown = {form: written([cost], form, CostView()) for form in ("text", "md", "fragment")}
    for form, text in shown.items():
        for said in ("depends on data", "olds where", "at most", "at least"):
            assert said in text, (form, said)
    assert "by data: 0 \\<= z1 \\<= n" in shown["md"]
    rows = {tuple(row[:2]): row[5] for row in cost.to_frame().to_numpy().tolist()}
    assert (rows["depth", ""], rows["parallelism", ""], rows["bytes", ""]) == ("at most", "at least", "exact")
    assert rows["eops", ""] == "depends on data"


def test_lines_have_what_is_theirs() -> None:
    text = "tol x: R [n]\na := map(x, exp(*) + 1)\ny := reduce(map(a, * * 2), add, 0)\n"
    frame = tolcost.analyze(text).by("line")
    assert frame.columns.tolist() == ["line", "nodes", "eops", "flops", "status"]
    assert frame.line.tolist() == ["line 2", "line 3"]
    assert sum(frame.flops) == tolcost.analyze(text).flops
    with pytest.raises(Rejected, match="a line has no bytes"):
        tolcost.analyze(text).plot("n", by="line", metric="bytes")


def test_what_is_exact_stays_so_where_numbers_are_large() -> None:
    """A condition for that may be a number that JSON has as text."""
    text = "tol x: R [n, m]\ny := map(tol[n*m*m - 1], x[1, 1] * i, [i])"
    cost = tolcost.analyze(text).subs(n=2**30, m=2**30)
    assert '"bytes_exact": true' in cost.to_json().partition('"at"')[2]
    assert Located(cost.study, cost.point).moves_all


@needs_node
@pytest.mark.parametrize(
    "module, call, wanted",
    [
        ("site/src/chart.js", "short(100000)", "100 k"),
        ("site/src/chart.js", "short(120000)", "120 k"),
        ("site/src/chart.js", "short(999999)", "1 M"),
        ("tolcost/show/pages/parts.js", "short(999999n)", "1.00 M"),
        ("tolcost/show/pages/parts.js", "short([2n, 3n])", "0.667"),
        ("tolcost/show/pages/parts.js", "decimal([1n, 80000n])", "0.0000125"),
        ("tolcost/show/pages/parts.js", "decimal([10n ** 400n + 1n, 10n ** 399n])", "10"),
        ("tolcost/show/pages/parts.js", 'visible("a\u202eb")', r"a\u{202e}b"),
        ("tolcost/show/pages/parts.js", 'holds([">=", {v: "z"}], new Map())', "null"),
    ],
)
def test_numbers_that_scripts_show(module: str, call: str, wanted: str) -> None:
    script = (ROOT / module).read_text(encoding="utf-8").replace("export function", "function")
    done = subprocess.run(
        ["node", "-e", f"{script}\nconsole.log(String({call}))"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == wanted


NUMBERS: list[int | Fraction] = [
    *(sign * (10**power + step) for power in range(0, 40, 1) for step in (-1, 0, 1) for sign in (1, -1)),
    *(995 * 10**power for power in range(12)),
    *(9995 * 10**power for power in range(12)),
    *(1125 * 10**power + step for power in range(12) for step in (-1, 0, 1)),
    *(
        Fraction(top, bottom)
        for top in (1, 2, 9, 45, 999, 12345)
        for bottom in (1, 3, 7, 8, 800, 10**6, 10**60)
    ),
    *(
        Fraction(top, 10**7)
        for top in (0, 5625, 5615, 9995, 99949999, 99950000, 9994999, 9995000, 12345, 10000)
    ),
]
"""Around every change of the prefix and of the number of decimal places, and where there is a tie."""


@needs_node
def test_pages_round_as_the_terminal_does() -> None:
    """One number has one spelling: integers, quotients and shares."""
    shares = [Fraction(number) for number in NUMBERS if number >= 0]
    parts = (ROOT / "tolcost/show/pages/parts.js").read_text(encoding="utf-8")
    written_ = [
        *(f"{n}n" if isinstance(n, int) else f"[{n.numerator}n, {n.denominator}n]" for n in NUMBERS),
    ]
    program = f"""{parts}
      console.log(JSON.stringify([{", ".join(written_)}].flatMap((n) => [short(n), short(n, "B")])));
      console.log(JSON.stringify([{", ".join(f"[{one.numerator}n, {one.denominator}n]" for one in shares)}]
        .map(([part, whole]) => inPercent(part, whole))));"""
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True)
    numbers, percents = map(json.loads, done.stdout.splitlines())
    assert numbers == [text for n in NUMBERS for text in (si(n), si(n, "B"))]
    assert percents == [percent_text(share) for share in shares]


@pytest.mark.parametrize(
    "names", [("a(", "b)"), ("n2", "n_2"), ("x" * 70 + "1", "x" * 70 + "2"), ("a|b", "`q`")]
)
def test_names_of_any_kind_are_told_apart(names: tuple[str, str]) -> None:
    first, second = map(length, names)
    at = {the_symbol(first): 7, the_symbol(second): 4}
    for form in (FormRatio(first + second, first), FormRatio(first - second, 2 * second), first + 2 * second):
        wanted = form.at(at) if isinstance(form, FormRatio) else evaluate(form, at)
        values = {names[0]: 7, names[1]: 4}
        assert of_text(text_of(form), values) == wanted
        assert of_latex(latex_of(form), values) == wanted
        assert of_mathml(mathml_of(form), values) == wanted


def test_a_stroke_in_a_name_is_just_that() -> None:
    facts = Facts((Fact("input", Code("x: R [`a|b`]")), Fact("a|b >= 1", level=1, remark="why")))
    assert write((facts,), "md") == "- input `` x: R [`a|b`] ``\n- `a|b >= 1`: why\n"


def test_what_a_sum_runs_over_has_one_name() -> None:
    """Where all short names are taken, it is ``i1``: in LaTeX the same below the sign and behind it."""
    taken = "ijklpqrstuvw"
    form = sum((length(name) for name in taken), parse_text("Sum(floor(a*m/n), (a, 1, n))", {"n": N}))
    values = {**dict.fromkeys(taken, 1), "n": 5, "m": 3}
    wanted = evaluate(form, {symbol: values[symbol.name] for symbol in form.free})
    for written_, read in ((text_of, of_text), (latex_of, of_latex), (mathml_of, of_mathml)):
        assert read(written_(form), values) == wanted


def test_every_symbol_of_a_figure_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read may depend on something that EOPs and shapes do not mention."""
    genuine = record.traffic

    def asking(program: Program) -> Traffic:
        return replace(genuine(program), read={"R": 4 * length("s")})

    monkeypatch.setattr(record, "traffic", asking)
    cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*))")
    assert cost.symbols == ("n", "s")
    assert cost(n=5, s=2).bytes == 8 + 20


def test_bytes_of_nodes_and_operators_say_whether_they_are_bounds(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, "h", "w"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    steps = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["y"], kernel_shape=[3, 3], strides=[2, 2]),
    ]
    graph = helper.make_graph(steps, "windows", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "w.onnx")
    cost = tolcost.load_model(tmp_path / "w.onnx")
    shown = json.loads(cost.to_json())
    for by in ("by_op", "nodes"):
        assert {one["op"]: one["bytes_exact"] for one in shown[by]} == {"MaxPool": False, "Relu": True}
    here = json.loads(cost.subs(n=1, h=9, w=9).to_json())
    assert [one["at"]["bytes_exact"] for one in here["by_op"]] == [True, True]
    rows = written([cost], "csv").splitlines()
    assert [row.rpartition(",")[2] for row in rows] == ["bytes_status", "upper bound", "exact"]


def test_a_derivation_says_what_its_coordinates_are_and_that_it_is_a_bound() -> None:
    text = """tol x: R [n]
y := map(tol[n], where(2 * i <= n, x[i] + 1, x[1] * 2), [i])
z := map(tol[n], choose(x[i] > 0, exp(x[i]), x[i]), [i])
"""
    derivation = derive(lower(read_program(Source("case.tol", text))).program)
    told = json.loads(derivation_json(derivation, "case", "case.tol"))
    assert told["exact"] is False
    assert derivation_text(derivation, "case", "case.tol").strip().endswith(", at most")
    forms = [step["form"] for step in told["chains"][0]["steps"]]
    assert "Sum(Piecewise((1, n >= 2*i), (1, True)), (i, 1, n))" in forms


@pytest.mark.parametrize("width", [None, 60, 100])
def test_every_step_of_a_derivation_is_whole(width: int | None) -> None:
    path = ROOT / "specs" / "examples" / "causal_attention.tol"
    derivation = derive(lower(read_program(Source(path.name, path.read_text()))).program)
    told = derivation_text(derivation, "causal_attention", path.name, width=width)
    assert MORE not in told
    if width is None:
        for line in told.splitlines()[3:-1]:
            equation = re.split(r"  (?:line|all)", line)[0]
            assert equation.count("(") == equation.count(")"), line
