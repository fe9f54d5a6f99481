"""``tolcost explain``: derive a cost step by step, or explain a diagnostic code."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered, name_of, warn
from tolcost.cli.output import deliver, screen


@click.command(
    cls=options.Command,
    examples=(
        "tolcost explain matmul.tol",
        "tolcost explain matmul.tol --format md",
        "tolcost explain T0312",
    ),
)
@click.argument("subject", metavar="FILE.tol|CODE")
@options.input_options
@options.format_option(("text", "json", "md"))
@options.output_option
def command(
    subject: str,
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    form: str,
    output: str | None,
) -> int:
    """Derive a program's EOPs step by step, or explain a diagnostic code.

    Each step has its reason and its line.  For a code such as T0312, the meaning and the remedy are shown.
    """
    is_code = re.fullmatch(r"[Tt]\d{4}", subject) and not Path(subject).exists()
    if is_code:
        options.refuse(("shapes", "attrs", "specs", "form"), "not for a code")
    if is_code:
        deliver(_code(subject), output, form)
    else:
        seen = screen(form, output)
        deliver(_program(subject, Request.read(shapes, attrs, specs), form, *seen), output, form)
    return 0


def _code(code: str) -> str:
    from tolcost.diagnostics import codes, explanation

    text = explanation(code)
    if text is None:
        known = ", ".join(known for known in codes() if known[:3] == code[:3].upper())
        raise click.UsageError(
            f"There is no code {code.upper()}." + (f" There are {known}." if known else "")
        )
    return text + "\n"


def _program(file: str, request: Request, form: str, colour: bool, width: int | None) -> str:
    from tolcost.cost.derive import derive
    from tolcost.platform import with_deep_stack
    from tolcost.result.derivation import derivation_document, derivation_json, derivation_text
    from tolcost.show.document import write

    program = lowered(file, request)
    warn(program.warnings)
    derivation = with_deep_stack(lambda: derive(program.program))
    told = (derivation, program.program.name, name_of(file))
    match form:
        case "text":
            return derivation_text(*told, colour, width)
        case "json":
            return derivation_json(*told)
        case _:
            return write(derivation_document(*told), form)
