"""How long counting takes for the 30 kernels of PolyBench, beside loopy; measured as in ``bench_analysis``.

    TOLCOST_PEERS_PYTHON=... python tools/benchmarks/bench_polybench.py [ROUNDS]

Counts of both are evaluated at the lengths of ``reports/data/polybench.toml`` and have to agree: ends with 1
if they do not.  There is no target for the times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import partial
from statistics import median

from bench_analysis import HERE, Case, Times, measure, totals

from tolcost.platform import with_deep_stack

TURNS = 2
FOLDER = HERE.parents[1] / "specs" / "polybench"
RECORD = HERE.parents[1] / "reports" / "data" / "polybench.toml"


def cases() -> dict[str, Case]:
    point = tomllib.loads(RECORD.read_text("utf-8"))["at"]
    lengths = " ".join(sorted(point))
    names = sorted(path.stem for path in FOLDER.glob("*.tol"))
    return {name: Case(f"../polybench/{name}", lengths, (point,)) for name in names}


def ask_loopy(python: str, point: Mapping[str, int], first: int, rounds: int) -> dict[str, dict[str, object]]:
    """Let the peer measure itself."""
    asked = json.dumps({"first": first, "rounds": rounds, "point": point})
    run = subprocess.run(
        [python, str(HERE / "peer_loopy_polybench.py"), asked],
        env={**os.environ, "LOOPY_NO_CACHE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, dict[str, object]] = json.loads(run.stdout)["cases"]
    return found


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    python = os.environ.get("TOLCOST_PEERS_PYTHON")
    kernels = cases()
    ours: dict[str, Times] = {}
    theirs: dict[str, Times] = {}
    values: dict[str, object] = {}
    for turn in range(TURNS):  # in turns, so that what else the machine does falls on both
        first = 1 + turn * 10_000_000
        for index, (name, case) in enumerate(kernels.items()):
            found = with_deep_stack(partial(measure, case, first + index * 100_000, rounds))
            ours[name] = found.best(ours.get(name, found))
        answer = ask_loopy(python, case.points[0], first, rounds) if python else {}
        for name, row in answer.items():
            found = Times(float(str(row["count"])), float(str(row["text"])))
            theirs[name], values[name] = found.best(theirs.get(name, found)), row["values"]
    return report(kernels, ours, theirs, values)


def report(
    kernels: Mapping[str, Case],
    ours: Mapping[str, Times],
    theirs: Mapping[str, Times],
    values: Mapping[str, object],
) -> int:
    """Print the table; give 1 where counts differ."""
    heads = ("atoms", "count", "text", "all", "loopy", "text", "count", "text")
    print(f"{'milliseconds; ratios last':<26}" + "".join(f"{head:>8}" for head in heads))
    ratios: list[tuple[float, float]] = []
    differing = []
    for name, own in ours.items():
        times = [own.atoms, own.count, own.text, own.everything]
        other = theirs.get(name)
        line = f"{name:<26}" + "".join(f"{seconds * 1e3:>8.2f}" for seconds in times)
        if other is not None:
            ratios.append((other.count / own.count, other.text / own.text))
            line += f"{other.count * 1e3:>8.2f}{other.text * 1e3:>8.2f}" + "".join(
                f"{r:>8.1f}" for r in ratios[-1]
            )
            if values[name] != totals(kernels[name]):
                differing.append(name)
        print(line)
    if ratios:
        middles = [median(column) for column in zip(*ratios, strict=True)]
        print(f"{'median ratio':<74}" + "".join(f"{middle:>8.1f}" for middle in middles))
    print(f"counts differ: {', '.join(differing) or 'nowhere'}")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
