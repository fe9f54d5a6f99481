"""Comparing costs: what may be concluded from bounds, and which lengths are which."""

from itertools import product
from pathlib import Path

import pytest
from onnx.parser import parse_model

import tolcost
from tolcost.cli import run
from tolcost.result.claims import NOTHING, Claim, conclude
from tolcost.result.compare import compare
from tolcost.result.study import Certainty
from tolcost.testing import assert_cost

STATUSES: tuple[Certainty, ...] = ("exact", "upper bound", "lower bound", "depends on data")
COSTS = tuple(product(range(3), repeat=2))
"""What two shapes may cost."""


def claim(old: tuple[int, ...], new: tuple[int, ...]) -> Claim:
    return Claim(
        any(n > o for o, n in zip(old, new, strict=True)), any(n < o for o, n in zip(old, new, strict=True))
    )


def may_say(status: Certainty, cost: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The forms that a status allows for a cost."""
    match status:
        case "upper bound":
            return [form for form in COSTS if all(f >= c for f, c in zip(form, cost, strict=True))]
        case "lower bound":
            return [form for form in COSTS if all(f <= c for f, c in zip(form, cost, strict=True))]
        case _:
            return [cost]


@pytest.mark.parametrize("old, new", list(product(STATUSES, repeat=2)))
def test_what_is_concluded_is_true_and_all_that_is(old: Certainty, new: Certainty) -> None:
    """For every pair of forms: nothing that some costs behind them contradict, and everything they share."""
    behind: dict[Claim, set[tuple[bool | None, bool | None]]] = {}
    for before, after in product(COSTS, repeat=2):
        true = claim(before, after)
        for o, n in product(may_say(old, before), may_say(new, after)):
            behind.setdefault(claim(o, n), set()).add((true.more, true.less))
    for forms, truths in behind.items():
        said = conclude(old, new, forms)
        for n, word in enumerate((said.more, said.less)):
            found = {truth[n] for truth in truths}
            assert found == {word} if word is not None else len(found) > 1, (old, new, forms)


def test_nothing_follows_from_nothing() -> None:
    for old, new in product(STATUSES, repeat=2):
        assert conclude(old, new, NOTHING) == NOTHING


@pytest.mark.parametrize(
    "more, less, word",
    [
        (False, False, "same"),
        (False, True, "cheaper"),
        (False, None, "not costlier"),
        (True, False, "costlier"),
        (True, True, "crosses"),
        (True, None, "undecided"),
        (None, False, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_words(more: bool | None, less: bool | None, word: str) -> None:
    assert Claim(more, less).relation == word


# ---- which lengths are which ------------------------------------------------------------------


def compared(old: str, new: str) -> tuple[str, tuple[str, ...]]:
    found = compare(tolcost.analyze(old), tolcost.analyze(new))
    return found.verdict, found.notes


A = "tol a: R [n]\ntol b: R [m]\ny := map(a, exp(*))"


@pytest.mark.parametrize(
    "new, verdict",
    [
        ("tol a: R [m]\ntol b: R [n]\ny := map(b, exp(*))", "crosses"),
        ("tol a: R [m]\ntol b: R [n]\ny := map(a, exp(*))", "same"),
        ("tol a: R [p]\ntol b: R [q]\ny := map(a, exp(*))", "same"),
        ("tol x: R [n]\ntol y: R [m]\nz := map(x, exp(*))", "same"),
        ("tol b: R [m]\ntol a: R [n]\ny := map(a, exp(*))", "same"),
        ("tol a: R [n]\ntol b: R [n]\ny := map(a, exp(*))", "same"),
        ("tol a: R [n]\ntol b: R [m]\ny := map(a, exp(*) + 1)", "costlier"),
    ],
)
def test_lengths_are_matched_by_where_they_stand(new: str, verdict: str) -> None:
    assert compared(A, new)[0] == verdict


def test_a_length_that_only_changed_its_name_is_told() -> None:
    assert "the length `n` is now `p`" in compared(A, A.replace("n]", "p]"))[1]


def test_what_has_no_counterpart_is_said_and_shows_nothing() -> None:
    verdict, notes = compared("tol a: R [n]\ny := map(a, exp(*))", "tol a: R [n, m]\ny := map(a, exp(*))")
    assert verdict == "undecided"
    assert {"only the old one has `n`", "only the new one has `m`"} <= set(notes)


FILTER = "tol x: R [n]\nkept := filter(x, map(x, * > 0))\ny := map(kept, exp(*))"


def test_what_data_decides_is_matched_by_its_place() -> None:
    assert compared(FILTER, FILTER)[0] == "same"
    assert compared(FILTER, FILTER.replace("kept", "rest"))[0] == "same"
    assert compared(FILTER, FILTER + "\nz := map(kept, exp(*) + 1)")[0] == "costlier"


CHOICE = "tol x: R [n]\ntol c: bool\ny := choose(c, map(x, exp(*)), map(x, exp(*) + 1))"


def test_an_old_upper_bound_makes_nothing_cheaper() -> None:
    """The old program may do half of what is said of it; the new one always does all of it."""
    new = "tol x: R [n]\ntol c: bool\ny := map(x, exp(*) + 1)"
    assert tolcost.analyze(CHOICE).status == "upper bound"
    found = compare(tolcost.analyze(CHOICE), tolcost.analyze(new))
    assert found.whole.claim.more is None
    assert found.whole.claim.less is False
    assert compare(tolcost.analyze(new), tolcost.analyze(CHOICE)).whole.claim == Claim(more=False, less=None)


def test_a_program_is_the_same_as_itself_whatever_it_is(tmp_path: Path) -> None:
    for n, text in enumerate((A, FILTER, CHOICE)):
        path = tmp_path / f"{n}.tol"
        path.write_text(text, encoding="utf-8")
        assert run(["diff", str(path), str(path)]) == 0


EVEN = "tol x: R [n]\nk = exact(n, 2)\ny := map(tol[2 * k], exp(x[i]) + 1, [i])"
LATE = "tol x: R [n]\ny := map(tol[n - 2], exp(x[i + 2]) + 1, [i])"
FEW = "tol x: R [n]\nz = map(tol[3 - n], 1, [i])\ny := map(x, exp(*) + z[1])"
ANY = "tol x: R [n]\ny := map(x, exp(*) + 1)"


def test_what_only_one_of_the_two_needs_is_told() -> None:
    assert "the new one needs n >= 2, the old one did not" in compared(ANY, LATE)[1]
    assert "the old one needed n >= 2, the new one does not" in compared(LATE, ANY)[1]
    assert compared(LATE, LATE)[1] == ()


def test_a_length_that_is_a_multiple_of_another_is_matched_both_ways() -> None:
    assert compared(ANY, EVEN)[0] == compared(EVEN, ANY)[0] == "same"


def test_where_no_lengths_fit_both_nothing_is_concluded() -> None:
    """Four elements, and at most three: what holds of no lengths says nothing of two costs."""
    found = compare(tolcost.analyze(ANY.replace("n", "4")), tolcost.analyze(FEW))
    assert found.verdict == "undecided"
    assert found.whole.why == "no lengths were found that both allow"


@pytest.mark.parametrize(
    "was, now", [("n + 2, 3", "n, n + 1"), ("n, 1", "n, n"), ("n, n", "n, 2*n"), ("n, 3", "n, 4")]
)
def test_inputs_that_differ_at_most_lengths_are_told_and_each_costs_its_own(was: str, now: str) -> None:
    """What held where both are of one size, at a single length or at none, was said of all lengths."""
    old, new = (f"tol w: R [n]\ntol x: R [{shape}]\ny := map(x, exp(*))" for shape in (was, now))
    verdict, notes = compared(old, new)
    assert verdict in ("costlier", "crosses")
    assert compared(new, old)[0] in ("cheaper", "crosses")
    assert any(note.startswith("the input `x` was [") for note in notes)


@pytest.mark.parametrize("was, now", [("n, 1", "n, m"), ("n, n", "n, m"), ("n + 1, 2", "m, k")])
def test_several_inputs_that_may_be_larger_in_the_same_way_are_compared_alike(was: str, now: str) -> None:
    old, new = (f"tol x: R [{s}]\ntol w: R [{s}]\ny := map(x, exp(*) + w[1, 1])" for s in (was, now))
    verdict, notes = compared(old, new)
    assert verdict == "same"
    assert not any(note.startswith("the input") for note in notes)


def test_an_input_that_may_be_larger_is_compared_where_it_is_as_it_was() -> None:
    old, new = (f"tol x: R [{shape}]\ny := map(x, exp(*))" for shape in ("n, 1", "n, m"))
    verdict, notes = compared(old, new)
    assert verdict == "same"
    assert "compared where m <= 1" in notes


def test_an_input_of_another_size_is_told_and_each_costs_its_own() -> None:
    old, new = "tol x: R [n, 3]\ny := map(x, exp(*))", "tol x: R [n, 4]\ny := map(x, exp(*))"
    verdict, notes = compared(old, new)
    assert verdict == "costlier"
    assert compared(new, old)[0] == "cheaper"
    assert notes == ("the input `x` was [n, 3] and is [n, 4]: each is costed with its own",)


def test_a_length_at_places_of_different_lengths_is_that_of_its_name() -> None:
    """It was the first of them, `t + 1`, with which the old one cost more than the new one."""
    old, new = (f"tol x: R [{shape}]\ny := map(x, exp(*))" for shape in ("t, t", "t + 1, t"))
    verdict, notes = compared(old, new)
    assert verdict == "costlier"
    assert notes == ("the input `x` was [t, t] and is [t + 1, t]: each is costed with its own",)


def test_a_difference_shows_where_one_length_tells_another_that_no_figure_has() -> None:
    old = "tol w: R [n]\ntol x: R [n]\ny := map(x, * + 1)"
    new = "tol w: R [n]\ntol x: R [m]\ny := map(w, * + w[3])\nz := map(w, * + 1)"
    verdict, notes = compared(old, new)
    assert verdict == "costlier"
    assert "compared where m == n" in notes


NEVER = (
    "tol x: R [n]\ntol y: R [m]\nu := map(tol[m + 1], exp(x[i]), [i])\nv := map(tol[n + 1], exp(y[i]), [i])"
)


@pytest.mark.parametrize("never", [NEVER, NEVER.replace("m + 1", "m*m + 1").replace("n + 1", "n*n + 1")])
def test_of_programs_that_run_at_no_lengths_nothing_is_concluded(never: str) -> None:
    more = never.replace("exp(x[i])", "exp(exp(x[i]))")
    assert compared(never, more)[0] == compared(more, never)[0] == "undecided"


@pytest.mark.parametrize("before, after, notes", [("", "", ()), ("", "n", ("the length `x[0]` is now `n`",))])
def test_a_length_without_a_name_is_told_as_any_other(
    before: str, after: str, notes: tuple[str, ...]
) -> None:
    def cost(name: str) -> tolcost.Cost:
        text = '<ir_version: 8, opset_import: ["": 18]> g (float[k, 4] x) => (float[k, 4] y) { y = Exp(x) }'
        model = parse_model(text)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
        return tolcost.from_onnx(model)

    assert tolcost.diff(cost(before), cost(after)).notes == notes


TEXTS = "tol a: string [n]\ny := map(tol[n], eq(a[i], a[1]), [i])\n"


def test_what_is_not_known_of_one_is_not_compared() -> None:
    """The bytes of texts are not known: they were taken for 0, and anything else for costlier."""
    for old, new, which in (
        (TEXTS, TEXTS.replace("string", "R"), "old"),
        (TEXTS.replace("string", "R"), TEXTS, "new"),
    ):
        found = tolcost.diff(old, new)
        assert "bytes" not in [row.metric for row in found.rows]
        assert found.notes == (f"not compared: bytes, which is not known of the {which} one",)


TWO_ORDERS = """<ir_version: 10, opset_import: ["" : 18]> g
    (float[n, 64] x, float[64, 4096] w, float[4096, 1] s) => (float[n, 1] y) { %s y = Add(c, d) }"""
WIDE, NARROW = ("a = MatMul(x, w)", "b = MatMul(x, w)"), ("c = MatMul(a, s)", "d = MatMul(b, s)")


def test_an_order_of_nodes_that_takes_more_memory_is_told() -> None:
    """Both wide values are there at once: EOPs are the same, and nothing may say that all figures are."""
    first = "\n".join((WIDE[0], NARROW[0], WIDE[1], NARROW[1]))
    both = "\n".join((*WIDE, *NARROW))
    old, new = (tolcost.from_onnx(parse_model(TWO_ORDERS % body)) for body in (first, both))
    found = tolcost.diff(old, new)
    assert found.verdict == "same"
    (peak,) = (row for row in found.rows if row.metric == "peak_bytes")
    given = 4 * (64 * 4096 + 4096)
    assert str(peak.old) == f"{4 * (64 + 4096 + 1)}*n + {given}"
    assert str(peak.new) == f"{4 * (64 + 2 * 4096)}*n + {given}"
    assert found.said == "the same EOPs; peak activations costlier for all lengths (+1.5 %)"
    assert "the same: EOPs, FLOPs, MACs, parameters, parameter bytes, bytes, " in str(found)
    assert "the same upper bound: depth" in str(found)
    assert tolcost.diff(old, old).said == "the same EOPs for all lengths"


UNCOSTED = """<ir_version: 10, opset_import: ["" : 18, "my" : 1]> g (float[n, 8] x) => (float[n, 3] y)
    <float[8, 8] w = {%s}, float[8, 3] v = {%s}>
    { a = MatMul(x, w) b = %s(a) c = MatMul(b, v) y = Relu(c) }"""


def test_what_is_not_costed_is_no_gain() -> None:
    """The operators behind a node without a definition were shown as 0 and -100 %, in green."""
    texts = [UNCOSTED % (", ".join(["1"] * 64), ", ".join(["1"] * 24), op) for op in ("Exp", "my.Fancy")]
    old, new = (tolcost.from_onnx(parse_model(text)) for text in texts)
    found = tolcost.diff(old, new)
    rows = {(row.part, row.metric): row for row in found.rows}
    assert rows["", "params"].verdict == "same"
    assert rows["Relu", "eops"].unknown == (False, True)
    assert rows["", "eops"].sure == ("exact", "lower bound")
    assert not [row for row in found.rows if row.verdict in ("cheaper", "not costlier")]
    assert found.missing == ("", "my.Fancy (b), and 2 nodes after it")
    for form in ("text", "md", "html"):
        text = found.written(form).replace("\\", "")
        assert "not costed" in text
        assert "my.Fancy (b), and 2 nodes after it" in text
        assert "100.0 %" not in text
    assert "1 of 4 nodes costed (25 %)" in str(new)


def test_a_program_is_not_compared_with_a_model() -> None:
    """Their figures are not the same ones: FLOPs of a model were taken for 0."""
    model = tolcost.from_onnx(
        parse_model('<ir_version: 10, opset_import: ["" : 18]> g (float[n] x) => (y) { y = Exp(x) }')
    )
    for old, new in ((model, TEXTS), (TEXTS, model)):
        with pytest.raises(tolcost.Rejected, match="a program cannot be compared with a model"):
            tolcost.diff(old, new)


def test_all_runs_of_a_model_are_compared_in_every_figure() -> None:
    """Parameters, and MACs of operators, were taken for 0 beside those of one run."""
    head = (
        '<ir_version: 10, opset_import: ["" : 18]> g (float[past, 4] c, float[4, 4] w) => (float[past, 4] y)'
    )
    cost = tolcost.from_onnx(parse_model(head + "{ y = MatMul(c, w) }"))
    found = tolcost.diff(cost, tolcost.generate(cost, "past: 1..n"))
    assert {(row.part, row.metric) for row in found.rows} >= {("", "params"), ("MatMul", "macs")}
    assert found.rows[-1].new != 0


def test_conditions_that_are_equations_leave_out_points() -> None:
    """It was never more, and fewer where 4 does not divide n: there the new one cannot be run."""
    head = '<ir_version: 10, opset_import: ["" : 18]> g (float[n] x) => '
    old, new = (
        tolcost.from_onnx(parse_model(head + text))
        for text in (
            "(float[a] y) { y = Exp(x) }",
            "(float[a, b] y) <int64[2] s = {4, -1}> { z = Reshape(x, s) y = Exp(z) }",
        )
    )
    assert new.conditions == ("n == 4*floor(n/4)",)
    found = {row.metric: row for row in tolcost.diff(old, new).rows if not row.part}
    assert found["eops"].verdict == "same"
    assert found["bytes"].verdict == "costlier"
    assert_cost(new, eops="n")


@pytest.mark.parametrize("needs", ["n % 3, 0", "n % 5, m % 5", "n * n % 7, m % 7"])
def test_points_that_are_shown_are_such_that_both_allow(needs: str) -> None:
    """Whatever the condition is: what differs elsewhere only is not seen to differ."""
    inputs = "tol x: R [n]\ntol w: R [m]\nu := w[1]\n"
    old = f"{inputs}y := map(tol[4 * n], exp(x[1]), [i])"
    a, b = needs.split(", ")
    new = f"{inputs}k = same({needs})\ny := map(tol[3 * n + m + k + 9 * ({a} - {b})^2], exp(x[1]), [i])"
    cost = tolcost.analyze(new)
    row = tolcost.diff(old, new).whole
    for shown in (row.less, row.more):
        assert shown is not None
        point = {symbol.name: value for symbol, value in shown.point}
        assert cost(point).eops == shown.left


ATTENTION = Path(__file__).parents[2] / "specs" / "examples" / "attention.tol"
CAUSAL = Path(__file__).parents[1] / "cli" / "programs" / "dividing_attention.tol"


def test_a_verdict_is_said_by_one_length_if_one_decides_it() -> None:
    found = tolcost.diff(ATTENTION, CAUSAL)
    assert found.said == "fewer EOPs from s = 3 on, more for some lengths where s < 3"
    old, new = (tolcost.analyze(file) for file in (ATTENTION, CAUSAL))
    for d, w in product((1, 2, 5, 64, 4000), repeat=2):
        for s in (3, 4, 9, 1024):
            assert new(s=s, d=d, w=w).eops < old(s=s, t=s, d=d, w=w).eops
    assert new(s=2, d=1, w=64).eops > old(s=2, t=2, d=1, w=64).eops  # so it is not from 2 on


def test_a_comparison_is_shown_at_typical_lengths_and_where_it_turns() -> None:
    found = tolcost.diff(ATTENTION, CAUSAL)
    assert found.point == "d = 64, s = 1,024, w = 64"
    whole = found.whole
    assert whole.less is not None
    assert whole.more is not None
    assert {s.name: n for s, n in whole.less.point} == {"s": 1024, "d": 64, "w": 64}
    assert {s.name: n for s, n in whole.more.point} == {"s": 1, "d": 64, "w": 64}
    (divisions,) = (row for row in found.rows if row.metric == "div:R")
    assert divisions.turns is not None
    assert (divisions.turns[0].name, divisions.turns[1]) == ("w", 1)
