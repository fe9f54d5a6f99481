"""Formulas as papers print them: all are read, and each is judged as its authors would accept."""

import random
from collections import Counter

import pytest

from tolcost.algebra import evaluate, total_of
from tolcost.algebra.points import hold_at
from tolcost.apps.referee.conventions import CONVENTIONS, MOST_CONVENTIONS, words_of
from tolcost.apps.referee.formulas import CountedFigure, PublishedFormula, shipped_formulas
from tolcost.apps.referee.judge import Judgement, judge_formulas
from tolcost.apps.referee.parts import conventions_of, parts_of
from tolcost.apps.referee.subjects import ModelProgram, Subject
from tolcost.catalogue.listing import read_library
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.result.instances import OperatorInstance

PRINTED = shipped_formulas()["printed"]
LIBRARY = open_library()
MATMUL = OperatorInstance("MatMul", {"A": ["m", "k"], "B": ["k", "n"]})
GEMM = OperatorInstance("Gemm", {"A": ["m", "k"], "B": ["k", "n"], "C": ["m", "n"]})
SOFTMAX = OperatorInstance("Softmax", {"input": ["m", "n"]}, {"axis": 1})
SIGMOID = OperatorInstance("Sigmoid", {"X": ["n"]})
CAUSAL = OperatorInstance(
    "Attention", {name: ["b", "h", "s", "d"] for name in ("Q", "K", "V")}, {"is_causal": 1}
)
DOT = ModelProgram("dot", text="tol x: R [n]\ntol y: R [n]\nz := reduce(x, (a, e) => a + e * y[i], 0, [i])\n")
HORNER = ModelProgram("circuits/horner")


def judged(
    subject: Subject, text: str, counts: CountedFigure = "flops", reading: str = "", **let: str
) -> Judgement:
    formula = PublishedFormula("mine", "", subject, counts, text, let=let, reading=reading)
    (found,) = judge_formulas([formula], LIBRARY)
    return found


@pytest.fixture(scope="module")
def verdicts() -> list[Judgement]:
    return list(judge_formulas(PRINTED, LIBRARY))


def test_forty_are_judged_as_their_authors_would_accept(verdicts: list[Judgement]) -> None:
    assert len(verdicts) >= 40
    assert len({one.formula.source for one in verdicts}) >= 20
    assert {one.formula.name: one.verdict for one in verdicts} == {
        formula.name: formula.expect for formula in PRINTED
    }


def test_what_is_right_by_a_convention_names_it(verdicts: list[Judgement]) -> None:
    for one in verdicts:
        assert bool(one.reading) == (one.verdict == "another convention"), one.formula.name
        assert one.order != "another convention"


@pytest.mark.parametrize(
    "subject, text, counts, words",
    [
        (MATMUL, "mnk", "flops", "only products that are summed count, one operation each"),
        (MATMUL, "2mnk", "macs", "every function counts"),
        (MATMUL, "mn(2k - 1)", "flops", "n - 1 additions"),
        (GEMM, "2mnk + mn", "flops", "what it starts from is added"),
        (GEMM, "2mnk + 2mn", "flops", "counts as one more product"),
        (SOFTMAX, "3mn", "flops", "only sums, products and quotients"),
        (SOFTMAX, "mn", "flops", "each element of the result"),
        (SIGMOID, "n", "eops", "each element of the result"),
        (CAUSAL, "4bhssd", "flops", "two operations each"),
        (DOT, "n", "flops", "one operation each"),
        (ModelProgram("polybench/cholesky"), "n^3/3", "flops", "the highest degree"),
        (ModelProgram("polybench/ludcmp"), "2/3 n^3 + 3/2 n^2", "flops", "a degree below 2"),
        (OperatorInstance("LeakyRelu", {"X": ["n"]}), "2n", "eops", "the algorithm is `LeakyRelu.maximum`"),
        (
            ModelProgram("families/gpt2"),
            "4bsslhe + 8bsl(h*e)^2 + 4bslhef",
            "flops",
            "the logits are",
        ),
    ],
)
def test_a_convention(subject: Subject, text: str, counts: CountedFigure, words: str) -> None:
    found = judged(subject, text, counts)
    assert found.verdict == "another convention"
    assert any(words in one for one in found.reading), found.reading


@pytest.mark.parametrize(
    "subject, text",
    [
        (MATMUL, "3mnk"),
        (MATMUL, "2mn"),
        (MATMUL, "2mnk - n"),
        (SOFTMAX, "4mn"),
        (SIGMOID, "0"),
        (SIGMOID, "9n"),
        (ModelProgram("families/gpt2"), "8b*s*l*(h*e)^2"),
        (ModelProgram("families/gpt2"), "4b*s*l*h*e*f + 4b*s*s*l*h*e + 2b*s*h*e*v"),
    ],
)
def test_what_no_convention_makes_right_is_wrong(subject: Subject, text: str) -> None:
    found = judged(subject, text)
    assert found.verdict in ("too low", "too high", "too low and too high")
    assert found.verdict == found.order
    assert found.witness is not None
    assert not found.reading


def test_what_few_sources_count_needs_a_statement() -> None:
    """A formula of zeros is right if its source says that it counts products alone, and else wrong."""
    assert judged(SIGMOID, "0").verdict == "too low"
    assert judged(SIGMOID, "0", reading="products").verdict == "another convention"
    assert judged(HORNER, "n", reading="multiplications").reading == (words_of("multiplications"),)


def test_letters_of_a_paper_hide_ours() -> None:
    """`let` says what a letter of the formula is; the subject keeps its own."""
    found = judged(MATMUL, "2nk", n="m*n", k="k")
    assert found.verdict == "equal"
    assert judged(MATMUL, "2 rows columns k", rows="m", columns="n").verdict == "equal"


def test_a_value_that_is_no_integer_is_exact_and_says_so() -> None:
    found = judged(MATMUL, "mnk/(2k + 1)")
    assert found.verdict == "too low"
    assert found.witness is not None
    assert str(found.witness.theirs) == "1/3"


def test_a_divisor_that_may_be_0_is_refused() -> None:
    with pytest.raises(Rejected) as caught:
        judged(MATMUL, "mnk/(m - n)")
    assert "may be 0" in caught.value.diagnostics[0].message
    assert judged(MATMUL, "2mnk(m + n)/(m + n)").verdict == "equal"


def test_shapes_may_be_expressions() -> None:
    """And the sizes that are shown are run at what the expressions come to."""
    lstm = OperatorInstance("LSTM", {"X": ["s", "b", "i"], "W": [1, "4*h", "i"], "R": [1, "4*h", "h"]}, {}, 1)
    assert judged(lstm, "8bsh(i + h)").verdict == "another convention"
    wrong = judged(lstm, "8bsh(i + h) + 1")
    assert wrong.witness is not None
    assert wrong.witness.executed == wrong.witness.ours


def test_no_reading_is_contradicted_at_random_sizes(verdicts: list[Judgement]) -> None:
    """A convention changes a verdict only where the order by our own convention still stands."""
    rng = random.Random(3)
    orders: Counter[str] = Counter()
    for one in verdicts:
        symbols = sorted(one.ours.free | one.theirs.free | one.divisor.free, key=lambda symbol: symbol.name)
        for _ in range(20):
            point = {symbol: rng.randint(1, 9) for symbol in symbols}
            if not hold_at(one.facts, point):
                continue
            gap = evaluate(one.theirs, point) - evaluate(one.ours * one.divisor, point)
            allowed = {"equal": gap == 0, "too low": gap <= 0, "too high": gap >= 0}
            assert allowed.get(one.order, True), (one.formula.name, point)
            orders[one.order] += 1
    assert orders["equal"] > 100
    assert orders["too low"] > 100


def test_conventions_have_words() -> None:
    assert len({words_of(name) for name in CONVENTIONS}) == len(CONVENTIONS)
    assert MOST_CONVENTIONS == 2


@pytest.mark.parametrize("family", [program.name for program in read_library("families").programs])
def test_what_models_leave_out_by_convention_is_a_part_of_them(family: str) -> None:
    """Leaving out is the part with a minus, or half of it: conventions that drift from the parts mislead."""
    parts = {part.words: part.form for part in parts_of(f"families/{family}")}
    conventions = dict(conventions_of(f"families/{family}"))
    for words, change in conventions.items():
        for end, times in ((" are left out", 1), (" is left out", 1), (" count, for the causal mask", 2)):
            if words.endswith(end) and words.removesuffix(end).removeprefix("half of ") in parts:
                part = parts[words.removesuffix(end).removeprefix("half of ")]
                assert total_of([part, change * times]) == 0, words
    for words in (words for words in conventions if words.endswith("left out")):
        assert words.rpartition(" is ")[0] in parts or words.rpartition(" are ")[0] in parts
