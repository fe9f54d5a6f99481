"""``tolcost lsp``: the language server for editors."""

from __future__ import annotations

import click

from tolcost.cli import options


@click.command(cls=options.Command, examples=("tolcost lsp",))
def command() -> int:
    """Serve an editor over standard input and output, by the language server protocol.

    Needs the extra `lsp`: pip install 'tolcost[lsp]'.
    """
    try:
        from tolcost.editor.server import serve
    except ModuleNotFoundError as error:
        raise click.UsageError(f"{error.name} is not installed: pip install 'tolcost[lsp]'") from error
    serve()
    return 0
