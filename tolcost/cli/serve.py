"""``tolcost lsp`` and ``tolcost mcp``: a server for editors, and the commands as tools."""

from __future__ import annotations

import click

from tolcost.cli import options
from tolcost.cli.output import extra


@click.command(cls=options.Command, examples=("tolcost lsp", "tolcost lsp --specs operators"))
@options.specs_option
def lsp(specs: tuple[str, ...]) -> int:
    """Serve an editor over standard input and output, by the language server protocol.

    Needs the extra `lsp`: pip install 'tolcost[lsp]'.
    """
    with extra("lsp"):
        from tolcost.editor.server import serve
    serve(specs)
    return 0


@click.command()
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
              metavar="SECONDS", help="How long a call may take.")  # fmt: skip
@click.option("--max-memory", default="4G", show_default=True, metavar="SIZE",
              help="How much memory a call may take.")  # fmt: skip
def mcp(timeout: float, max_memory: str) -> int:
    """Serve analyze, diff, explain, model, referee and operator as tools, over standard input and output.

    Needs the extra `mcp`: pip install 'tolcost[mcp]'.
    """
    with extra("mcp"):
        from tolcost.agents.server import CallLimits, serve
    serve(CallLimits(timeout, max_memory))
    return 0
