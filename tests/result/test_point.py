"""One gate for numbers: where a condition fails there is no figure, whoever asks."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.parser
import pytest
from onnx import helper

import tolcost.show.html as page
from tests.models.test_hostile import costed, model, studied
from tests.models.test_models import ints
from tolcost.algebra import evaluate
from tolcost.api import analyze, load_model
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.cost import Traffic
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.result.growth import Sweep, growth
from tolcost.result.page import _data, _Timed
from tolcost.result.page_forms import PageForms
from tolcost.result.study import Located, locate_study
from tools.models import graphs

Sized = tuple[str, Callable[[int], int]]
WINDOWS = Path(__file__).parents[1] / "cli" / "programs" / "windows.tol"


def reshaped() -> onnx.ModelProto:
    """A model that can only run where n is 1."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Exp", ["r"], ["y"])]
    return model(nodes, initial=[ints("shape", 2, 2)])


def test_a_program_outside_of_its_conditions_has_no_numbers() -> None:
    """Windows of k elements, s apart: n + s >= k."""
    cost = analyze(WINDOWS)
    assert cost.conditions == ("n + s >= k",)
    assert cost(n=9, k=3, s=1).eops is not None
    for wrong in ({"n": 1, "k": 9, "s": 1}, {"n": 0, "k": 1, "s": 1}):
        with pytest.raises(Rejected):
            cost(wrong)
        with pytest.raises(Rejected):
            analyze(WINDOWS, wrong)
    given = ["--dim", "n=1", "--dim", "k=9", "--dim", "s=1"]
    for form in ("text", "json", "md", "csv"):
        assert run(["analyze", str(WINDOWS), *given, "--format", form]) == 2


@pytest.mark.parametrize("form", ["text", "json", "md", "csv", "html"])
def test_a_model_outside_of_its_conditions_has_no_numbers(form: str, bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "noted.onnx"
    given = ["--dim", "batch=1", "--dim", "seq=17", "--format", form, "--annotate", str(out)]
    assert run(["model", str(bert), *given]) == 2
    assert not out.exists()


def test_a_sweep_gives_what_the_same_lengths_give() -> None:
    session = Session(open_library())
    for proto, name, others in ((graphs.bert(17, graphs.SMALL), "seq", {"batch": 2}), (reshaped(), "n", {})):
        rows = growth(costed(proto, session, **others), Sweep(name, (1, 2, 16, 17, 64))).rows
        for row in rows:
            try:
                there = costed(proto, session, **others, **{name: row.value})
            except Rejected:
                assert tuple(row.figures.values()) == (None,) * 4
                assert row.outside
            else:
                assert row.figures["eops"] == there.number(there.total.eops)
                assert row.figures["macs"] == there.number(there.total.macs)
        assert any(row.outside for row in rows)
        assert not all(row.outside for row in rows)


def test_a_sweep_has_the_figures_that_are_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """``--metric`` was ignored, and so were a device and the status of what is bounded."""
    program = tmp_path / "either.tol"
    program.write_text("tol x: R [n]\ntol c: B\ny := choose(c, map(x, exp(*)), map(x, exp(exp(*))))\n")
    asked = ["analyze", str(program), "--sweep", "n=2147483646..2147483647", "--format", "csv"]
    assert run([*asked, "--metric", "flops", "--device", "h200"]) == 0
    header, inside, outside = capsys.readouterr().out.splitlines()
    assert header == "n,flops,h200 at least for this arithmetic,h200 predicted,status,outside"
    assert inside.split(",")[1] == str(2 * 2147483646)
    assert inside.endswith(",upper bound,")
    assert outside == "2147483647,,,,upper bound,n <= 2147483646"


@pytest.mark.parametrize(
    "one, other, last",
    [
        (("n", lambda n: n), ("3 * (n % 50)", lambda n: 3 * (n % 50)), 200),
        (("n^3 + 66 * n", lambda n: n**3 + 66 * n), ("15 * n^2 + 80", lambda n: 15 * n**2 + 80), 12),
        (("n * n", lambda n: n * n), ("40 * (n / 7) + 2", lambda n: 40 * (n // 7) + 2), 90),
    ],
)
def test_what_overtakes_stays_ahead_up_to_the_end(one: Sized, other: Sized, last: int) -> None:
    """Halving the range found some length at which it turns: that of n = 50, and at 76 it is behind again."""
    texts = f"y := map(tol[{one[0]}], exp(x[1]))\nz := map(tol[{other[0]}], sin(x[1]))\n"
    cost = analyze(f"tol x: R [n]\n{texts}")
    found = growth(cost, Sweep("n", (1, last))).crossings
    (at,) = (crossing.at for crossing in found if crossing.later == "exp R")
    ahead = [one[1](n) > other[1](n) for n in range(last + 1)]
    assert all(ahead[at:])
    assert not ahead[at - 1]


def test_a_sweep_of_what_data_decides_has_forms_in_it() -> None:
    """They were *not known*, and nothing in CSV."""
    cost = analyze("tol x: R [n]\ny := map(filter(x, map(x, * > 0)), exp(*))")
    rows = growth(cost, Sweep("n", (2, 4)), frozenset(["eops"])).rows
    assert [str(row.figures["eops"]) for row in rows] == ["z1 + 2", "z1 + 4"]


def test_nothing_overtakes_what_is_only_bounded() -> None:
    squares = "reduce(tol[n, n], (a, e) => a + x[i], 0, [i, j])"
    hundreds = "reduce(tol[n, 100], (a, e) => max(a, x[i]), 1, [i, j])"
    both = analyze(f"tol x: R [n]\ny := {squares}\nz := {hundreds}\n")
    either = analyze(f"tol x: R [n]\ntol c: B\ny := choose(c, {squares}, {hundreds})\n")
    crossings = [growth(cost, Sweep("n", (1, 1000))).crossings for cost in (both, either)]
    assert either.status == "upper bound"
    assert [one.at for one in crossings[0] if one.later == "add R"] == [101]
    assert not [one for one in crossings[1] if one.later == "add R"]


def test_a_length_that_is_given_later_is_held_to_the_conditions_too() -> None:
    cost = costed(graphs.bert(17, graphs.SMALL), Session(open_library()), batch=2)
    assert cost(seq=16)["eops"] == cost.subs(seq=16).eops
    with pytest.raises(Rejected):
        cost.subs(seq=17)


def test_what_no_open_length_can_fulfil_is_broken() -> None:
    """With three more entries than a vector has, that vector had less than none, and read -4 bytes."""
    cost = analyze("attr m: N\ntol x: R [n]\ny := join(x, tol[2 * m]) + tol[m + 1]\n")
    assert cost.subs(m=0).eops == cost(m=0, n=1)["eops"] == 1
    for m in (1, 2, 3):
        with pytest.raises(Rejected, match="these lengths break a condition"):
            cost.subs(m=m)


def test_the_page_knows_the_conditions() -> None:
    pages = Path(page.__file__).parent / "pages"
    script = (pages / "model.js").read_text(encoding="utf-8")
    cost, forms = costed(graphs.bert(17, graphs.SMALL), Session(open_library())), PageForms()
    data = {**_data(cost, forms, _Timed(), None), "forms": forms.trees}
    assert {s["name"]: s["value"] for s in data["symbols"]} == {"batch": 1, "seq": 16}
    engine = script[script.index("let known") : script.index("// ---- what is shown")]
    parts = (pages / "parts.js").read_text(encoding="utf-8")
    asked = "[[1, 16], [1, 17], [4, 4096], [0, 1]]"
    lengths = "new Map([['batch', BigInt(b)], ['seq', BigInt(s)]])"
    loop = f"for (const [b, s] of {asked}) console.log(broken({lengths}).join(';'))"
    stub = (
        "const document = { querySelectorAll: () => [], getElementById: () => null, addEventListener() {} };"
        f"const data = {json.dumps(data)}; const state = {{ values: new Map() }};"
    )
    done = subprocess.run(
        ["node", "-"],
        input=f"{stub}\n{parts}\n{engine}\n{loop}",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["", "seq <= 16", "seq <= 16", "batch >= 1"]


EXPORTED = Path(__file__).parents[1] / "models" / "exported" / "bounded.onnx"
"""By torch's exporter of traces: a buffer of one row and 64 columns is cut to ``batch`` and ``seq``."""

OUTSIDE = ({"batch": 4, "seq": 3}, {"batch": 1, "seq": 65}, {"batch": 4}, {"seq": 65})


@pytest.mark.parametrize("dims", OUTSIDE, ids=str)
def test_an_exported_model_has_no_numbers_where_it_cannot_run(dims: dict[str, int], tmp_path: Path) -> None:
    given = [part for name, number in dims.items() for part in ("--dim", f"{name}={number}")]
    for form in ("text", "json", "html"):
        assert run(["model", str(EXPORTED), *given, "--format", form]) == 2
    with pytest.raises(Rejected):
        load_model(EXPORTED, dims)
    with pytest.raises(Rejected):
        load_model(EXPORTED)(dims)
    if len(dims) == 2:
        with pytest.raises(Rejected):
            load_model(EXPORTED, shapes={"patches": (dims["batch"], dims["seq"], 6)})
    assert load_model(EXPORTED)(batch=1, seq=64) == load_model(EXPORTED, {"batch": 1, "seq": 64})(seq=64)


def test_a_sweep_of_an_exported_model_stops_at_its_conditions() -> None:
    cost = load_model(EXPORTED)
    assert [bool(row.outside) for row in growth(cost, Sweep("seq", (1, 64, 65, 128))).rows] == [
        False,
        False,
        True,
        True,
    ]
    with pytest.raises(Rejected):
        growth(cost, Sweep("batch", (1, 2, 4)))
    data = _data(cost, PageForms(), _Timed(), None)
    assert [symbol["name"] for symbol in data["symbols"]] == ["seq"]


def test_bytes_of_closed_forms_are_those_of_numbers_or_at_most() -> None:
    """A window that moves by two reads all of an image with an odd width; an even one has a column more.

    Windows that are perhaps shorter than their step leave out more, so that all of the image counts.
    """
    session = Session(open_library())

    def moved(n: int | str, k: int | str = 3) -> Traffic:
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, n, n])
        y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        w = helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [1, 1, k, k])
        node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2])
        graph = helper.make_graph([node], "strided", [x, w], [y])
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        return studied(proto, session).total.traffic

    known, unknown = moved("n"), moved("n", "k")
    assert unknown.open
    assert not known.open
    for n in range(2, 12):
        exact = moved(n)
        assert not exact.is_bound()
        told, at_most = (
            evaluate(one.total, {s: n if s.name == "n" else 3 for s in one.total.free})  # type: ignore[union-attr]  # numbers have a size
            for one in (known, unknown)
        )
        assert exact.total is not None
        read = evaluate(exact.total, {})
        reached = all(evaluate(p, dict.fromkeys(p.free, n)) >= 0 for p in known.full)
        assert reached == (n >= 3)
        assert at_most - told == (4 * (2 * n - 1) if n % 2 == 0 else 0), n
        assert told == read if reached else told > read


@pytest.mark.parametrize("row, exact", [(0, True), (None, False)])
def test_bytes_are_exact_where_what_a_model_needs_leaves_no_range_empty(row: int | None, exact: bool) -> None:
    """A row of what windows give is there only if there is a window."""
    picked = "" if row is None else f"i = Constant<value_int = {row}>() z = Gather<axis = 2>(y, i)"
    text = f"""<ir_version: 8, opset_import: ["": 18]>
        main (float[1, 1, h, 8] x) => (float[a, b, c, d] {"y" if row is None else "z"})
        {{ y = MaxPool<kernel_shape = [3, 3]>(x) {picked} }}"""
    study = studied(onnx.parser.parse_model(text), Session(open_library()))
    found = {measure.key: measure for measure in locate_study(Located, study, {}).measures}
    assert ("at most" not in found["bytes"].remark) == exact
