"""Cost models: what they weigh, and what is wrong with a file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tolcost.cli import run
from tolcost.cost import count, load_weights, parse_weights, weigh, weights
from tolcost.cost.weights import SHIPPED, lacking, stored_weights, weight_of
from tolcost.diagnostics import Rejected
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES
from tools.cost import programs
from tools.cost.programs import X, apply, k, m, n, number, program
from tools.execute.builders import mem

HEAD = 'name = "x"\nunit = "u"\ndefault = "error"\n'


def rule(functions: str, spaces: str, weight: str) -> str:
    return f"[[rule]]\nfunctions = {functions}\n{spaces}\nweight = {weight}\n"


ADD_IS_1 = rule('["add"]', 'spaces = "*"', "1")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_load_and_cite_every_figure(name):
    model = load_weights(name)
    assert model.name == name
    assert model.unit
    assert model.description
    assert model.sources or not model.table


def test_flops_are_kept_as_they_are_read():
    text = (Path(weights.__file__).parent / "weights" / "flops.toml").read_text("utf-8")
    kept, anew = stored_weights("flops", text), parse_weights(text, "flops")
    assert kept is not None, "make schemes"
    assert all(getattr(kept, name) == getattr(anew, name) for name in anew.__struct_fields__)
    assert stored_weights("flops", f"{text}\n") is None
    assert stored_weights("h200", text) is None


def test_eops_and_flops_cover_everything():
    for name in ("eops", "flops"):
        model = load_weights(name)
        assert all(weight_of(model, f, s) is not None for f in FUNCTIONS for s in SPACES)


def test_matmul_in_every_shipped_model():
    counts = count(programs.matmul())
    found = {name: weigh(counts, load_weights(name)) for name in SHIPPED}
    assert found["eops"].poly == found["flops"].poly == 2 * k * m * n
    assert found["macs"].poly == k * m * n
    energy = found["energy-45nm"]
    assert (energy.numerator, energy.denominator, energy.unit) == (46 * k * m * n, 10, "pJ")
    point = dict.fromkeys(programs.SYMBOLS, 3)
    assert energy.at(point) == 27 * (Fraction("0.9") + Fraction("3.7"))
    assert found["energy-7nm"].at(point) == 27 * (Fraction("0.38") + Fraction("1.31"))


@pytest.mark.parametrize(
    "function, space, weight",
    [
        ("add", "R", 1),
        ("max", "float16", 1),
        ("abs", "R", 1),
        ("exp", "bfloat16", 1),
        ("lt", "R", 0),
        ("where", "R", 0),
        ("isnan", "float32", 0),
        ("add", "Z", 0),
        ("mul", "int8", 0),
        ("and", "B", 0),
        ("add", "C", 2),
        ("mul", "complex64", 6),
        ("div", "C", 11),
        ("exp", "C", 1),
    ],
)
def test_flops(function, space, weight):
    assert weight_of(load_weights("flops"), function, space) == weight


def test_the_narrowest_rule_wins():
    model = parse_weights(
        HEAD
        + rule('"*"', 'spaces = "*"', "1")
        + rule('"*"', 'families = ["R"]', "2")
        + rule('"*"', 'spaces = ["float16"]', "3")
        + rule('["add"]', 'spaces = "*"', "4")
        + rule('["add"]', 'families = ["R"]', "5")
        + rule('["add"]', 'spaces = ["float16"]', "6")
    )
    asked = [("mul", "Z"), ("mul", "R"), ("mul", "float16"), ("add", "Z"), ("add", "R"), ("add", "float16")]
    assert [weight_of(model, *pair) for pair in asked] == [1, 2, 3, 4, 5, 6]


def test_a_named_space_is_not_its_family():
    model = parse_weights(HEAD + rule('["add"]', 'spaces = ["R"]', "1"))
    assert weight_of(model, "add", "R") == 1
    assert weight_of(model, "add", "float64") is None


def test_decimals_are_exact():
    model = parse_weights(HEAD + rule('["exp"]', 'spaces = ["R"]', "0.1"))
    assert weight_of(model, "exp", "R") == Fraction(1, 10)


def test_what_the_model_does_not_cover_is_refused():
    counts = count(program(apply("erf", apply("exp", mem(X, n))), inputs=(X,)))
    with pytest.raises(Rejected) as caught:
        weigh(counts, parse_weights(HEAD + ADD_IS_1))
    assert [d.code for d in caught.value.diagnostics] == ["T0614", "T0614"]
    assert "erf on R" in caught.value.diagnostics[0].message


def test_what_a_partial_model_does_not_cover_is_left_out_and_named(tmp_path, capsys):
    """Every real model was refused, as a norm has a root."""
    counts = count(program(apply("add", apply("exp", mem(X, n)), number(1)), inputs=(X,)))
    found = weigh(counts, load_weights("energy-45nm"))
    assert (found.at({}), found.left_out) == (Fraction("0.9"), ("exp R",))
    file = tmp_path / "bump.tol"
    file.write_text("tol x: R [n]\ny := map(x, exp(*) + 1)\n")
    assert run(["analyze", str(file), "--weights", "energy-45nm", "--metric", "eops"]) == 0
    said = capsys.readouterr()
    assert "energy-45nm  9*n/10  pJ, at least: no weight for `exp`\n" in said.out
    assert "what applies another function has only a lower bound" in said.err


def test_a_default_on_purpose():
    counts = count(program(apply("erf", number(1)), inputs=()))
    model = parse_weights('name = "x"\nunit = "u"\ndefault = 0')
    assert weigh(counts, model).poly == 0


@pytest.mark.parametrize(
    "text, code, said",
    [
        ("name = ", "T0611", "TOML"),
        ("x = [" * 5000, "T0611", "TOML"),
        ('name = "x"\nunit = "u"', "T0612", '"default" is missing'),
        ('unit = "u"\ndefault = 0', "T0612", "name must be text"),
        (HEAD + "wieght = 1", "T0612", "unknown key 'wieght'"),
        (HEAD + rule('["ad"]', 'spaces = "*"', "1"), "T0612", "unknown function 'ad'"),
        (HEAD + rule('["add"]', 'spaces = ["flaot16"]', "1"), "T0612", "unknown space 'flaot16'"),
        (HEAD + rule('["add"]', 'families = ["Q"]', "1"), "T0612", "unknown family 'Q'"),
        (HEAD + rule('["add"]', 'spaces = "*"', '"1"'), "T0612", "must be a number"),
        (HEAD + rule('["add"]', 'spaces = "*"', "-1"), "T0612", "must not be negative"),
        (HEAD + rule('["add"]', 'spaces = "*"', "true"), "T0612", "must be a number"),
        (HEAD + rule('["add"]', 'spaces = "*"', "nan"), "T0611", "plain decimal"),
        (HEAD + rule('["add"]', 'spaces = "*"', "1e999999999"), "T0611", "plain decimal"),
        (HEAD + rule('"add"', 'spaces = "*"', "1"), "T0612", "function must be named in a list"),
        (HEAD + rule('["add"]', "", "1"), "T0612", "space must be named in a list"),
        (HEAD + "rule = 3", "T0612", "[[rule]]"),
        (HEAD + ADD_IS_1 + rule('["add"]', 'spaces = "*"', "2"), "T0613", "two rules"),
    ],
)
def test_mistakes_in_a_file(text, code, said):
    with pytest.raises(Rejected) as caught:
        parse_weights(text, "mine.toml")
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert said in first.message
    assert first.message.startswith("mine.toml")


def test_a_rule_may_be_repeated():
    assert weight_of(parse_weights(HEAD + ADD_IS_1 + ADD_IS_1), "add", "Z") == 1


def test_all_mistakes_are_reported_at_once():
    text = 'nmae = "x"\n' + rule('["ad", "mull"]', 'spaces = ["r"]', "1")
    with pytest.raises(Rejected) as caught:
        parse_weights(text)
    hints = [d.hint for d in caught.value.diagnostics]
    assert "did you mean name?" in hints
    assert "did you mean mul?" in hints
    assert len(hints) >= 6


def test_a_file_that_is_not_there():
    with pytest.raises(Rejected) as caught:
        load_weights("no-such.toml")
    assert caught.value.diagnostics[0].code == "T0610"
    assert "flops" in (caught.value.diagnostics[0].hint or "")


def test_a_rule_for_one_space_is_a_weight() -> None:
    """A model for R alone was told to weigh *only :* nothing."""
    rule = '[[rule]]\nfunctions = ["add"]\nspaces = ["R"]\nweight = 1\n'
    model = parse_weights(f'name = "w"\nunit = "pJ"\ndefault = "error"\n{rule}')
    assert set(FUNCTIONS) - set(lacking(model)) == {"add"}
    with pytest.raises(Rejected, match="name must be of one line"):
        parse_weights('name = "a\\nb"\nunit = "pJ"\ndefault = 1')
