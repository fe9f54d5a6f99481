"""``tolcost grad``: derive the program of gradients, and print it as ToLang."""

from __future__ import annotations

import click

from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered, name_of, warn
from tolcost.cli.output import deliver
from tolcost.platform import with_deep_stack


@click.command(
    cls=options.Command,
    examples=(
        "tolcost grad matmul.tol",
        "tolcost grad matmul.tol --wrt a",
        "tolcost grad matmul.tol --wrt a --values",
        "tolcost grad softmax.tol --shape x=n,m",
        "tolcost grad matmul.tol --output matmul_grad.tol",
    ),
)
@click.argument("file", metavar="FILE.tol")
@click.option(
    "--wrt", metavar="NAMES", help="The inputs to differentiate by: x,w. Without it, all real ones."
)
@click.option("--of", metavar="NAMES", help="The outputs to differentiate: y. Without it, all real ones.")
@click.option("--values", is_flag=True, help="Compute the outputs, too.")
@options.input_options
@options.output_option
def command(
    file: str,
    wrt: str | None,
    of: str | None,
    values: bool,
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    output: str | None,
) -> int:
    """Derive the gradients of a program, as a program.

    It takes the inputs of FILE and, for each output y, d_y: the gradient of a loss by y.  It gives d_x,
    the gradient of that loss by x, for each input x.  Values that the gradients need are computed again,
    and count.
    """
    from tolcost.atoms.tolang import tolang
    from tolcost.gradient import GradientRequest, derivative

    program = lowered(file, Request.read(shapes, attrs, specs))
    warn(program.warnings)
    wanted = GradientRequest(_names("--wrt", wrt), _names("--of", of), values)
    asked = [f"--{key} {text}" for key, text in (("wrt", wrt), ("of", of)) if text]
    comment = " ".join(
        [f"Derived by: tolcost grad {name_of(file)}", *asked, *(["--values"] if values else [])]
    )
    text = with_deep_stack(lambda: tolang(derivative(program.program, wanted), comment))
    deliver(text, output, "tol")
    return 0


def _names(option: str, text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise click.BadParameter("names are separated by commas: x,w", param_hint=f"'{option}'")
    return names
