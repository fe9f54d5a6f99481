"""Writes reports/gradients.md: gradients of operators and programs beside PyTorch's, and what both keep.

    python -m tools.gradient.report_operators

From ``reports/data/gradients.json`` and ``gradients_programs.json`` only; the same bytes every time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tolcost.catalogue.specs import open_library

ROOT = Path(__file__).parents[2]
DATA = ROOT / "reports" / "data" / "gradients.json"
PROGRAMS = ROOT / "reports" / "data" / "gradients_programs.json"
REPORT = ROOT / "reports" / "gradients.md"

HEAD = """# Gradients of operators beside PyTorch

Made by `make gradients`; do not edit.

The gradient of each operator is derived from its definition, printed, read again and run. Inputs are those
of ONNX's node tests, of the cases recorded from onnxruntime and a few of our own, in float64: moved a
little, and then at other lengths with the same derived program. At each point it is compared with
torch.autograd (PyTorch {torch}), where a function of PyTorch has the value of the definition, and with
central differences of the operator's own value elsewhere. Where PyTorch has no such function, some are
composed of its functions, after the text of ONNX's specification (`tools/gradient/torch_rarer.py`). What a
run of the gradient counts is compared with its closed form. Operators of onnxruntime that take whole
numbers stay at the lengths of their cases: these numbers are offsets, and longer tensors of them would be
no input.

| operators | ONNX's own domain | its domains of classic models and previews | onnxruntime |
|---|---:|---:|---:|
{totals}

**{held} operators are held: {by_torch} to PyTorch, {by_differences} to differences alone.** {two} of them
at two shapes or more. {points:,} points by PyTorch and {compared:,} by differences; {counted:,} of
{every:,} runs count what the closed form says. An error is relative to the largest number of a gradient,
or to 1. It may be 1e-6: the largest is {error}. {kinks} directions met a kink or a value that is no number,
and were skipped.

Operators that round to 32 bits inside may be off by 1e-4 from PyTorch, and by 1e-2 from differences, whose
step has to be larger. Off by more than 1e-6 are {coarse}.

## Ties and boundaries

Each case that PyTorch computes was repeated at inputs rounded to whole numbers: {ties:,} cases have the
gradient of PyTorch there. {other} do not:

| operator | as PyTorch | not |
|---|---:|---:|
{at_ties}

- **RoiAlign** takes the maximum of products. At whole numbers several are equal but for their rounding, so
  that it depends on the order of operations which of them is the largest.
- **A root of 0**, of a window of zeros in LpPool, has no derivative: the derived gradient is no number there,
  and PyTorch's is 0.

## What forward keeps for the gradient

For {kept} operators, the first case: the bytes that the backward pass reads of forward (the written
backward pass where there is one, as in training), and the bytes of the storages that torch.autograd saves,
as `saved_tensors_hooks` shows them. **{equal} are equal to the byte ({nothing_kept} of these
keep nothing), {more} keep less here, {less} keep more.**

| operator | here | PyTorch | why |
|---|---:|---:|---|
{keeping}

- **its result**: PyTorch saves the output beside the input, or instead of it. Here it is computed again from
  what is read.
- **not needed**: PyTorch saves an input of which the gradient reads the shape at most. Derived, nothing of it
  is read.
- **in between**: PyTorch saves statistics, places of maxima, masks, or copies of inputs. Several functions of
  PyTorch compute some of these operators, and each saves its own. Here all this is computed again from the
  inputs: less memory, and more work.
- **not**: an input that is read here, where PyTorch makes do with one of these, such as a mask or a sum.

## Operators

| operator | cases by PyTorch | by differences | shapes | largest error |
|---|---:|---:|---:|---:|
{rows}

## Wrong

{wrong}

## No derivative yet, or not compared

| operator | why |
|---|---|
{refused}

Some of these have a derivative for other cases, and are in the table above as well. A type that does not fit
comes from a constant of 32 bits inside of a node, which has no case in float64.

## Nothing to differentiate

Their inputs or outputs are whole numbers, truth values, texts or random, or no output depends on an input
in a way that has a derivative: {nothing}.

No test has inputs of real numbers for: {untested}.
"""

OF_PROGRAMS = """
## Programs of `specs/`

A program is unrolled at given lengths into its five atoms, and PyTorch computes these, one number after the
other. So PyTorch differentiates the same program, by rules of its own, and nothing of how gradients are
derived here is used. Values are compared as well. Of {every} programs, {nothing} have nothing to
differentiate, and {uncompiled} do not compile as they are: some of the paper as it prints them, and one whose
attribute has to be given. **{held} of the other {real} have the gradients of PyTorch, {two} of these at two
choices of lengths, and {fixed} at the only lengths that they have; {wrong} have others.** The largest error
is {error:.1g}; where a program rounds to 32 bits inside, it may be 1e-4, else 1e-6.

| programs | held | nothing to differentiate | do not compile | not held |
|---|---:|---:|---:|---:|
{folders}

| why not | programs |
|---|---|
{refused}
"""

Row = Mapping[str, Any]


def main() -> None:
    """Write the report."""
    REPORT.write_text(report() + report_programs(), encoding="utf-8")


def programs() -> dict[str, dict[str, Any]]:
    """Read what is recorded of the programs."""
    found: dict[str, dict[str, Any]] = json.loads(PROGRAMS.read_text("utf-8"))["programs"]
    return found


def report_programs() -> str:
    """Return the part about programs."""
    found = programs()
    kinds = {name: _kind_of_program(row) for name, row in found.items()}
    held = [row for name, row in found.items() if kinds[name] == "held"]
    folders = sorted({_folder(name) for name in found})
    refused: dict[str, list[str]] = {}
    for name, row in found.items():
        if kinds[name] in ("not", "uncompiled"):
            said = row.get("wrong") or row.get("refused", "none of the lengths that were tried is admitted")
            refused.setdefault(said.partition(": ")[2] or said, []).append(name)
    many = Counter((_folder(name), one) for name, one in kinds.items())
    return OF_PROGRAMS.format(
        every=len(found),
        nothing=sum(one == "nothing" for one in kinds.values()),
        held=len(held),
        uncompiled=sum(one == "uncompiled" for one in kinds.values()),
        real=sum(one in ("held", "not") for one in kinds.values()),
        two=sum(row["shapes"] > 1 for row in held),
        fixed=sum(row["shapes"] == 1 and row.get("fixed", False) for row in held),
        wrong=sum("wrong" in row for row in found.values()) or "none",
        error=max(row["error"] for row in held),
        folders=_lines(
            (folder, *(many[folder, one] or "" for one in ("held", "nothing", "uncompiled", "not")))
            for folder in folders
        ),
        refused=_lines((said, _names(sorted(names))) for said, names in sorted(refused.items())),
    )


def _folder(name: str) -> str:
    return name.partition("/")[0]


def _kind_of_program(row: Row) -> str:
    if "wrong" in row:
        return "not"
    if row.get("shapes"):
        return "held"
    code = row.get("refused", "").partition(": ")[0]
    if code == "T0901":
        return "nothing"
    return "uncompiled" if re.fullmatch("T0[2-8]..", code) else "not"


def recorded() -> dict[str, Any]:
    """Read what is recorded."""
    found: dict[str, Any] = json.loads(DATA.read_text("utf-8"))
    return found


def is_held(row: Row) -> bool:
    """Tell whether some case of an operator was held to PyTorch or differences, and none is wrong."""
    return bool(row.get("torch") or row.get("differences")) and not row.get("wrong")


def report() -> str:
    """Return the text of the report."""
    data = recorded()
    rows: list[Row] = sorted(data["operators"].values(), key=lambda r: ("." in r["operator"], r["operator"]))
    held = [row for row in rows if is_held(row)]
    torch = [row for row in held if row.get("torch")]
    coarse = sorted(row["operator"] for row in held if row["error"] > 1e-6)
    pairs = {row["operator"]: row["kept"] for row in held if row.get("kept")}
    sums = {name: (sum(k["here"].values()), sum(k["torch"].values())) for name, k in pairs.items()}
    return HEAD.format(
        torch=data["torch"],
        totals=_totals(rows),
        held=len(held),
        by_torch=len(torch),
        by_differences=len(held) - len(torch),
        two=sum(row.get("shapes", 0) > 1 for row in held),
        points=_sum(rows, "torch"),
        compared=_sum(rows, "differences"),
        counted=_sum(rows, "counted"),
        every=_sum(rows, "counted") + sum("counts" in said for r in rows for said in r.get("wrong", ())),
        error=f"{max(row['error'] for row in held if row['error'] <= 1e-6):.1g}",
        coarse=", ".join(coarse) or "none",
        kinks=_sum(rows, "kinks"),
        ties=_sum(rows, "ties"),
        other=_sum(rows, "other_at_ties"),
        at_ties=_lines(
            (row["operator"], row.get("ties", 0), row["other_at_ties"])
            for row in rows
            if row.get("other_at_ties")
        ),
        kept=len(pairs),
        equal=sum(here == there for here, there in sums.values()),
        more=sum(here < there for here, there in sums.values()),
        less=sum(here > there for here, there in sums.values()),
        nothing_kept=sum(here == there == 0 for here, there in sums.values()),
        keeping=_lines(
            (name, _told(kept["here"]), _told(kept["torch"]), why(name, kept))
            for name, kept in pairs.items()
            if sums[name][0] != sums[name][1]
        ),
        rows=_lines(
            (r["operator"], r.get("torch", ""), r.get("differences", ""), r["shapes"], f"{r['error']:.1g}")
            for r in held
        ),
        wrong=_wrong(rows),
        refused=_lines(
            (row["operator"], said.partition(": ")[2].replace("|", "\\|") or said)
            for row in rows
            for said in dict.fromkeys(row.get("refused", ()))
            if not said.startswith("T0901")
        ),
        nothing=", ".join(row["operator"] for row in rows if _has_nothing(row)),
        untested=", ".join(row["operator"] for row in rows if row.keys() <= {"operator", "error", "kinks"}),
    )


def _sum(rows: Iterable[Row], key: str) -> int:
    return sum(row.get(key, 0) for row in rows)


def _lines(rows: Iterable[tuple[object, ...]]) -> str:
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def kind(row: Row) -> str:
    """Return what came of an operator, in words."""
    if row.get("wrong"):
        return "wrong"
    if is_held(row):
        return "held to PyTorch" if row.get("torch") else "held to differences"
    if _has_nothing(row):
        return "nothing to differentiate"
    is_refused = any(said.startswith("T0900") for said in row.get("refused", ()))
    return "no derivative yet" if is_refused else "not compared"


def _has_nothing(row: Row) -> bool:
    told = row.get("refused", ())
    return bool(told) and not is_held(row) and all(said.startswith("T0901") for said in told)


def _totals(rows: list[Row]) -> str:
    kinds = (
        "held to PyTorch", "held to differences", "wrong", "no derivative yet", "nothing to differentiate",
        "not compared",
    )  # fmt: skip
    return _lines(
        (
            one,
            *(
                sum(kind(row) == one and _owner(row) == owner for row in rows)
                for owner in ("", "onnx", "microsoft")
            ),
        )
        for one in kinds
    )


def _owner(row: Row) -> str:
    """Return whose domain an operator is of: ai.onnx.ml is one of ONNX, com.microsoft is onnxruntime's."""
    parts: list[str] = row["operator"].split(".")
    return parts[1] if len(parts) > 1 else ""


def _told(kept: Mapping[str, int]) -> str:
    return f"{sum(kept.values()):,}"


def why(operator: str, kept: Mapping[str, Mapping[str, int]]) -> str:
    """Return why PyTorch keeps other bytes, from what each of them keeps."""
    here, there = kept["here"], kept["torch"]
    domain, _, name = operator.rpartition(".")
    outputs = {statement.name for statement in open_library().versions(domain, name)[-1].outputs}
    besides = there.keys() - here.keys() - {"other"}
    said = []
    results = sorted(name for name in besides if name.partition(".")[0] in outputs)
    if results:
        said.append(f"its result: {_names(results)}")
    if inputs := sorted(besides - {*results}):
        said.append(f"not needed: {_names(inputs)}")
    if there.get("other"):
        said.append(f"in between: {there['other']:,}")
    if without := sorted(here.keys() - there.keys()):
        said.append(f"not {_names(without)}")
    return "; ".join(said)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _wrong(rows: list[Row]) -> str:
    found = [(row["operator"], said) for row in rows for said in row.get("wrong", ())]
    return "\n".join(f"- {name}: {said}" for name, said in found) or "None."


if __name__ == "__main__":
    main()
