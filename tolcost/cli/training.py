"""The options of ``tolcost model`` for a step of training."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--train", metavar="OPTIMISER",
                 help="Cost a step of training: forward, backward, and sgd, momentum, adam, adamw, ..."),
    click.option("--loss", metavar="OUTPUT", help="The output to differentiate, a single number."),
    click.option("--freeze", metavar="PATTERN", multiple=True,
                 help="Do not train parameters or scopes that are like this: 'embed*'."),
    click.option("--precision", metavar="NAME",
                 help="float32 (the default), bf16-mixed or fp16-mixed."),
    click.option("--accumulate", metavar="K", type=click.IntRange(1, 1_000_000),
                 help="Add up the gradients of K runs in a step."),
    click.option("--recompute", metavar="PATTERN",
                 help="Keep only the inputs of scopes, and do them again: 'layer.*', 'every 2', best."),
    click.option("--memory", metavar="SIZE",
                 help="With --recompute best: the memory in which a step is to fit: 80GB."),
    click.option("--backward", metavar="KIND", type=click.Choice(("written", "derived")),
                 help="Backward passes as frameworks run them (written), or all derived."),
)  # fmt: skip


def training_options(function: F) -> F:
    """Add the options of a step of training; the command gets them as one request, ``train``."""

    @wraps(function)
    def command(*args: Any, **given: Any) -> Any:
        asked = {
            name: given.pop(name)
            for name in ("loss", "precision", "accumulate", "recompute", "memory", "backward")
        }
        freeze = given.pop("freeze")
        told = {name: value for name, value in asked.items() if value is not None}
        if freeze:
            told["freeze"] = freeze
        optimizer = given.pop("train")
        if optimizer is None and told:
            raise click.UsageError(f"--{next(iter(told))} is for --train")
        return function(*args, train=None if optimizer is None else (optimizer, told), **given)

    found: Any = command
    for option in reversed(_OPTIONS):
        found = option(found)
    return found  # type: ignore[no-any-return]
