"""The text form of an unrolled program: one atom per line."""

from __future__ import annotations

from tolcost.algebra.text import quoted
from tolcost.atoms.unroll import Atom, Cast, Constants, Given, Operand, Slot, Unrolled


def unrolled_text(unrolled: Unrolled) -> str:
    """Write every atom as a line, then what the outputs are."""
    lines = [f"%{k + 1} = {atom_text(atom)}" for k, atom in enumerate(unrolled.atoms)]
    lines.extend(f"{quoted(name)} := {operand_text(operand)}" for name, operand, _ in unrolled.outputs)
    return "\n".join(lines) + "\n"


def atom_text(atom: Atom) -> str:
    """Write one atom.

    >>> atom_text(Atom("lambda", (Slot(2), Slot(4)), ("R",), "add", "R"))
    'Λ(add; %3, %5)'
    """
    args = [operand_text(arg) for arg in atom.args]
    match atom.operation:
        case "lambda":
            return f"Λ({atom.function}; {', '.join(args)})" if args else f"Λ({atom.function})"
        case "norm":
            return f"‖{args[0]}‖"
        case "member" if atom.component:
            return f"Π'({args[0]}; {atom.component})"
        case "member":
            at = (str(i) if isinstance(i, int) else operand_text(i) for i in atom.index)
            return f"Π({args[0]}; {', '.join(at)})"
        case "join":
            return (" ⋈ " if atom.d else " ⋈̄ ").join(args)
        case "embed":
            return f"Ξ({args[0]})"


def operand_text(operand: Operand) -> str:
    """Write an operand."""
    match operand:
        case Slot(place=place):
            return f"%{place + 1}"
        case Given(name=name):
            return quoted(name)
        case Cast(value=value, spaces=spaces):
            return f"{'/'.join(spaces)}({operand_text(value)})"
        case Constants(values=values, shape=shape):
            texts = [quoted(value) if isinstance(value, str) else str(value) for value in values[:8]]
            return texts[0] if not shape else f"[{', '.join(texts)}{', …' if len(values) > 8 else ''}]"
