"""The referee: verdicts that are proved, sizes that show them, and a second look by brute force."""

import csv
import io
import os
import random
import shlex
import zlib
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tolcost.algebra import Symbol, evaluate, symbols_of_cond
from tolcost.algebra.points import hold_at
from tolcost.apps.referee.formulas import PublishedFormula, parse_formulas, shipped_formulas
from tolcost.apps.referee.judge import Judgement, VerifiedForms, judge_formulas, taken_by
from tolcost.apps.referee.subjects import ModelProgram, Subject, lower_subject, run_subject, step_of
from tolcost.apps.referee.table import verdict_table
from tolcost.atoms.lengths import lengths_of
from tolcost.atoms.nodes import Program
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.cost.traffic import bits_of
from tolcost.diagnostics import Rejected
from tolcost.result.instances import OperatorInstance
from tolcost.show.tables import csv_text, markdown
from tools.cost.brute_traffic import can_be_walked, numbers, walked

REPORTS = Path(__file__).parents[2] / "reports"
LIBRARY = open_library()
FILES = shipped_formulas()
SHIPPED = [formula for formulas in FILES.values() for formula in formulas]
SOAK = "TOLCOST_SOAK" in os.environ
KNOWN: VerifiedForms = {}
"""What the formulas of one file are about those of another are about, too: models above all."""


@pytest.fixture(scope="module", params=FILES)
def verdicts(request: pytest.FixtureRequest) -> list[Judgement]:
    """What is said of the formulas of a file."""
    return list(judge_formulas(FILES[request.param], LIBRARY, KNOWN))


@pytest.fixture
def judged(verdicts: list[Judgement]) -> list[Judgement]:
    """All formulas of a file in a soak, and every sixth otherwise."""
    return [one for one in verdicts if is_chosen(one.formula, of=6)]


def is_chosen(formula: PublishedFormula, of: int) -> bool:
    """One of so many; all of them in a soak."""
    return SOAK or zlib.crc32(formula.name.encode()) % of == 0


def judged_alone(formula: PublishedFormula) -> Judgement:
    (found,) = judge_formulas([formula], LIBRARY)
    return found


def matmul(text: str, counts: str = "flops", assume: tuple[str, ...] = ()) -> Judgement:
    given = OperatorInstance("MatMul", {"A": ["m", "k"], "B": ["k", "n"]})
    return judged_alone(PublishedFormula("mine", "", given, counts, text, assume=assume))  # type: ignore[arg-type]


def test_the_committed_verdicts_are_those_of_the_referee(verdicts: list[Judgement]) -> None:
    """Every one of them: a report that stood still says what is no longer so."""
    names = {one.formula.name for one in verdicts}
    table = verdict_table(verdicts)
    rows = [line for line in csv_text(table).splitlines() if line.partition(",")[0] in names]
    committed = (REPORTS / "referee.csv").read_text("utf-8").splitlines()
    assert [line for line in committed if line.partition(",")[0] in names] == rows, "run `make referee`"
    assert len(rows) == len(names)
    _, *parts = markdown((table,)).split("\n### ")
    assert {part.strip() for part in parts} <= _parts_of((REPORTS / "referee.md").read_text("utf-8"))


def _parts_of(text: str) -> set[str]:
    return {part.strip() for part in text.split("\n### ")}


def test_what_was_executed_is_what_was_counted(judged: list[Judgement]) -> None:
    """The interpreter knows nothing of closed forms; it must side with ours at every size shown."""
    for witness in (witness for one in judged for witness in one.witnesses):
        assert witness.executed == witness.ours != witness.theirs


def test_no_verdict_is_contradicted_at_random_sizes(judged: list[Judgement]) -> None:
    rng = random.Random(7)
    for one in judged:
        for point in random_points(one, rng, 400 if SOAK else 20, 40):
            theirs, ours = published_at(one, point), evaluate(one.ours, point)
            assert allowed(one, theirs, ours), (one.formula.name, point, theirs, ours)


def test_no_verdict_is_contradicted_by_brute_force_at_random_sizes() -> None:
    """No closed form of ours has a part in it: only the published formula, and a run or a walk."""
    rng = random.Random(11)
    runs: Counter[str] = Counter()
    for one in judge_formulas([formula for formula in SHIPPED if is_chosen(formula, of=30)], LIBRARY, KNOWN):
        program = lower_subject(one.formula.subject, LIBRARY)
        program = step_of(program) if one.formula.train and one.verdict != "undecided" else program
        restricted = {symbol.name for symbol in lengths_of(program)} & set(one.formula.where)
        if restricted:
            continue  # lengths that others decide are not random
        for point in random_points(one, rng, 3 if SOAK else 1, 4):
            if evaluate(one.ours, point) > 5_000:
                continue
            lengths = {symbol: value for symbol, value in point.items() if symbol.kind != "data"}
            how = moved if one.formula.counts == "bytes" else taken
            found = how(one, program, lengths)
            if found is not None:
                runs[one.formula.counts] += 1
                theirs = published_at(one, {**point, **found.decided})
                assert allowed(one, theirs, found.count), (one.formula.name, point, theirs, found)
    print(f"brute force: {dict(runs)}")
    assert runs.total() > (1_000 if SOAK else 10)
    assert not SOAK or runs["bytes"] > 100


class Forced(NamedTuple):
    """What was counted without a closed form, and what data decided."""

    count: int
    decided: dict[Symbol, int]


def taken(one: Judgement, program: Program, lengths: dict[Symbol, int]) -> Forced | None:
    """What a run takes."""
    names = {symbol.name: value for symbol, value in lengths.items()}
    try:
        run = run_subject(one.formula.subject, program, names, LIBRARY)
    except Rejected:
        return None
    count = taken_by(run, one.formula)
    by_data = {symbol for symbol in one.ours.free | one.theirs.free if symbol.kind == "data"}
    return None if count is None else Forced(count, {symbol: run.decided[symbol.name] for symbol in by_data})


def moved(one: Judgement, program: Program, lengths: dict[Symbol, int]) -> Forced | None:
    """The bytes of every element that is read, found by walking, and of every output.

    None where data says which are read, or where nothing is: no output has an element.
    """
    at = dict.fromkeys(lengths_of(program), 1) | lengths
    read = walked(program, at) if can_be_walked(program) else set()
    if not read:
        return None
    spaces = {given.name: given.type[0].space for given in program.inputs}
    bits = [bits_of(spaces[name]) or 0 for name, _ in read]
    for part in (part for out in program.outputs for part in out.node.type):
        bits.append((bits_of(part.space) or 0) * prod(numbers(part.shape, at)))
    return Forced(-(-sum(bits) // 8), {})


def random_points(
    one: Judgement, rng: random.Random, count: int, largest: int
) -> Iterator[dict[Symbol, int]]:
    """Sizes at which all holds that the verified form relies on; names with k are mostly kernels."""
    symbols = one.ours.free | one.theirs.free | {s for fact in one.facts for s in symbols_of_cond(fact)}
    for _ in range(count):
        ordered = sorted(symbols, key=lambda symbol: symbol.name)
        point = {s: rng.randint(1, min(largest, 8) if s.name.startswith("k") else largest) for s in ordered}
        if hold_at(one.facts, point):
            yield point


def published_at(one: Judgement, point: dict[Symbol, int]) -> Fraction:
    """What a formula says at a size, which need not be an integer."""
    return Fraction(evaluate(one.theirs, point), evaluate(one.divisor, point))


def allowed(one: Judgement, theirs: Fraction, ours: int) -> bool:
    """Whether a verdict lets a formula say this where that is right, by our own convention."""
    verdicts = {"equal": theirs == ours, "too low": theirs <= ours, "too high": theirs >= ours}
    return verdicts.get(one.order, True)


def test_every_formula_that_is_wrong_has_sizes_that_show_it(judged: list[Judgement]) -> None:
    for one in judged:
        low = [witness.theirs < witness.ours for witness in one.witnesses]
        words = [word for word in one.order.split(" and ") if word not in ("equal", "undecided")]
        assert low == ["low" in word for word in words], one.formula.name


@pytest.mark.parametrize(
    "text, verdict, leading",
    [
        ("2*m*n*k", "equal", True),
        ("2*k*n*m", "equal", True),
        ("m*n*k", "too low", False),
        ("2*m*n*k + m*n", "too high", True),
        ("2*m*n*(k - 1) + 3*m*n", "too high", True),
        ("2*m*n*k + m - n", "too low and too high", True),
    ],
)
def test_a_verdict(text: str, verdict: str, leading: bool) -> None:
    found = matmul(text)
    assert (found.order, found.leading) == (verdict, leading)


BRANCH = ModelProgram("branch", text="tol x: R [n]\ny := reduce(x, (a, e) => choose(e > 0, exp(a), a), 0)\n")
"""A comparison for each element, and up to one exponential."""
NONZERO = OperatorInstance("NonZero", {"X": ["n"]})


@pytest.mark.parametrize(
    "subject, text, verdict",
    [
        (NONZERO, "n", "equal"),
        (NONZERO, "z1", "too low"),
        (NONZERO, "n + z1", "too high"),
        (NONZERO, "2*z1", "too low and too high"),
        (OperatorInstance("Compress", {"input": ["n"], "condition": ["n"]}), "0", "equal"),
        (BRANCH, "n", "undecided"),
        (BRANCH, "2*n", "undecided"),
        (BRANCH, "3*n", "too high"),
    ],
)
def test_what_data_decides(subject: Subject, text: str, verdict: str) -> None:
    """A form in what data decides is compared as any other; a bound refutes only what is above it."""
    found = judged_alone(PublishedFormula("mine", "", subject, "eops", text))
    assert found.order == verdict
    assert verdict in ("equal", "undecided") or all(one.executed is not None for one in found.witnesses)


def test_an_operator_of_another_domain(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "referee",
        "--formula",
        "2*n",
        "--shape",
        "X=n",
        "--attr",
        "scale=[2.0]",
        "--attr",
        "offset=[1.0]",
        "--op",
    ]
    assert run([*asked, "ai.onnx.ml.Scaler"]) == 0
    assert run([*asked, "Scaler"]) == 2
    assert "ai.onnx.ml.Scaler" in capsys.readouterr().err
    assert run([*asked, "Scalr"]) == 2
    assert "did you mean `Scaler`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text, assume, verdict",
    [
        ("2n^3", ("m = n", "k == n"), "equal"),
        ("2n^3", ("m = n",), "too low and too high"),
        ("64 m n q", ("k = 32*q",), "equal"),  # the formula may use the new length
        ("2 k n min(m, n)", ("m <= n",), "equal"),
        ("2 k n min(m, n)", ("m >= n",), "too low"),
        ("2 k n n", ("m <= n",), "too high"),
    ],
)
def test_a_formula_is_judged_where_it_is_stated(text: str, assume: tuple[str, ...], verdict: str) -> None:
    found = matmul(text, assume=assume)
    assert found.verdict == verdict
    for witness in found.witnesses:
        m, k, n = (dict(witness.point)[name] for name in "mkn")
        assert witness.executed == 2 * m * k * n == witness.ours
        assert {"m = n": m == n, "m <= n": m <= n, "m >= n": m >= n}[assume[0]]


@pytest.mark.parametrize("assume, where", [("m = n", "2*n"), ("m = n", "2*k")])
def test_a_length_is_said_once(assume: str, where: str) -> None:
    given = OperatorInstance("MatMul", {"A": ["m", "k"], "B": ["k", "n"]})
    mine = PublishedFormula("mine", "", given, "flops", "2n", where={"m": where}, assume=(assume,))
    with pytest.raises(Rejected, match="said twice, by where and by assume"):
        judged_alone(mine)


def test_what_a_formula_forgets_is_named_by_line() -> None:
    given = OperatorInstance("AveragePool", {"X": ["n", "c", "w"]}, {"kernel_shape": ["k"]}, 1)
    found = judged_alone(PublishedFormula("a", "", given, "eops", "n*c*(w - k + 1)*k"))
    assert found.order == "too low"
    assert ["/ count" in line.text for line in found.forgets] == [True]


def test_a_formula_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["referee", "--op", "MatMul", "--shape", "A=m,k", "--shape", "B=k,n", "--formula"]
    assert run([*command, "2*m*n*k"]) == 0
    assert run([*command, "m*n*k"]) == 0
    assert "right if    only products that are summed count, one" in capsys.readouterr().out
    assert run([*command, "3*m*n*k"]) == 1
    assert "shown at    k = 1, m = 1, n = 1: 3, not 2" in capsys.readouterr().out
    assert run([*command, "2*m*n*z"]) == 2
    message = capsys.readouterr().err
    assert "T0732" in message
    assert "k, m, n" in message


def test_odd_formulas_and_meanings(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of a product is not always whole; a length is not said by itself, nor below its least."""
    command = ["referee", "--op", "MatMul", "--shape", "A=m,k", "--shape", "B=k,n", "--formula"]
    assert run([*command, "m*n*k/2"]) == 1
    assert "too low" in capsys.readouterr().out
    for meaning, words in (("n=n + 1", "is said by itself"), ("n=0", "is at least 1, not 0")):
        assert run([*command, "2*m*n*k", "--where", meaning]) == 2
        assert words in capsys.readouterr().err


def test_a_file_in_ci(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[[formula]]\nname = "a"\noperator = "Relu"\nshapes.X = ["n"]\nformula = "{}"\n'
    file = tmp_path / "mine.toml"
    for formula, code in (("n", 0), ("2*n", 1)):
        file.write_text(text.format(formula), "utf-8")
        assert run(["referee", str(file)]) == code
    file.write_text(text.format("2*n") + 'expect = "too high"\n', "utf-8")
    assert run(["referee", str(file)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "text, code",
    [
        ("[[formula]", "T0730"),
        ("colour = 1", "T0731"),
        ("formula = 3", "T0731"),
        ('[[formula]]\nname = "a"', "T0731"),
        ('[[formula]]\nname = "a"\noperator = "Relu"\nformula = "n"\ncounts = "joules"', "T0731"),
    ],
)
def test_a_broken_file_is_a_diagnostic(text: str, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_formulas(text, "mine")
    assert caught.value.diagnostics[0].code == code


def test_a_file_says_which_formula_it_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In CI an exit code of 1 said nothing of which one, a mistake neither, and no formulas were fine."""
    file, relu = tmp_path / "mine.toml", '[[formula]]\nname = "{}"\noperator = "Relu"\ncounts = "eops"\n'
    right = relu.format("right") + 'formula = "X_1"\nshapes = { X = ["X_1"] }\n'
    wrong = relu.format("wrong") + 'formula = "X_1 - 1"\nshapes = { X = ["X_1"] }\n'
    known = wrong.replace("wrong", "known") + 'expect = "too low"\n'
    file.write_text("\ufeff" + right + wrong + known, "utf-8")
    assert run(["referee", str(file)]) == 1
    assert capsys.readouterr().out.endswith("1 equal\nnot as expected: mine/wrong\n")
    file.write_text(right + wrong.replace("X_1 - 1", "X_1 -"), "utf-8")
    assert run(["referee", str(file)]) == 2
    assert "mine/wrong: expected a number" in capsys.readouterr().err
    for text, told in (
        ("", "there is no formula in it"),
        (right + right, "2 formulas are called `right`"),
        (right + 'expect = "to low"', "expect is one of equal"),
        (relu.format("a") + 'formula = "n"\nshapes = { X = "n" }', "a shape is a list"),
    ):
        file.write_text(text, "utf-8")
        assert run(["referee", str(file)]) == 2
        assert told in capsys.readouterr().err


def test_names_that_match_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["referee", "nobody/nothing"]) == 2
    assert "T0733" in capsys.readouterr().err


def test_the_csv_has_every_formula() -> None:
    rows = list(csv.DictReader(io.StringIO((REPORTS / "referee.csv").read_text("utf-8"))))
    assert [row["formula"] for row in rows] == [formula.name for formula in SHIPPED]
    assert all(row["source"] for row in rows)


def test_the_examples_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "referee.md").read_text("utf-8")
    examples = [example.partition("```")[0] for example in text.split("```\n$ tolcost ")[1:]]
    assert len(examples) >= 3
    for command, _, shown in (example.partition("\n") for example in examples):
        assert run(shlex.split(command)) == (": 1 too" in shown)
        assert capsys.readouterr().out == shown


def test_formulas_in_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """A project's own formulas fail its check where they part from the definitions."""
    formula = '[[formula]]\nname = "norm"\noperator = "Relu"\nshapes.X = ["n"]\nformula = "{}"\n'
    (tmp_path / "a.tol").write_text("tol x: R [n]\ny := map(x, exp)\n", "utf-8")
    (tmp_path / "tolcost.toml").write_text('paths = ["a.tol"]\n[formulas]\nfiles = ["c.toml"]\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    for text, code, words in (("n", 0, "ok"), ("n - 1", 1, "exceeded"), ("2*n", 1, "more than it costs")):
        (tmp_path / "c.toml").write_text(formula.format(text), "utf-8")
        assert run(["check", "--update"]) == code
        assert run(["check"]) == code
        assert words in capsys.readouterr().out
    (tmp_path / "c.toml").write_text("[[formula]", "utf-8")
    assert run(["check"]) == 2


def test_programs_of_formulas_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the file or from a folder above it, wherever the command runs."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.tol").write_text("tol x: R [n]\ny := map(x, exp)\n", "utf-8")
    entry = '[[formula]]\nname = "{}"\nprogram = "{}"\ncounts = "eops"\nformula = "n"\n'
    file = tmp_path / "kernels" / "costs.toml"
    file.write_text(entry.format("beside", "a.tol") + entry.format("above", "kernels/a.tol"), "utf-8")
    for folder in (tmp_path, tmp_path / "kernels"):
        monkeypatch.chdir(folder)
        assert run(["referee", str(file)]) == 0
