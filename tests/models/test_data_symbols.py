"""What only data decides can be said: by name, by a relation, or as even; and names that are forms."""

from pathlib import Path

import pytest
from onnx.parser import parse_model

import tolcost
from tolcost import Cost, Rejected
from tolcost.cli import run

EXPERTS = Path(__file__).parent / "exported" / "experts.onnx"
COUNTS = ("node_NonZero_4_z1", "node_NonZero_45_z1", "node_NonZero_84_z1", "node_NonZero_123_z1")
HEAD = '<ir_version: 10, opset_import: ["" : 18]> g '


@pytest.fixture(name="experts", scope="module")
def _experts() -> Cost:
    return tolcost.load_model(EXPERTS)


def test_a_length_that_data_decides_is_one_length(experts: Cost) -> None:
    """What is cut out of what a node keeps is as long: no new symbol, no condition that they are equal."""
    assert set(experts.symbols) == {*COUNTS, "tokens"}
    assert experts.conditions == ()


def test_what_data_decides_broadcasts_where_the_other_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many are kept as another length has, which is said; where that is 1, any number may be."""
    text = "(float[m, k] x, int64[k] w) => (int64[] y) { p = NonZero(x) y = Add(p, w) }"
    file = tmp_path / "kept.onnx"
    file.write_bytes(parse_model(HEAD + text).SerializeToString())
    assert run(["model", str(file)]) == 0
    assert "p_z1 is k" in capsys.readouterr().out
    assert run(["model", str(file), "--dim", "k=1", "--dim", "m=5"]) == 0
    said = capsys.readouterr().out
    assert "y: int64 [2, p_z1]" in said
    assert "p_z1 is" not in said


@pytest.mark.parametrize(
    "text, condition",
    [
        ("(float[m] x, int64[n] w) => (int64[] y) { p = NonZero(x) y = Add(p, w) }", "m >= n"),
        (
            "(float[n] x, float[m] w) => (float[] y) <int64[1] one = {1}, int64[1] end = {99}> "
            "{ p = Slice(x, one, end) y = Add(p, w) }",
            "n >= 2",
        ),
    ],
)
def test_a_length_that_is_another_stays_in_its_range(text: str, condition: str) -> None:
    """A point refused what a sweep, and many points at once, had numbers for; and no condition was told."""
    cost = tolcost.from_onnx(parse_model(HEAD + text))
    assert cost.conditions == (condition,)
    points = [{name: (m, n)[name == "n"] for name in cost.symbols} for m in (1, 2, 5) for n in (1, 2, 3)]
    for point in points:
        try:
            number = cost(point).eops
        except Rejected:
            number = None
        assert tolcost.sweep(cost, point, metrics=["eops"])["eops"].dropna().tolist() == (
            [] if number is None else [number]
        )


@pytest.mark.parametrize(
    "length, names", [("n", {"kept_z1", "kept_z1_2"}), ("kept_z1", {"kept_z1_2", "kept_z1_3"})]
)
def test_nodes_that_are_called_alike_have_lengths_of_their_own(length: str, names: set[str]) -> None:
    """Two lengths had one name, and whoever said what it is set one of them."""
    text = (
        f"(float[{length}] x, float[{length}] w) => (float[] y, float[] z) {{ p = NonZero(x) q = NonZero(w) "
    )
    text += "a = Cast<to = 1>(p) b = Cast<to = 1>(q) y = Exp(a) z = Exp(b) }"
    model = parse_model(HEAD + text)
    model.graph.node[0].name = model.graph.node[1].name = "kept"
    cost = tolcost.from_onnx(model)
    assert set(cost.symbols) == names | {length}
    assert cost({length: 9, **dict(zip(sorted(names), (3, 4), strict=True))}).eops == 2 * 9 + 3 + 4


def test_counts_are_set_by_name(experts: Cost) -> None:
    counts = dict(zip(COUNTS, (3, 5, 0, 8), strict=True))
    there = experts({"tokens": 8, **counts})
    assert there.macs == 8 * 16 * 4 + sum(counts.values()) * (
        16 * 16 + 16
    )  # what experts say is weighed and added
    with pytest.raises(tolcost.Rejected) as caught:
        experts({"tokens": 8, **counts, COUNTS[0]: 17})  # of 16 that there are
    assert caught.value.code == "T0343"
    with pytest.raises(tolcost.Rejected, match="no length `node_NonZero_5_z1`"):
        experts({"node_NonZero_5_z1": 1})


def test_a_relation_gives_one_closed_form(experts: Cost, capsys: pytest.CaptureFixture[str]) -> None:
    """Every token goes to two experts, whichever: the cost is that of two experts for each token."""
    for text in ("sum(node_NonZero_*_z1) = 2*tokens", "each(node_NonZero_*_z1) = (2*tokens)/4"):
        assert str(experts.assume(text).macs) == f"{4 * 16 + 2 * (16 * 16 + 16)}*tokens"
    assert run(["model", str(EXPERTS), "--dim", "tokens=8", "--dim", f"{COUNTS[0]}=3"]) == 0
    said = capsys.readouterr().out
    assert f"0 <= {COUNTS[1]} <= 2*tokens  how many entries are kept" in said
    assert "--assume 'sum(node_NonZero_*_z1) = 2*tokens'" in said
    for wrong in ("sum(nothing*) = tokens", "sum(node_NonZero_*_z1) = q", "2*tokens = 3*tokens"):
        with pytest.raises(tolcost.Rejected):
            experts.assume(wrong)


@pytest.mark.parametrize(
    "declared, names",
    [
        ("4*h", {"h"}),
        ("past + 1", {"past"}),
        ("batch-size", {"batch-size"}),
        ("h/2", {"h/2"}),
    ],
)
def test_names_that_exporters_write_as_forms_are_forms(declared: str, names: set[str]) -> None:
    text = f"{HEAD} (float[n] x) => (float[n] y) {{ y = Exp(x) }}"
    model = parse_model(text)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = declared
    assert set(tolcost.from_onnx(model).symbols) == names


def test_forms_in_names_count() -> None:
    model = parse_model(f"{HEAD} (float[h] a, float[m] b) => (float[k] y) {{ y = Concat <axis = 0> (a, b) }}")
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "4*h - 1"
    cost = tolcost.from_onnx(model)
    assert cost(h=8).bytes == 2 * 4 * (5 * 8 - 1)
    assert cost({"4*h - 1": 31}).bytes == 2 * 4 * (5 * 8 - 1)
    with pytest.raises(tolcost.Rejected):
        cost({"4*h - 1": 32})


def test_a_symbol_that_only_bytes_mention_can_be_said() -> None:
    """Which elements Trilu reads goes by its diagonal: it was in the form, and could be given no number."""
    cost = tolcost.from_onnx(
        parse_model(HEAD + "(float[4, 5] x, int64 k) => (float[4, 5] y) { y = Trilu(x, k) }")
    )
    assert cost.symbols == ("k",)
    assert (cost(k=0).bytes, cost(k=1).bytes) == (4 * (20 + 14), 4 * (20 + 10))
