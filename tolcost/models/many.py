"""Many models at once: files in folders, studied in several processes, one summary each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tolcost.algebra import AlgebraBudget, to_text
from tolcost.catalogue.specs import open_library
from tolcost.catalogue.workers import spread
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.models.study import ModelStudy, Wanted, study_file
from tolcost.models.walking import Session

SECONDS = 600.0
"""How long one model may take."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A line of the table: closed forms as text, numbers where every length is known, or a problem."""

    file: str
    nodes: int = 0
    costed: int = 0
    eops: str = ""
    macs: str = ""
    params: str = ""
    status: str = ""
    eops_at: int | None = None
    macs_at: int | None = None
    symbols: tuple[str, ...] = ()
    uncosted: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    """The lengths that could be given, by name and by place."""
    problem: str = ""


def model_files(patterns: Iterable[str]) -> tuple[Path, ...]:
    """The files that paths, folders and patterns mean; a folder means all models below it."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            found.update(dict.fromkeys(sorted(path.rglob("*.onnx"))))
        elif path.exists() or not any(c in pattern for c in "*?["):
            found[path] = None
        else:
            root = Path(path.anchor) if path.is_absolute() else Path()
            found.update(dict.fromkeys(sorted(root.glob(str(path.relative_to(path.anchor))))))
    if not found:
        raise Rejected(Diagnostic("T0671", f"there is no model at {quoted(' '.join(patterns))}"))
    return tuple(found)


def summaries(
    files: Sequence[Path],
    specs: Sequence[str],
    wanted: Wanted,
    jobs: int | None,
    tell: Callable[[int, int, str], None],
) -> tuple[Summary, ...]:
    """Study files in several processes; one that fails, dies or takes too long has its reason told."""
    session = Session(open_library(specs))

    def work(n: int) -> Summary:
        return _summary(files[n], session, wanted)

    def instead(n: int, why: str) -> Summary:
        return Summary(str(files[n]), problem=why)

    found: dict[int, Summary] = {}
    cores = jobs or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else jobs or 1
    for n, summary in spread(work, len(files), instead, min(cores, len(files)), SECONDS):
        found[n] = summary
        tell(len(found), len(files), files[n].name)
    return tuple(found[n] for n in range(len(files)))


def _summary(path: Path, session: Session, wanted: Wanted) -> Summary:
    try:
        return summary_of(study_file(path, session, replace(wanted, lenient=True)))
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        return Summary(str(path), problem=f"{first.code} {first.message}")
    except (AlgebraBudget, RecursionError, MemoryError) as error:
        return Summary(str(path), problem=f"too large: {type(error).__name__} {error}")


def summary_of(study: ModelStudy) -> Summary:
    """A model on one line."""
    total, found = study.total, study.coverage
    return Summary(
        file=study.file,
        nodes=found.nodes,
        costed=found.costed,
        eops=to_text(total.eops),
        macs=to_text(total.macs),
        params=to_text(study.holdings.parameters),
        status=total.status,
        eops_at=study.place.at(total.eops) if study.place.complete else None,
        macs_at=study.place.at(total.macs) if study.place.complete else None,
        symbols=tuple(symbol.name for symbol in study.symbols),
        uncosted=tuple(found.operators),
        lengths=tuple(_lengths(study)),
    )


def _lengths(study: ModelStudy) -> Iterator[str]:
    yield from study.cost.dimensions
    for given in study.model.graph.inputs:
        yield from (f"{given.name}[{n}]" for n in range(len(given.shape or ())))


def check_lengths(found: Sequence[Summary], dims: Iterable[str]) -> None:
    """Refuse a length that none of several models has."""
    known = {name for summary in found for name in summary.lengths}
    for name in dims:
        if name not in known and not all(summary.problem for summary in found):
            raise Rejected(Diagnostic("T0412", f"none of the models has a length {quoted(name)}"))
