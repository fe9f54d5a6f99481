"""A command for whoever writes definitions: ``python -m tolcost.catalogue.conformance Softmax -v``."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

from tolcost.catalogue.conformance import Result
from tolcost.catalogue.suite import Report, verify
from tolcost.diagnostics import Rejected, render_all


def main(arguments: list[str] | None = None) -> int:
    """Check some operators, say what failed and why, and give the exit code."""
    options = _options(arguments)
    try:
        report = verify(options.names, options.jobs, _progress, options.specs, options.seconds)
    except Rejected as error:
        print(render_all(error.diagnostics), file=sys.stderr)
        return 2
    _tell(report, options.verbose, options.forms)
    return 1 if report.failures else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tolcost.catalogue.conformance", description=__doc__)
    parser.add_argument("names", nargs="*", help="operators or cases; none means all")
    parser.add_argument("-v", "--verbose", action="store_true", help="full diagnostics")
    parser.add_argument("-f", "--forms", action="store_true", help="the closed form of every case")
    parser.add_argument("-j", "--jobs", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit for a case")
    parser.add_argument("--specs", action="append", default=[], metavar="DIR")
    return parser.parse_args(arguments)


def _progress(done: int, of: int, result: Result) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\r{done}/{of} {result.name[:60]:<60}", end=end, file=sys.stderr)


def _tell(report: Report, verbose: bool, forms: bool) -> None:
    for result in report.results:
        if result.status == "fail":
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
