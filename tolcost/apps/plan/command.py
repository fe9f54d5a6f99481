"""``tolcost plan``: memory, time and tokens per second of a language model, from its configuration."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from tolcost.apps.plan.door import PlannedModel, model_named, shipped_model, shipped_models
from tolcost.apps.plan.figures import served
from tolcost.apps.plan.plan import Plan, check, question_of
from tolcost.apps.plan.precision import cache_names, precision_names, precision_of
from tolcost.apps.plan.questions import fit, rate_in, reach, size_of, used
from tolcost.apps.plan.record import record
from tolcost.apps.plan.view import PlanAnswers, view
from tolcost.cli import options
from tolcost.cli.output import deliver, screen
from tolcost.cost.device import load_device
from tolcost.cost.engine import engine_of
from tolcost.show.document import document, document_formats, write
from tolcost.show.tables import csv_text

if TYPE_CHECKING:
    from tolcost.apps.plan.training import PlannedStep

_MOST = 1 << 31


@click.command(
    cls=options.Command,
    examples=(
        "tolcost plan config.json --device h200",
        "tolcost plan --model llama3-8b --prompt 2000 --answer 500 --batch 8 --device h200",
        "tolcost plan config.json --weights int4 --cache fp8 --fit 24GB",
        "tolcost plan --model llama3-8b --device h200 --target '50 tokens/s per user'",
        "tolcost plan --model llama3-8b --devices h100,h200,mi300x",
        "tolcost plan config.json --devices h100,h200 --format html -o plan.html",
        "tolcost plan --model llama3-8b --device h200 --measured '7.0 ms per token'",
        "tolcost plan config.json --train adamw --batch 8 --prompt 4096 --device h100",
        "tolcost plan config.json --calculators",
    ),
)
@click.argument("file", metavar="[CONFIG.json|DIR]", required=False)
@click.option("--model", "name", metavar="NAME", help="A configuration that comes with tolcost.")
@click.option("--batch", type=click.IntRange(1, _MOST), default=1, help="The number of texts at once.")
@click.option("--prompt", type=click.IntRange(1, _MOST),
              help="Tokens read of each text: 2,000, or what fits the model.")  # fmt: skip
@click.option("--answer", type=click.IntRange(0, _MOST),
              help="Tokens made for each text: 500, or what fits the model.")  # fmt: skip
@click.option("--weights", metavar="TYPE",
              help=f"The type of parameters in memory: {', '.join(precision_names())}.")  # fmt: skip
@click.option("--cache", default="bf16", metavar="TYPE",
              help=f"The type of the cache: {', '.join(cache_names())}.")  # fmt: skip
@click.option("--device", metavar="NAME|FILE", help="Where it runs: a device, by its name or as a file.")
@options.engine_option("transformers")
@click.option("--reserve", type=click.FloatRange(0, 1, min_open=True), default=0.9,
              help="The share of memory that an engine reserves.")  # fmt: skip
@click.option("--chunk", type=click.IntRange(1, _MOST), metavar="TOKENS",
              help="Read this many tokens of the prompts at once.")  # fmt: skip
@click.option("--block", type=click.IntRange(1, _MOST), default=1, metavar="TOKENS",
              help="Allocate the cache in blocks of this many tokens.")  # fmt: skip
@click.option("--fit", "memory", metavar="SIZE", help="Show what fits into this memory: 80GB.")
@click.option("--target", metavar="RATE", help="Find the largest batch that gives '50 tokens/s per user'.")
@click.option("--devices", metavar="A,B,C", help="Compare several devices, side by side.")
@click.option(
    "--measured", metavar="TIME", help="Show how much of the device a time of '12 ms per token' uses."
)
@click.option("--train", "optimiser", metavar="OPTIMISER",
              help="Plan a step of training on --batch texts of --prompt tokens: adamw, sgd.")  # fmt: skip
@click.option("--precision", metavar="TYPE", help="The precision of training: bf16-mixed, or bf16.")
@click.option("--recompute", is_flag=True, help="Recompute layers in backward from their inputs.")
@click.option("--explain", "explained", is_flag=True,
              help="Also show the lines of the program behind every figure.")  # fmt: skip
@click.option("--ignore", "ignored", metavar="KEY", multiple=True,
              help="Ignore a key of the configuration that changes nothing.")  # fmt: skip
@click.option("--like", metavar="TYPE", help="Read the configuration as one of this `model_type`.")
@click.option("--calculators", "judged", is_flag=True,
              help="Judge published calculators on it; alone: on all shipped models.")  # fmt: skip
@options.format_option((*document_formats(), "html", "json", "csv"))
@options.output_option
def command(
    file: str | None,
    name: str | None,
    batch: int,
    prompt: int | None,
    answer: int | None,
    weights: str | None,
    cache: str,
    device: str | None,
    engine: str,
    reserve: float,
    chunk: int | None,
    block: int,
    memory: str | None,
    target: str | None,
    devices: str | None,
    measured: str | None,
    optimiser: str | None,
    precision: str | None,
    recompute: bool,
    explained: bool,
    ignored: tuple[str, ...],
    like: str | None,
    judged: bool,
    form: str,
    output: str | None,
) -> int:
    """Plan a language model: memory, time and tokens per second.

    CONFIG.json is a configuration as repositories of models have it, DIR a folder with one. Without a device,
    those that it fits are listed.
    """
    if judged:
        return _judge(file, name, ignored, like, form, output)
    if form == "csv":
        raise click.UsageError("csv is for --calculators")
    model = _model(file, name, ignored, like)
    if optimiser is None and (precision is not None or recompute):
        raise click.UsageError("--precision and --recompute are for --train")
    if optimiser is not None:
        _only_training(model.family.source)
        answer = answer if model.family.source else 0
        if model.family.source and answer == 0:
            raise click.UsageError("--train needs an --answer of this model: the tokens that are learnt")
    wide = precision_of(weights or model.weights or "bf16", cache)
    question = question_of(model, batch, prompt, answer, Fraction(str(reserve)), chunk, block)
    where = None if device is None else load_device(device)
    plan = Plan(served(model), question, wide, engine_of(engine), where)
    check(plan)
    if optimiser is not None:
        step = plan.training(optimiser, precision or "bf16-mixed", recompute)
        deliver(_trained(plan, step, memory, measured, _names(devices), form, output), output, form)
        return 0
    asked = PlanAnswers(
        None if memory is None else fit(plan, Fraction(size_of(memory))),
        None if target is None else reach(plan, rate_in(target)),
        None if measured is None else used(plan, measured),
        tuple(replace(plan, device=load_device(one)) for one in _names(devices)),
        explained,
    )
    if form == "html":
        from tolcost.apps.plan.page import page

        found = {one.device.name: one.device for one in (plan, *asked.others) if one.device is not None}
        deliver(page(plan, tuple(found.values())), output, form)
    elif form == "json":
        deliver(document("plan", record(plan, asked)), output, form)
    else:
        deliver(write(view(plan, asked), form, *screen(form, output)), output, form)
    return 0


_OF_TRAINING = frozenset(
    {"file", "name", "batch", "prompt", "device", "memory", "devices", "measured", "optimiser", "precision",
     "recompute", "ignored", "like", "form", "output"}
)  # fmt: skip
"""The parameters of the command that have a meaning for a step of training."""


def _only_training(source: bool) -> None:
    """Refuse options that are about answers; where an encoder reads a source, an answer is trained."""
    context, meant = click.get_current_context(), _OF_TRAINING | ({"answer"} if source else set())
    for one in context.command.params:
        told = context.get_parameter_source(one.name or "") is click.core.ParameterSource.COMMANDLINE
        if told and one.name not in meant:
            raise click.UsageError(f"{one.opts[0]} is not about training")


def _trained(
    plan: Plan,
    step: PlannedStep,
    memory: str | None,
    measured: str | None,
    devices: list[str],
    form: str,
    output: str | None,
) -> str:
    """Return the text of a step of training."""
    from tolcost.apps.plan.questions import step_fit, step_used
    from tolcost.apps.plan.training_view import StepAnswers, step_record, step_view

    if form in ("html", "csv"):
        raise click.UsageError("--train is written as text, md or json")
    asked = StepAnswers(
        None if memory is None else step_fit(step, Fraction(size_of(memory))),
        None if measured is None else step_used(step, measured),
        tuple(map(load_device, devices)),
    )
    if form == "json":
        return document(
            "plan",
            {**record(replace(plan, device=None), PlanAnswers()), "training": step_record(step, asked)},
        )
    return write(step_view(plan, step, asked), form, *screen(form, output))


def _names(listed: str | None) -> list[str]:
    return [] if listed is None else [name.strip() for name in listed.split(",") if name.strip()]


def _model(file: str | None, name: str | None, ignored: tuple[str, ...], like: str | None) -> PlannedModel:
    if (file is None) == (name is None):
        raise click.UsageError("either a CONFIG.json or --model NAME")
    if name is not None and like is not None:
        raise click.UsageError("--like is for a CONFIG.json")
    return shipped_model(name or "") if file is None else model_named(file, ignored, like)


def _judge(
    file: str | None,
    name: str | None,
    ignored: tuple[str, ...],
    like: str | None,
    form: str,
    output: str | None,
) -> int:
    """Judge what published calculators say of one model, or of all that come with tolcost."""
    from tolcost.apps.plan.calculators import calculator_formulas, judge_calculators
    from tolcost.apps.plan.calculators_view import calculators_document, calculators_table

    if form in ("html", "json"):
        raise click.UsageError("--calculators is written as text, md or csv")
    names = shipped_models() if file is None and name is None else ()
    models = [shipped_model(one) for one in names] or [_model(file, name, ignored, like)]
    formulas = calculator_formulas()
    found = [one for model in models for one in judge_calculators(served(model), formulas)]
    if form == "csv":
        deliver(csv_text(calculators_table(found)), output, form)
    else:
        deliver(write(calculators_document(found), form, *screen(form, output)), output, form)
    return 0
