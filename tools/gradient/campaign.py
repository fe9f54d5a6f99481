"""Differentiate ONNX's node tests, or programs of ``specs/``, and hold each to differences of values.

python -m tools.gradient.campaign --part 0 --of 6            every sixth node test
python -m tools.gradient.campaign --seconds 100              as far as one gets
python -m tools.gradient.campaign specs/examples specs/polybench
"""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from tolcost.atoms.nodes import Program
from tolcost.catalogue.cases import Case, arrays_by_name, derive, load_cases
from tolcost.catalogue.specs import open_library
from tolcost.cli.analyze import Request, lowered
from tolcost.diagnostics import Rejected
from tolcost.execute.inputs import random_arrays
from tools.gradient.products import Arrays, Outcome, check, derived

SECONDS_EACH = 20
NO_POINT = Outcome("no point at which it runs")

Task = tuple[str, str, Callable[[], Outcome]]
"""A name, a group to report by, and the check."""


def node_tests(part: int, of: int, operators: list[str]) -> Iterator[Task]:
    """ONNX's node tests in float64, at their own inputs moved a little, away from kinks."""
    library = open_library()
    for number, case in enumerate(load_cases(operators)):
        spec = library.find(case.node.domain, case.node.op, case.opset)
        if number % of == part and spec is not None and case.node.op not in library.outside(case.node.domain):
            yield case.name, case.node.op, lambda case=case, spec=spec: _node_test(case, spec, library)


def _node_test(case: Case, spec: object, library: object) -> Outcome:
    wide = replace(case, inputs=tuple(map(_widened, case.inputs)))
    found = derive(wide, spec, library)  # type: ignore[arg-type]
    rng = np.random.default_rng(7)
    arrays = arrays_by_name(wide, spec)  # type: ignore[arg-type]
    moved = {
        name: (a + rng.uniform(0.01, 0.06, a.shape),) if a.dtype == np.float64 else (a,)
        for name, a in arrays.items()
        if not isinstance(a, tuple)
    }
    moved |= {name: a for name, a in arrays.items() if isinstance(a, tuple)}
    program = found.lowered.program
    return check(program, {one.name: moved[one.name] for one in program.inputs})


def _widened(item: object) -> object:
    if isinstance(item, tuple):
        return tuple(map(_widened, item))
    is_float = isinstance(item, np.ndarray) and item.dtype in (np.float32, np.float16)
    return item.astype(np.float64) if is_float else item  # type: ignore[union-attr]


def programs(folders: list[str]) -> Iterator[Task]:
    """Programs at two points, random inputs at both."""
    files = [Path(folder) for folder in folders if Path(folder).is_file()]
    for folder in folders:
        files += sorted(Path(folder).rglob("*.tol"))
    for path in files:
        yield str(path), path.parent.name, lambda path=path: _program(path)


def _program(path: Path) -> Outcome:
    program = lowered(str(path), Request()).program
    made = derived(program)
    result = NO_POINT
    for lengths in ([3] * 20, [2, 3, 4, 5] * 5):
        dims = {symbol.name: n for symbol, n in zip(program.symbols, lengths, strict=False)}
        try:
            arrays = random_inputs(program, dims)
            found = check(program, arrays, dims, made=made)
        except Rejected as rejected:
            if rejected.diagnostics[0].code.startswith("T09"):
                raise
            continue  # lengths that the program does not admit
        if found.problem is not None:
            return found
        result = found
    return result


def random_inputs(program: Program, dims: dict[str, int], seed: int = 1) -> Arrays:
    """Random inputs, reals above 0.3."""
    drawn = random_arrays(program, {}, dims, seed)
    return {
        name: tuple(np.abs(a) + 0.3 if a.dtype.kind == "f" else a for a in values)
        for name, values in drawn.items()
    }


def _expired(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Run the tasks, and say what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--operators", default="", help="names, separated by commas")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    operators = [name for name in asked.operators.split(",") if name]
    tasks = programs(asked.folders) if asked.folders else node_tests(asked.part, asked.of, operators)
    signal.signal(signal.SIGALRM, _expired)
    outcomes: Counter[str] = Counter()
    groups: defaultdict[str, set[str]] = defaultdict(set)
    ratios: list[float] = []
    end = time.monotonic() + asked.seconds
    for name, group, task in tasks:
        if time.monotonic() > end:
            break
        told = ""
        signal.alarm(SECONDS_EACH)
        try:
            found = task()
            outcome = "right" if found.problem is None else "no point" if found == NO_POINT else "wrong"
            told = found.problem or ""
            if found.problem is None and found.forward:
                ratios.append(found.eops / found.forward)
        except TimeoutError:
            outcome = "too slow"
        except Rejected as rejected:
            first = rejected.diagnostics[0]
            outcome, told = first.code, first.message
        except Exception as error:
            outcome, told = "crash", f"{type(error).__name__}: {error}"[:200]
        signal.alarm(0)
        outcomes[outcome] += 1
        groups[group].add(outcome)
        if outcome not in ("right", "T0901"):
            print(f"{outcome:9}{name}  {told}"[:220], flush=True)
    print(dict(outcomes))
    right = sorted(group for group, found in groups.items() if "right" in found)
    print(f"{len(right)} groups have one that is right: {' '.join(right)}")
    if ratios:
        ratios.sort()
        print(
            f"EOPs over those of the values: {ratios[len(ratios) // 2]:.2f} at the median,"
            f" {ratios[-1]:.2f} at most"
        )


if __name__ == "__main__":
    main()
