"""``tolcost lsp``: a server for editors."""

from __future__ import annotations

import click

from tolcost.cli import options
from tolcost.cli.output import extra


@click.command(cls=options.Command, examples=("tolcost lsp", "tolcost lsp --specs operators"))
@options.specs_option
def command(specs: tuple[str, ...]) -> int:
    """Serve an editor over standard input and output, by the language server protocol.

    Needs the extra `lsp`: pip install 'tolcost[lsp]'.
    """
    with extra("lsp"):
        from tolcost.apps.editor.server import serve
    serve(specs)
    return 0
