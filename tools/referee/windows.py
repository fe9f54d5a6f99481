"""Writes reports/windows.md: how many keys a query of a sliding window sees, beside what others count.

    python -m tools.referee.windows

All figures are of ``specs/families/mistral.tol``: from its closed form, and from a run of the interpreter.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tolcost.algebra import Poly, evaluate, substitute, to_text
from tolcost.algebra.piecewise import fewer_clips
from tolcost.apps.referee.subjects import ModelProgram, lower_subject, run_subject, step_of
from tolcost.atoms.nodes import Program
from tolcost.catalogue.specs import Library, open_library
from tolcost.cost import analyze_program

REPORT = Path(__file__).parents[2] / "reports" / "windows.md"
SUBJECT = ModelProgram("families/mistral")
ONES = ("b", "c", "d", "f", "g", "l", "r", "v")
SIZES = ((512, 2048), (128, 2048), (1024, 2048), (2048, 2048), (4096, 2048), (4096, 32768), (128, 131072))
RUNS = ((3, 7), (4, 9), (8, 5))
"""Windows and tokens at which the program is run."""

PAGE = """# How many keys does a query of a sliding window see?

Made by `python -m tools.referee.windows`; do not edit.

Projects that estimate the FLOPs of a model with sliding windows disagree on attention. For a window of
512 at 2,048 tokens, a query was said to see 256 keys (half of the window), 512 (the window), or 1,024
(half of the tokens). The program `specs/families/mistral.tol` computes such a model, and its results are
those of transformers (`tests/referee/test_families.py`). Its multiply-adds tell the number:

| window `w` | tokens `s` | keys of a query | half of the window | the window | half of the tokens |
|---:|---:|---:|---:|---:|---:|
{rows}

**448.125 keys at a window of 512 and 2,048 tokens.** The first 511 queries see fewer keys than the window
has, and all others 512. From half of the window, attention comes out as {half} of what it is; from the
whole window, as {whole}; from half of the tokens, as {tokens}.

## How it is derived

A head of `2*c` numbers takes `2*c` multiply-adds for a score, and as many for its share of the value. So
the multiply-adds of attention for one text, layer and head, over `4*c*s`, are the keys of a query. In the
closed form of the program they are

    {form}

For `w <= s` this is `w - w*(w - 1)/(2*s)` keys on average, and `(s + 1)/2` for a window as long as the
text. In a step of training, forward and backward together, each of these products is done three times.
Besides, the gradients of softmax and of the turns by places take

    {rest}

multiply-adds. A run of the interpreter, which knows no closed forms, counts those of forward at small
sizes:

| window | tokens | counted | of the closed form |
|---:|---:|---:|---:|
{runs}

## What is published

| who | keys of a query | |
|---|---|---|
| torchtitan (`torchtitan/mistral`) | `Min(s, w)` | the window, though the first queries see fewer |
| verl (`verl/mistral`) | `Min(s, w)` | the same |
| Megatron-LM (`megatron/mistral`) | `s/2` | the window is not looked at |

`tolcost referee torchtitan/mistral verl/mistral megatron/mistral` judges the formulas as they are
printed.
"""


def main() -> None:
    """Write the report."""
    REPORT.write_text(report(), "utf-8")


def report() -> str:
    """Return the report."""
    library = open_library()
    forward = lower_subject(SUBJECT, library)
    form = _macs(forward)
    rows = [_row(form, window, tokens) for window, tokens in SIZES]
    keys = mean_keys(form, 512, 2048)
    return PAGE.format(
        rows="\n".join(rows),
        half=_percent(256 / keys),
        whole=_percent(512 / keys),
        tokens=_percent(1024 / keys),
        form=to_text(_attention(form)),
        rest=to_text(fewer_clips(_attention(_macs(step_of(forward))) - _attention(form) * 3)),
        runs="\n".join(_run(forward, form, library, *size) for size in RUNS),
    )


def mean_keys(form: Poly, window: int, tokens: int) -> Fraction:
    """Return the keys of a query on average, from the multiply-adds that grow with the width of a head."""
    narrow, wide = (_at(form, window, tokens, c=c, d=0) for c in (1, 2))
    return Fraction(wide - narrow, 4 * tokens)


def _macs(program: Program) -> Poly:
    return analyze_program(program, "mistral", depth=False).counts.macs


def _at(form: Poly, window: int, tokens: int, **others: int) -> int:
    point = {**dict.fromkeys(ONES, 1), "window": window, "s": tokens, **others}
    return evaluate(form, {symbol: point[symbol.name] for symbol in form.free})


def _row(form: Poly, window: int, tokens: int) -> str:
    keys = mean_keys(form, window, tokens)
    assert keys == _by_hand(window, tokens)
    others = (f"{window / 2:,g}", f"{window:,}", f"{tokens / 2:,g}")
    return f"| {window:,} | {tokens:,} | {float(keys):,.6g} | {' | '.join(others)} |"


def _by_hand(window: int, tokens: int) -> Fraction:
    """Count the keys of every query."""
    return Fraction(sum(min(window, place) for place in range(1, tokens + 1)), tokens)


def _attention(form: Poly) -> Poly:
    """Return the multiply-adds of attention for one text, layer and head."""
    fixed = {symbol: int(symbol.name not in "dfv") for symbol in form.free if symbol.name in ONES}
    return substitute(form, {symbol: value for symbol, value in fixed.items() if symbol.name != "c"})


def _run(program: Program, form: Poly, library: Library, window: int, tokens: int) -> str:
    point = {**dict.fromkeys(ONES, 1), "window": window, "s": tokens}
    run = run_subject(SUBJECT, program, point, library)
    counted = _at(form, window, tokens)
    assert run.macs == counted
    return f"| {window} | {tokens} | {run.macs:,} | {counted:,} |"


def _percent(share: Fraction | float) -> str:
    return f"{float(share):.1%}".replace("%", " %")


if __name__ == "__main__":
    main()
