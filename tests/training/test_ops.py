"""``tolcost ops NAME --grad``: the gradients of an operator, what they cost and keep."""

from __future__ import annotations

import pytest

from tolcost.cli import run


def test_softmax(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("ops", "Softmax", "--grad")) == 0
    text = capsys.readouterr().out
    assert "# derived backward: input_1*(17*input_2 + 3) EOPs, 2*input_1*input_2 MACs; keeps input" in text
    assert "# written backward, which training takes: 4*input_1*input_2 EOPs" in text


def test_a_long_form_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("ops", "Conv", "Tanh", "--grad")) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) < 400
    assert "3*input_1*input_2 EOPs, 0 MACs; keeps output" in text


@pytest.mark.parametrize("names", [(), ("Shape",), ("Softmax", "--verify")])
def test_what_is_refused(names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("ops", *names, "--grad")) == 2
    assert "internal" not in capsys.readouterr().err
