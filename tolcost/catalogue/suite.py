"""Running ONNX's node tests, and recorded cases of other domains, against the definitions; what came of it.

The whole suite, or the cases of some operators, over all cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tolcost.catalogue.cases import Case, load_cases, recorded_cases
from tolcost.catalogue.conformance import FAILED, FEW_ATOMS, Result, check
from tolcost.catalogue.schemas import onnx_version
from tolcost.catalogue.specs import Library, open_library
from tolcost.catalogue.workers import WorkProgress, gathered
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse
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

    def of(self, op: str) -> tuple[Result, ...]:
        """The results of one operator."""
        return tuple(r for r in self.results if r.op == op)

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


def verify(
    names: Iterable[str] = (),
    jobs: int | None = None,
    progress: WorkProgress | None = None,
    specs: Sequence[str | Path] = (),
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
    nodes = {(case.node.domain or "ai.onnx", case.node.op) for case in cases}
    named = {name for domain, op in nodes for name in (op, f"{domain}.{op}")}
    _all_known(wanted, named | {case.name for case in cases}, library)

    def lost(n: int, why: str) -> Result:
        return Result(cases[n].name, cases[n].node.op, "fail", cause=why)

    def work(n: int) -> Result:
        return check(cases[n], library, thorough, atoms=atoms, recorded=recorded)

    with_deep_stack(lambda: _read_before(cases, library))
    results = gathered(work, [case.name for case in cases], lost, jobs, SECONDS_PER_CASE, progress)
    return Report(onnx_version(), results, domain)


def _cases(wanted: tuple[str, ...], domain: str | None, library: Library) -> tuple[Case, ...]:
    """ONNX's own cases, unless a domain is asked for, and those recorded, where something is."""
    own = load_cases(wanted) if domain is None else ()
    asked = wanted or domain is not None
    found = (*own, *recorded_cases(library, domain, wanted)) if asked else own
    if domain is not None and not wanted and not found:
        others = (one for one in sorted(library.domains()) if one and recorded_cases(library, one, ()))
        hint = f"there are some of {', '.join(map(quoted, others))}"
        refuse("T0660", f"no cases of the domain {quoted(domain)} are recorded", hint=hint)
    return found


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
                "since": r.since,
                "shapes": dict(r.shapes),
                "values": dict(r.values),
            }
            for r in report.results
        ],
    }
