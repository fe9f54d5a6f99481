"""Running ONNX's node tests, and recorded cases of other domains, against the definitions; what came of it.

The whole suite, or the cases of some operators, over all cores.  For whoever writes definitions there is a
command: ``python -m tolcost.catalogue.suite Softmax -v``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tolcost.catalogue.cases import Case, load_cases, recorded_cases
from tolcost.catalogue.conformance import FAILED, FEW_ATOMS, Result, check
from tolcost.catalogue.schemas import onnx_version
from tolcost.catalogue.specs import Library, open_library
from tolcost.catalogue.workers import spread
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, quoted, render_all
from tolcost.platform import with_deep_stack

SECONDS_PER_CASE = 120.0


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run, in the order of the suite; ``domain`` where its recorded cases were asked for."""

    onnx: str
    results: tuple[Result, ...]
    domain: str | None = None

    @property
    def failures(self) -> tuple[Result, ...]:
        """The cases that did not pass, other than those outside the model."""
        return tuple(r for r in self.results if r.status in FAILED)

    def figures(self) -> dict[str, int]:
        """How many cases there are of each status, and how many had lengths that are numbers."""
        found = Counter(r.status for r in self.results)
        concrete = sum(bool(r.concrete) for r in self.results)
        return {
            "cases": len(self.results),
            "pass": found["pass"],
            "fail": sum(found[status] for status in FAILED),
            "outside": found["outside"],
            "concrete": concrete,
        }


Progress = Callable[[int, int, Result], None]
"""Told after each case: how many are done, of how many, and the result."""


def verify(
    names: Iterable[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
    specs: Sequence[str | Path] = (),
    seconds: float = SECONDS_PER_CASE,
    thorough: bool = False,
    domain: str | None = None,
    atoms: int = FEW_ATOMS,
    recorded: bool = False,
) -> Report:
    """Hold definitions to ONNX's node tests: all, or those of some operators or case names.

    Operators of a domain that onnx does not know are held to cases recorded of it: if they are named, or all
    of ``domain``.  Short runs are repeated by the reference interpreter; if ``thorough``, long ones too.
    Programs of at most so many ``atoms`` are run atom by atom as well.  Results that are ``recorded`` have
    closed forms as text.
    """
    wanted = tuple(names)
    library = open_library(specs)
    cases = _cases(wanted, domain, library)
    _all_known(wanted, {known for case in cases for known in _names(case)}, library)

    def lost(n: int, why: str) -> Result:
        return Result(cases[n].name, cases[n].node.op, "fail", cause=why)

    with_deep_stack(lambda: _read_before(cases, library))
    found: dict[int, Result] = {}
    workers = min(jobs or os.cpu_count() or 1, len(cases))

    def work(n: int) -> Result:
        return check(cases[n], library, thorough, atoms=atoms, recorded=recorded)

    for n, result in spread(work, len(cases), lost, workers, seconds):
        found[n] = result
        if progress is not None:
            progress(len(found), len(cases), result)
    return Report(onnx_version(), tuple(found[n] for n in sorted(found)), domain)


def _cases(wanted: tuple[str, ...], domain: str | None, library: Library) -> tuple[Case, ...]:
    """ONNX's own cases, unless a domain is asked for, and those recorded, where something is."""
    own = load_cases(wanted) if domain is None else ()
    asked = wanted or domain is not None
    found = (*own, *recorded_cases(library, domain, wanted)) if asked else own
    if domain is not None and not wanted and not found:
        others = (one for one in sorted(library.domains()) if one and recorded_cases(library, one, ()))
        hint = f"there are some of {', '.join(map(quoted, others))}"
        message = f"no cases of the domain {quoted(domain)} are recorded"
        raise Rejected(Diagnostic("T0660", message, hint=hint))
    return found


def _names(case: Case) -> tuple[str, ...]:
    """What a case may be asked for by."""
    return case.name, case.node.op, f"{case.node.domain or 'ai.onnx'}.{case.node.op}"


def _read_before(cases: Sequence[Case], library: Library) -> None:
    """Read definitions once, before the work is spread: processes share what was read by then."""
    for case in cases:
        with suppress(Exception):  # a definition that cannot be read is told where its case is checked
            spec = library.find(case.node.domain, case.node.op, case.opset)
            _ = None if spec is None else spec.program


def _all_known(wanted: Sequence[str], found: set[str], library: Library) -> None:
    every = [(domain, name) for domain in library.domains() for name in library.names(domain)]
    defined = {known for domain, name in every for known in (name, f"{domain or 'ai.onnx'}.{name}")}
    unknown = [name for name in wanted if name not in found and name not in defined]
    if unknown:
        raise Rejected(*(Diagnostic("T0660", f"onnx has no test of {quoted(name)}") for name in unknown))


def as_record(report: Report) -> dict[str, object]:
    """A report whose results are recorded, as plain data for JSON."""
    return {
        "tolcost": 1,
        "kind": "verify",
        "onnx": report.onnx,
        "summary": report.figures(),
        "cases": [
            {
                "name": r.name,
                "op": r.op,
                "status": r.status,
                "value": r.value,
                "shape": r.shape,
                "count": r.count,
                "cause": r.cause,
                "concrete": list(r.concrete),
                "eops": r.form,
                "macs": r.macs,
                "certainty": r.certainty,
                "functions": list(r.functions),
                "unrolled": None if r.unrolled is None else dict(r.unrolled),
                "decided": list(r.decided),
                "since": None if r.given is None else r.given.since,
                "shapes": {} if r.given is None else r.given.shapes,
                "values": {} if r.given is None else r.given.values,
            }
            for r in report.results
        ],
    }


def main(arguments: list[str] | None = None) -> int:
    """Check some operators, say what failed and why, and give the exit code."""
    options = _options(arguments)
    try:
        report = verify(
            options.names,
            options.jobs,
            _progress,
            options.specs,
            options.seconds,
            domain=options.domain,
            recorded=options.forms,
        )
    except Rejected as error:
        print(render_all(error.diagnostics), file=sys.stderr)
        return 2
    _tell(report, options.verbose, options.forms)
    return 1 if report.failures else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tolcost.catalogue.suite", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="operators or cases; none means all")
    parser.add_argument("-v", "--verbose", action="store_true", help="full diagnostics")
    parser.add_argument("-f", "--forms", action="store_true", help="the closed form of every case")
    parser.add_argument("-j", "--jobs", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit for a case")
    parser.add_argument("--domain", help="a domain whose cases are recorded, such as com.microsoft")
    parser.add_argument("--specs", action="append", default=[], metavar="DIR")
    return parser.parse_args(arguments)


def _progress(done: int, of: int, result: Result) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\r{done}/{of} {result.name[:60]:<60}", end=end, file=sys.stderr)


def _tell(report: Report, verbose: bool, forms: bool) -> None:
    for result in report.results:
        if result.status in FAILED:
            print(f"FAIL {result.name} [{result.op}]: {result.cause}")
            if verbose and result.detail:
                print("    " + result.detail.replace("\n", "\n    "))
        if forms and result.form is not None:
            note = f"   (numbers: {', '.join(result.concrete)})" if result.concrete else ""
            print(f"  {result.name}: {result.form[:300]}{note}")
    for line in _by_operator(report):
        print(line)
    print("  ".join(f"{name} {number}" for name, number in report.figures().items()))


def _by_operator(report: Report) -> list[str]:
    found: dict[str, list[Result]] = defaultdict(list)
    for result in report.results:
        found[result.op].append(result)
    lines = []
    for op, results in sorted(found.items()):
        passed = sum(r.status == "pass" for r in results)
        concrete = sum(bool(r.concrete) for r in results)
        note = f", {concrete} with numbers for lengths" if concrete else ""
        outside = " (outside)" if results[0].status == "outside" else ""
        lines.append(f"{op}: {passed}/{len(results)}{note}{outside}")
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
