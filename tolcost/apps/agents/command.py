"""``tolcost mcp``: the commands as tools."""

from __future__ import annotations

import click

from tolcost.cli.output import extra


@click.command()
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
              metavar="SECONDS", help="The longest time of a call.")  # fmt: skip
@click.option("--max-memory", default="4G", show_default=True, metavar="SIZE",
              help="The most memory of a call.")  # fmt: skip
def command(timeout: float, max_memory: str) -> int:
    """Serve analyze, diff, explain, model, referee, operator and plan as tools, on standard streams.

    Needs the extra `mcp`: pip install 'tolcost[mcp]'.
    """
    with extra("mcp"):
        from tolcost.apps.agents.server import CallLimits, serve
    serve(CallLimits(timeout, max_memory))
    return 0
