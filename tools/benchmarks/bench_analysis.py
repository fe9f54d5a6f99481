"""How long counting takes in a warm process, beside the other symbolic counters of loop nests.

    TOLCOST_PEERS_PYTHON=... python tools/benchmarks/bench_analysis.py [ROUNDS]

The variable names an interpreter that has the peers (see README.md); without it only tolcost is measured.
Every round analyses a program whose lengths have new names, so that no result is found in a cache, and
processor time is measured, the best of all rounds.  What is measured:

    atoms   from atoms to the histogram of functions, beside ``get_op_map`` of a kernel
    count   the program is parsed, the kernel made: lowering and the histogram, beside ``get_op_map``
    text    from text to the same, beside ``make_kernel`` and ``get_op_map``
    all     from text to everything tolcost knows: atoms, bytes, depth and conditions too

The counts of both are evaluated at a few points and have to agree.  Ends with 1 if they do not, or if
tolcost is less than ten times as fast as the peer in *count* or *text* for one of the four programs that
the target names.  What an analysis does includes lowering, so *atoms* is shown and decides nothing; nor do
the other two convolutions.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tolcost.algebra import evaluate
from tolcost.atoms.nodes import Program
from tolcost.cost import count_functions
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import arguments
from tolcost.pipeline import Parsed, analyze_lowered, lower, read_program
from tolcost.platform import with_deep_stack

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "specs" / "examples"
TURNS = 5
TARGET = 10.0
CONV = "c h w m kh kw"
PEER_CHECK = "import dace, importlib.util as u; print(dace.__version__, u.find_spec('{}') is not None)"
WORK_DEPTH = ("dace.sdfg.work_depth_analysis", "dace.sdfg.performance_evaluation")


@dataclass(frozen=True, slots=True)
class Case:
    """A program, its lengths, the attributes that are given, and the points to compare at."""

    file: str
    lengths: str
    points: tuple[dict[str, int], ...]
    given: Mapping[str, int] = field(default_factory=dict)
    has_peer: bool = True
    has_target: bool = True


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of processor time, the best of all rounds."""

    count: float
    text: float
    everything: float = float("inf")
    atoms: float = float("inf")

    def best(self, other: Times) -> Times:
        """Give the better of each."""
        return Times(
            min(self.count, other.count),
            min(self.text, other.text),
            min(self.everything, other.everything),
            min(self.atoms, other.atoms),
        )


def _images(*sizes: str) -> tuple[dict[str, int], ...]:
    return tuple(dict(zip(CONV.split(), map(int, size.split()), strict=True)) for size in sizes)


_SQUARES = _images("2 9 11 4 3 3", "1 8 6 5 2 4", "3 10 7 1 5 1")
CASES = {
    "matmul": Case("matmul", "n k m", ({"n": 3, "k": 4, "m": 5}, {"n": 100, "k": 1, "m": 17})),
    "conv, stride 2": Case("conv2d_dense", CONV, _SQUARES, {"s": 2, "p": 1}),
    "conv, stride 2, exact": Case("conv2d_exact", CONV, _SQUARES, {"s": 2, "p": 1}, has_target=False),
    "conv, any stride": Case("conv2d_dense", CONV + " s p", (), has_peer=False),
    "triangle": Case("triangle", "n", ({"n": 1}, {"n": 7}, {"n": 1000})),
    "softmax": Case("softmax", "n m", ({"n": 3, "m": 4}, {"n": 1, "m": 1000})),
}


def source_of(case: Case, turn: int) -> Source:
    """Give the program with lengths that no earlier one had."""
    text = (EXAMPLES / f"{case.file}.tol").read_text("utf-8")
    names = "|".join(case.lengths.split())
    return Source(f"{case.file}.tol", re.sub(rf"\b({names})\b", rf"\g<1>_{turn}", text))


def lowered(case: Case, parsed: Parsed) -> Program:
    return lower(parsed, arguments(parsed.program, attrs=case.given)).program


def everything(case: Case, source: Source) -> object:
    parsed = read_program(source)
    return analyze_lowered(lower(parsed, arguments(parsed.program, attrs=case.given)), source.name)


def measure(case: Case, first: int, rounds: int) -> Times:
    """Give the best times of some rounds, the first of which has warmed up everything."""
    best = Times(float("inf"), float("inf"))
    for turn in range(first, first + rounds + 1):
        source = source_of(case, turn)
        gc.collect()
        start = time.process_time()
        parsed = read_program(source)
        read = time.process_time()
        program = lowered(case, parsed)
        middle = time.process_time()
        count_functions(program)
        end = time.process_time()
        whole = source_of(case, turn + 10_000_000)
        gc.collect()
        again = time.process_time()
        everything(case, whole)
        whole_time = time.process_time() - again
        best = best.best(Times(end - read, end - start, whole_time, end - middle))
    return best


def totals(case: Case) -> list[int]:
    """Give the EOPs at the points of a case, from its closed form."""
    parsed = read_program(Source(case.file, (EXAMPLES / f"{case.file}.tol").read_text("utf-8")))
    eops = count_functions(lowered(case, parsed)).eops
    return [evaluate(eops, {symbol: dims[symbol.name] for symbol in eops.free}) for dims in case.points]


def ask_loopy(python: str, first: int, rounds: int) -> dict[str, object]:
    """Let the peer measure itself."""
    points = {name: case.points for name, case in CASES.items() if case.has_peer}
    asked = json.dumps({"first": first, "rounds": rounds, "points": points})
    run = subprocess.run(
        [python, str(HERE / "peer_loopy.py"), asked],
        env={**os.environ, "LOOPY_NO_CACHE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        last = run.stderr.strip().splitlines()[-1:] or ["no reason given"]
        return {"problem": last[0]}
    found: dict[str, object] = json.loads(run.stdout)
    return found


def dace_state(python: str) -> str:
    """Say whether the work-depth analysis of DaCe can be had."""
    for module in WORK_DEPTH:
        run = subprocess.run(
            [python, "-c", PEER_CHECK.format(module)], capture_output=True, text=True, check=False
        )
        if run.returncode:
            return "DaCe: not installed"
        version, found = run.stdout.split()
        if found == "True":
            return f"DaCe {version}: has {module}, which is not measured here"
    return f"DaCe {version}: not measured, its work-depth analysis is not in the released package"


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    python = os.environ.get("TOLCOST_PEERS_PYTHON")
    ours: dict[str, Times] = {}
    theirs: dict[str, Times] = {}
    values: dict[str, list[int]] = {}
    peer = "loopy: not installed (TOLCOST_PEERS_PYTHON names no interpreter that has it)"
    for turn in range(TURNS):  # in turns, so that what else the machine does falls on both
        first = 1 + turn * 1_000_000
        for index, (name, case) in enumerate(CASES.items()):
            start = first + index * 100_000  # no two cases share a name
            found = with_deep_stack(partial(measure, case, start, rounds))
            ours[name] = found.best(ours.get(name, found))
        answer = ask_loopy(python, first, rounds) if python else {"problem": ""}
        if "problem" in answer:
            peer = f"loopy: not measured: {answer['problem']}" if answer["problem"] else peer
            continue
        peer = str(answer["versions"])
        for name, row in answer["cases"].items():
            found = Times(row["count"], row["text"])
            theirs[name], values[name] = found.best(theirs.get(name, found)), row["values"]
    return report(ours, theirs, values, (peer, dace_state(python) if python else "DaCe: not installed"))


def report(
    ours: Mapping[str, Times],
    theirs: Mapping[str, Times],
    values: Mapping[str, list[int]],
    peers: tuple[str, ...],
) -> int:
    """Print the table; give 1 where counts differ or a target is missed."""
    heads = ("atoms", "count", "text", "all", "loopy", "text", "atoms", "count", "text")
    print(f"{'milliseconds; ratios last':<26}" + "".join(f"{head:>8}" for head in heads))
    failed = 0
    for name, own in ours.items():
        times = [own.atoms, own.count, own.text, own.everything]
        other = theirs.get(name)
        times += [other.count, other.text] if other else []
        line = f"{name:<26}" + "".join(f"{seconds * 1e3:>8.2f}" for seconds in times)
        if other is None:
            print(line)
            continue
        agree = values[name] == totals(CASES[name])
        ratios = other.count / own.atoms, other.count / own.count, other.text / own.text
        failed |= not agree or (CASES[name].has_target and min(ratios[1:]) < TARGET)
        line += "".join(f"{ratio:>8.1f}" for ratio in ratios)
        print(line + ("  agree" if agree else f"  DIFFER: {values[name]} and {totals(CASES[name])}"))
    print("\n".join(("", *peers, f"Python {sys.version.split()[0]}")))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
