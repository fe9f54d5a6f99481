"""The paper's two ONNX tables again: the print, its consequences, and the verdict on each row.

A verdict has three parts: form, value and count.  Every text about a row is made from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tolcost.apps.paper.judge import CountCheck, FormVerdict, Judged, TrialOutcome, ValueVerdict
from tolcost.diagnostics import Diagnostic
from tolcost.result.instances import command_of
from tolcost.result.judgement import judge_forms
from tolcost.show.document import Cell, Code, Column, ReportTable, Verdict, text_of

COLUMNS = (
    Column("part", "part", "number", printed=False),
    Column("operator", "operator"),
    Column("form", "form"),
    Column("value", "value"),
    Column("count", "count"),
    Column("signature", "signature", "code", shown=False),
    Column("representation", "representation, as printed", "code"),
    Column("flops_printed", "FLOPs, printed", "code"),
    Column("eops_printed", "EOPs, printed", "code"),
    Column("eops_formula", "the formula", printed=False, shown=False),
    Column("program", "the printed program", printed=False, shown=False),
    Column("tests", "test by test", printed=False, shown=False),
    Column("eops_of_print", "EOPs of the print", "form"),
    Column("eops_corrected", "EOPs, corrected", "form"),
    Column("eops_verified", "EOPs, verified", "form"),
    Column("macs_verified", "MACs, verified", "form", shown=False),
    Column("by_print", "differs from its own program by", "code", printed=False, shown=False),
    Column("by_corrected", "printed EOPs against the corrected program", "code", printed=False, shown=False),
    Column("by_verified", "printed EOPs against the verified definition", "code", shown=False),
    Column("explanation", "in words"),
    Column("command_print", "the print is shown by", "code", printed=False, shown=False),
    Column("command_verified", "the verified form by", "code", printed=False, shown=False),
)


_GOOD_FORM: Mapping[FormVerdict, bool | None] = {
    "as printed": True,
    "under a reading": None,
    "refused": False,
    "not ToLang": False,
}
_GOOD_VALUE: Mapping[ValueVerdict, bool | None] = {
    "right on all": True,
    "right on some": None,
    "wrong": False,
    "stops": False,
    "no test fits": None,
    "not run": None,
}


def paper_table(judged: Sequence[Judged]) -> ReportTable:
    """Make a table of the 60 rows, each with its verdict."""
    about = (
        "Every row of the paper's two ONNX tables, judged in three parts. *Form*: whether the program"
        " is accepted as printed, or under a reading that the paper's own words allow "
        "(`*.reading.tol`), or not at all. *Value*: the results on every node test of ONNX that fits "
        "the signature; tests with an input or attribute that the signature lacks are not run, and "
        "their number is given. *Count*: the printed EOPs are read as formulas, and compared for all "
        "lengths with three counts: of the printed program, of its correction (both in "
        "`specs/paper/onnx`), and of the definition that passes ONNX's own tests (`specs/onnx`)."
    )
    rows = tuple(map(_row, judged))
    return ReportTable(
        COLUMNS,
        rows,
        "paper",
        "The paper's ONNX tables, derived again",
        about,
        "tolcost report",
        entries=True,
    )


def _row(found: Judged) -> tuple[Cell, ...]:
    row = found.row
    print_ = found.program.analysis
    return (
        row.part,
        row.operator,
        Verdict(found.form, _GOOD_FORM[found.form]),
        Verdict(value_text(found), _GOOD_VALUE[found.value]),
        count_text(found),
        Code(row.signature),
        Code(row.representation),
        Code(row.flops),
        Code(row.eops),
        _formula(found),
        standing(found),
        "; ".join(_each_test(found)),
        None if print_ is None else print_.eops,
        found.right.eops,
        _verified(found),
        found.verified.counts.macs,
        None if found.own is None else Code(_difference(found.own)),
        Code(_difference(found.corrected)),
        None if found.by_definition is None else Code(_difference(found.by_definition)),
        explanation(found),
        Code(f"tolcost analyze {row.printed.name} --symbolic") if row.printed else None,
        Code(definition_command(found)),
    )


def definition_command(found: Judged) -> str:
    """Return the command that shows the verified form."""
    return found.row.command or command_of(found.row.verified)


def _verified(found: Judged) -> Cell:
    """Return the verified form, or the corrected one if it is the same function and simpler."""
    ours, right = found.verified.eops, found.right.eops
    shorter = len(text_of(right)) < len(text_of(ours))
    return right if shorter and judge_forms(ours, right).relation == "same" else ours


def _formula(found: Judged) -> str:
    if found.reading.problem is None:
        return "well formed"
    return f"ill-formed: {found.reading.problem}; read as {found.reading.repaired}"


def standing(found: Judged) -> str:
    """Describe the outcome for the printed program."""
    program = found.program
    refused = "; ".join(map(_problem, program.problems)) or "the dots are no expression"
    match found.form:
        case "as printed":
            return "accepted as printed"
        case "under a reading":
            return f"to the letter refused ({refused}); accepted where {_joined(found.row.readings)}"
        case "refused" if program.under_reading:
            left = "; ".join(map(_problem, program.under_reading))
            return f"refused: {refused}; and where {_joined(found.row.readings)}: {left}"
        case _:
            return f"refused: {refused}"


def _joined(sentences: Iterable[str]) -> str:
    return ", and ".join(sentence[:1].lower() + sentence[1:].rstrip(".") for sentence in sentences)


def _problem(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.code} {diagnostic.message}"


# ---- the three parts of a verdict -------------------------------------------------------------


def value_text(found: Judged) -> str:
    """Describe the result of the tests: how many of the admitted ones are right."""
    tests, left = found.trials.on_tests, len(found.trials.not_admitted)
    outside = f"; {left} more need what the signature lacks" if left else ""
    if found.value in ("not run", "no test fits"):
        return found.value + outside.replace(" more", "")
    right = sum(outcome.status == "same" for outcome in tests)
    return f"{found.value}: {right} of {len(tests)}{outside}"


def count_text(found: Judged) -> str:
    """Describe whether the printed count follows from the print, and whether it is the definition's."""
    if found.by_definition is None:
        true = "not comparable with the definition's"
    else:
        true = "the definition's" if found.by_definition.equal else "not the definition's"
    if found.own is None:
        return f"no program to follow from; {true}"
    return ("follows from the print; " if found.own.equal else "does not follow from the print; ") + true


def _each_test(found: Judged) -> Iterable[str]:
    for outcome in (*found.trials.on_tests, *found.trials.beyond):
        yield f"{outcome.on}: {outcome.status}" + (f" ({outcome.detail})" if outcome.detail else "")
    for name, reason in found.trials.not_admitted.items():
        yield f"{name}: not run ({reason})"


def _difference(held: CountCheck) -> str:
    if held.equal:
        return "same"
    ratio = held.ratio
    quotient = "" if ratio is None else f" (× {text_of(ratio)})"
    return f"derived − printed = {held.by}{quotient}"


# ---- in words ----------------------------------------------------------------------------


def explanation(found: Judged) -> str:
    """Write the paragraph about a row: the program, its flaws, its count, and the correct counts."""
    parts = [
        _program(found),
        found.row.why,
        *map(_beyond, found.trials.beyond),
        _own(found),
        _corrected(found),
        found.row.definition,
    ]
    return " ".join(part for part in parts if part)


def _program(found: Judged) -> str:
    if found.program.source is None:
        if found.row.only_ours:
            return f"Our compiler alone refuses the print: {found.row.only_ours}."
        return "The print is no program: " + _first(found) + "."
    reading = (
        f"Read so that {_joined(found.row.readings)}, the print"
        if found.form != "as printed"
        else "The print"
    )
    tests = found.trials.on_tests
    every = "the one node test" if len(tests) == 1 else f"all {len(tests)} node tests"
    right = [outcome for outcome in tests if outcome.status == "same"]
    match found.value:
        case "no test fits":
            return f"{reading} is accepted, but {_reasons(found)}."
        case "right on all":
            return f"{reading} gives what ONNX expects on {every}."
        case "right on some":
            wrong = [outcome for outcome in tests if outcome.status != "same"]
            return (
                f"{reading} gives what ONNX expects on {len(right)} of {len(tests)} node tests, "
                f"not on {_named(wrong)}."
            )
        case "stops":
            why = tests[0].detail.partition(" ")[2]
            return f"{reading} is accepted, and stops on {every}: {why}."
        case _:
            return f"{reading} is accepted, and gives something else on {every}."


def _first(found: Judged) -> str:
    problems = found.program.under_reading or found.program.problems
    return "; ".join(problem.message for problem in problems[:2]) or "the dots are no expression"


def _reasons(found: Judged) -> str:
    reasons = Counter(found.trials.not_admitted.values())
    return "no node test fits its signature: " + "; ".join(sorted(reasons))


def _named(outcomes: Sequence[TrialOutcome]) -> str:
    names = [outcome.on.removeprefix("test_") for outcome in outcomes]
    shown = ", ".join(names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _beyond(outcome: TrialOutcome) -> str:
    verdict = {"same": "it is right", "differs": "it is wrong", "stops": "it stops"}[outcome.status]
    return f"At {outcome.on}, {verdict}" + (f" ({outcome.detail})." if outcome.detail else ".")


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
    """Describe how much larger or smaller a derived count is than the printed one."""
    relation = judge_forms(held.printed, held.derived).relation
    if relation == "costlier":
        return f"{text_of(held.derived - held.printed)} more"
    if relation == "cheaper":
        return f"{text_of(held.printed - held.derived)} less"
    return f"a difference of {text_of(held.derived - held.printed)}"
