"""A row of the paper in words: one paragraph on what holds, what does not, and by how much."""

from __future__ import annotations

import re

from tolcost.algebra import compare
from tolcost.report.audit.rows import Held, Judged
from tolcost.report.forms import text_of


def explanation(found: Judged) -> str:
    """The paragraph: the program, its flaws, its count, and the counts of what is right."""
    parts = [_program(found), _note(found.row.note), _own(found), _corrected(found), _verified(found)]
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


def _relation(held: Held) -> str:
    """By how much a derived count is larger or smaller than the printed one."""
    verdict = compare(held.derived, held.printed).verdict
    if verdict == "greater_or_equal":
        return f"{text_of(held.derived - held.printed)} more"
    if verdict == "less_or_equal":
        return f"{text_of(held.printed - held.derived)} less"
    return f"a difference of {text_of(held.derived - held.printed)}"


def _verified(found: Judged) -> str:
    return found.row.definition
