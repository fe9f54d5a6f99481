"""The paper's two ONNX tables again: what it prints, what follows from it, and the verdict on each row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tolcost.algebra import compare
from tolcost.audit.instances import command_of
from tolcost.audit.judge import VERDICTS, CountCheck, Judged
from tolcost.diagnostics import Diagnostic
from tolcost.show.document import Cell, Code, Column, ReportTable
from tolcost.show.forms import text_of

COLUMNS = (
    Column("part", "part", "number"),
    Column("operator", "operator"),
    Column("verdict", "verdict"),
    Column("signature", "signature", "code", shown=False),
    Column("representation", "representation, as printed", "code"),
    Column("flops_printed", "FLOPs, printed", "code"),
    Column("eops_printed", "EOPs, printed", "code"),
    Column("eops_formula", "the formula", printed=False),
    Column("program", "the printed program", printed=False),
    Column("eops_of_print", "EOPs of the print", "form"),
    Column("eops_corrected", "EOPs, corrected", "form"),
    Column("eops_verified", "EOPs, verified", "form"),
    Column("macs_verified", "MACs, verified", "form", shown=False),
    Column("by_print", "differs from its own program by", "code", printed=False),
    Column("by_corrected", "printed EOPs against the corrected program", "code"),
    Column("by_verified", "printed EOPs against the verified definition", "code", shown=False),
    Column("explanation", "in words", printed=False),
    Column("command_print", "the print is shown by", "code", printed=False),
    Column("command_verified", "the verified form by", "code", printed=False),
)


def paper_table(judged: Sequence[Judged]) -> ReportTable:
    """The 60 rows, each with its verdict."""
    about = (
        "Every row of the paper's two ONNX tables. The printed EOPs are read as formulas and compared with "
        "the counts that follow from the printed program, from its correction (both in `specs/paper/onnx`) "
        "and from the definition that passes ONNX's own tests (`specs/onnx`), for all lengths at once. "
        "A printed program that can be read is run on ONNX's test vectors."
    )
    rows = tuple(map(_row, judged))
    return ReportTable(
        COLUMNS, rows, "paper", "The paper's ONNX tables, derived again", about, "tolcost report"
    )


def _row(found: Judged) -> tuple[Cell, ...]:
    row = found.row
    print_ = found.program.analysis
    return (
        row.part,
        row.operator,
        verdict(found),
        Code(row.signature),
        Code(row.representation),
        Code(row.flops),
        Code(row.eops),
        _formula(found),
        standing(found),
        None if print_ is None else print_.eops,
        found.right.eops,
        _verified(found),
        found.verified.macs,
        None if found.own is None else Code(_difference(found.own)),
        Code(_difference(found.corrected)),
        None if found.by_definition is None else Code(_difference(found.by_definition)),
        explanation(found),
        Code(f"tolcost analyze {row.printed.name} --symbolic") if row.printed else None,
        Code(definition_command(found)),
    )


def definition_command(found: Judged) -> str:
    """The command that shows the verified form."""
    return found.row.command or command_of(found.row.verified)


def _verified(found: Judged) -> Cell:
    """The verified form; the corrected one where both are the same function and that is simpler."""
    ours, right = found.verified.eops, found.right.eops
    shorter = len(text_of(right)) < len(text_of(ours))
    return right if shorter and compare(ours, right).verdict == "equal" else ours


def _formula(found: Judged) -> str:
    if found.reading.problem is None:
        return "well formed"
    return f"ill-formed: {found.reading.problem}; read as {found.reading.repaired}"


def standing(found: Judged) -> str:
    """What became of the printed program, in words."""
    program = found.program
    if not program.readable:
        return "cannot be read as ToLang"
    if program.analysis is None:
        return "refused: " + "; ".join(map(_problem, program.problems))
    runs = "; ".join(f"{o.on}: {o.status}" + (f" ({o.detail})" if o.detail else "") for o in found.outcomes)
    return ("accepted with := for its second =; " if program.lenient else "accepted; ") + runs


def _problem(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.code} {diagnostic.message}"


def verdict(found: Judged) -> str:
    """The verdict, and whether it holds for part of the operator only."""
    return found.verdict + (", in part" if found.in_part else "")


def _difference(held: CountCheck) -> str:
    if held.equal:
        return "same"
    ratio = held.ratio
    quotient = "" if ratio is None else f" (× {text_of(ratio)})"
    return f"derived − printed = {held.by}{quotient}"


def verdict_counts(judged: Sequence[Judged]) -> dict[str, int]:
    """How many rows have each verdict."""
    found = Counter(j.verdict for j in judged)
    return {verdict: found[verdict] for verdict in VERDICTS}


# ---- in words ----------------------------------------------------------------------------


def explanation(found: Judged) -> str:
    """The paragraph: the program, its flaws, its count, and the counts of what is right."""
    parts = [_program(found), _note(found.row.note), _own(found), _corrected(found), found.row.definition]
    return " ".join(part for part in parts if part)


def _note(note: str) -> str:
    """The remark on the print as a sentence, without the word that the verdict says already.

    >>> _note("wrong: has no epsilon"), _note("unreadable; the cost of 0 is right")
    ('Has no epsilon.', 'The cost of 0 is right.')
    """
    text = re.sub(r"^(right|wrong|ill-formed|unreadable)[:;] (and )?", "", note)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _program(found: Judged) -> str:
    match found.verdict:
        case "ill-formed" if not found.program.readable:
            return "The print cannot be read as ToLang."
        case "ill-formed":
            return "The compiler refuses the print."
        case "computes something else":
            return "The print is accepted, but does not give what ONNX expects."
        case _ if found.in_part:
            return "The print is accepted, and gives what ONNX expects for some inputs but not for others."
        case _:
            return "The print is accepted, and gives what ONNX expects."


def _own(found: Judged) -> str:
    if found.own is None:
        return ""
    cost = text_of(found.own.derived)
    if found.own.equal:
        return f"As printed, it costs {cost}, and that is the printed count."
    return f"As printed, it costs {cost}, not {text_of(found.own.printed)} ({_relation(found.own)})."


def _corrected(found: Judged) -> str:
    if found.row.corrected is None:
        return ""
    held = found.corrected
    cost = text_of(held.derived)
    if held.equal:
        return f"Corrected, it costs {cost}, which is the printed count."
    return f"Corrected, it costs {cost}, where {text_of(held.printed)} is printed ({_relation(held)})."


def _relation(held: CountCheck) -> str:
    """By how much a derived count is larger or smaller than the printed one."""
    verdict = compare(held.derived, held.printed).verdict
    if verdict == "greater_or_equal":
        return f"{text_of(held.derived - held.printed)} more"
    if verdict == "less_or_equal":
        return f"{text_of(held.printed - held.derived)} less"
    return f"a difference of {text_of(held.derived - held.printed)}"
