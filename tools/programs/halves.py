"""Random functions that apply themselves to halves of any length: ``python -m tools.programs.halves 1000``.

The cost at any length is solved from a recurrence. At each length alone the applications are written out and
counted: that has to be what the forms say, or to lie between them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from random import Random

from tolcost.algebra import evaluate, the_symbol
from tolcost.algebra import length as length_of
from tolcost.cost import Analysis, analyze_program
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate.inputs import arguments
from tolcost.pipeline import Parsed, analyze_parsed, lower, read_program
from tolcost.platform import with_deep_stack

PARTS = {
    "h": ["part(v, [1], [h])", "map(tol[h], v[2 * i], [i])", "map(tol[h], v[2 * i - 1] + v[2 * i], [i])"],
    "n - h": ["part(v, [h + 1], [n])", "map(tol[n - h], v[2 * i - 1], [i])", "part(v, [h + 1], [n]) * v[1]"],
}
WORK = ["v[1]", "v[n]", "reduce(v, add, 0)", "reduce(map(tol[n, n], v[i] * v[j], [i, j]), max, 0)",
        "reduce(part(v, [1], [h]), max, 0)"]  # fmt: skip
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 11)


def draw(seed: int) -> str:
    """Draw a program."""
    rng = Random(seed)
    sizes = rng.choice(
        [["h", "n - h"], ["h", "n - h"], ["n - h", "n - h", "h"], ["h"], ["n - h"], ["h", "h"]]
    )
    calls = [f"    r{k} = f({rng.choice(PARTS[size])})" for k, size in enumerate(sizes)]
    results = [f"r{k}" for k in range(len(sizes))]
    if rng.random() < 0.5:
        base, items = rng.choice(["v[1]", "v[1] + 1"]), [*results, rng.choice(WORK)]
        found = rng.choice([" + ", " * "]).join(rng.sample(items, rng.choice([len(items), len(sizes)])))
    else:
        base, results = "v", results if rng.random() < 0.8 else [f"map({r}, * + 1)" for r in results]
        found = results[0]
        for result in results[1:]:
            found = f"join({found}, {result}, 1)"
        found = rng.choice([found, f"{found} + {rng.choice(WORK)}", f"{found}[1] + v"])
    top = rng.choice(
        ["f(x)", "f(x)", "f(x) * 2", "f(x + 1)", "reduce(f(x), add, 0)" if base == "v" else "f(x)"]
    )
    lines = ["tol x: R [n]", "f(v) = {", "  n = |v|[1]", "  h = floor(n / 2)", f"  where(n == 1, {base}, {{",
             *calls, f"    {found}", "  })", "}", f"y := {top}", ""]  # fmt: skip
    return "\n".join(lines)


def judge(seed: int) -> str:
    """Say how the forms stand to what is counted at each length."""
    parsed = read_program(Source(f"seed {seed}", draw(seed)))
    try:
        found, _ = analyze_parsed(parsed)
    except Rejected as rejected:
        return "refused" if rejected.diagnostics[0].code == "T0425" else f"differs: {rejected}"
    wrong = (differs(parsed, found, n) for n in LENGTHS)
    return next(filter(None, wrong), f"{found.status}{'' if found.least is None else ', and at least'}")


def differs(parsed: Parsed, found: Analysis, n: int) -> str | None:
    """Say what the forms at any length say wrongly of one; None if nothing."""
    alone = analyze_program(lower(parsed, arguments(parsed.program, {"x": [n]})).program)
    at = {the_symbol(length_of("n")): n}
    least = None if found.least is None else evaluate(found.least, at)
    for what, said, counted in (
        ("EOPs", evaluate(found.eops, at), evaluate(alone.eops, {})),
        ("MACs", evaluate(found.counts.macs, at), evaluate(alone.counts.macs, {})),
        (
            "index",
            *(evaluate(sum(one.counts.index.values(), length_of("n") * 0), at) for one in (found, alone)),
        ),
    ):
        if counted > said or (found.status == "exact" and counted != said):
            return f"differs: {what} at {n}: {counted}, and not {said}"
        if what == "EOPs" and least is not None and counted < least:
            return f"differs: {what} at {n}: {counted}, and not at least {least}"
    for key, form in alone.counts.histogram.items():
        said, counted = evaluate(found.counts.histogram[key], at), evaluate(form, {})
        if counted > said or (found.status == "exact" and counted != said):
            return f"differs: {key} at {n}: {counted}, and not {said}"
    if found.span is None or alone.span is None:
        return None
    deep = [(one.span.chain.at(at), one.span.tree.at(at)) for one in (found, alone) if one.span is not None]
    return None if all(s >= c for s, c in zip(*deep, strict=True)) else f"differs: depth at {n}: {deep}"


def verdicts(start: int, many: int) -> Iterator[tuple[int, str]]:
    """The verdicts on many seeds."""
    for seed in range(start, start + many):
        yield seed, with_deep_stack(lambda seed=seed: judge(seed))


def main(asked: list[str]) -> int:
    """Judge as many as asked; the exit code tells whether none is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.programs.halves", description=__doc__)
    parser.add_argument("many", type=int, nargs="?", default=1000, help="how many functions")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    options = parser.parse_args(asked)
    tally: Counter[str] = Counter()
    for seed, verdict in verdicts(options.start, options.many):
        tally[verdict.partition(":")[0]] += 1
        if verdict.startswith("differs"):
            print(f"seed {seed}: {verdict}\n{draw(seed)}", flush=True)
    print(f"{options.many} functions from seed {options.start}: {dict(tally)}")
    return 1 if "differs" in tally else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
