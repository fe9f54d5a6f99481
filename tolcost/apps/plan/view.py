"""A plan as a document, for people."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import to_text
from tolcost.apps.plan.figures import SPACE, CallAt, ModelRun
from tolcost.apps.plan.lines import line_of, lines_of, logits_line
from tolcost.apps.plan.plan import Plan, notes
from tolcost.apps.plan.questions import DeviceUse, Fit, Reached, fit
from tolcost.apps.plan.time import RunTime
from tolcost.cost.device import load_device
from tolcost.diagnostics import place
from tolcost.platform import device_names
from tolcost.show.document import Column, Document, Fact, Facts, Heading, Lines, ReportTable, Section
from tolcost.show.shorten import duration_text, si

_MOST_PARTS = 6


def size(value: Fraction | int) -> str:
    """Write bytes with three digits.

    >>> size(16_060_522_496), size(512)
    ('16.1 GB', '512 B')
    """
    return si(value, "B")


def digits(value: Fraction) -> str:
    """Write a number with three digits.

    >>> digits(Fraction(1606, 100)), digits(Fraction(12345)), digits(Fraction(1, 3))
    ('16.1', '12,345', '0.333')
    """
    number = float(value)
    if number >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def amount(value: int) -> str:
    """Write a count with three digits and a prefix; nothing for 0.

    >>> amount(8_030_261_248), amount(0)
    ('8.03 G', '')
    """
    return si(value) if value else ""


def duration(microseconds: Fraction | None) -> str:
    """Write a time with three digits; nothing if it is not known.

    >>> duration(Fraction(57067)), duration(Fraction(12)), duration(None)
    ('57.1 ms', '12.0 µs', '')
    """
    return "" if microseconds is None else duration_text(microseconds)


class PlanAnswers(Struct, frozen=True, eq=False):
    """Answers to what was asked besides."""

    fit: Fit | None = None
    reached: Reached | None = None
    used: DeviceUse | None = None
    others: tuple[Plan, ...] = ()
    """The same plan on several devices."""
    explained: bool = False
    """Whether the lines of the program behind every figure are asked for."""


def view(plan: Plan, asked: PlanAnswers = PlanAnswers()) -> Document:  # noqa: B008 - it is frozen
    """Return the document of a plan."""
    model = plan.served.model
    sections: list[Section] = [
        Heading(model.name, f"{model.family.name}, specs/serving/{program_name(plan)}")
    ]
    sections.append(Facts(tuple(_model(plan))))
    sections.append(Facts(tuple(_memory(plan))))
    if plan.device is not None:
        sections += _times(plan)
    answers = tuple(_answers(plan, asked))
    if answers:
        sections.append(Facts(answers))
    if asked.others:
        sections.append(_side_by_side(asked.others))
    elif plan.device is None and not answers:
        sections += _where(plan)
    if asked.explained:
        sections += _explained(plan)
    said = tuple(notes(plan))
    return (*sections, Lines(said)) if said else tuple(sections)


def _model(plan: Plan) -> Iterator[Fact]:
    served = plan.served
    yield Fact("parameters", f"{served.parameter_count:,}", f"{size(plan.weights)} in {plan.precision.name}")
    question, read = plan.question, plan.macs(plan.read)
    if served.state:
        two = served.model.family.source
        one = size(served.cache_bytes(1, 1, plan.precision, int(two)))
        what = "t tokens made of x read" if two else "t tokens"
        of = "one of each" if two else "one token"
        yield Fact("cache", to_text(plan.cache_form), f"bytes for b texts of {what}; {one} for {of}")
    if not question.answer:
        yield Fact("MACs", f"{amount(read)} to read the prompt")
        return
    made = plan.macs(served.step(question.batch, question.prompt, 1))
    yield Fact("MACs", f"{amount(read)} to read the prompt", f"{amount(made)} for the next token")


def _memory(plan: Plan) -> Iterator[Fact]:
    question = plan.question
    many = f"{question.batch} text{'s' if question.batch > 1 else ''}"
    made = f" and {question.answer:,} made" if question.answer else ""
    yield Fact("memory", "", f"{many} of {question.prompt:,} tokens read{made}")
    yield Fact("parameters", size(plan.weights), level=1)
    yield Fact("cache", size(plan.cache), level=1)
    most, moment = plan.activations
    at = f"{program_name(plan)}, line {place(moment.span).line}"
    yield Fact("activations", size(most), f"results, the most at once in {at}", level=1)
    yield Fact(
        "logits", size(plan.logits), f"{program_name(plan)}, line {logits_line(plan.served.called)}", level=1
    )
    yield Fact("needed", size(plan.needed), level=1)
    if plan.device is None or plan.device.memory is None or plan.reserved is None:
        return
    share = f"{digits(question.reserve * 100)} % of {size(plan.device.memory)}"
    yield Fact("reserved", size(plan.reserved), f"by an engine that takes {share}", level=1)
    if plan.fits:
        most_texts = fit(plan, plan.reserved).batch
        yield Fact("fits", "yes", f"and {most_texts:,} such texts at once, at most", level=1)
    else:
        yield Fact("fits", "no", level=1)


def program_name(plan: Plan) -> str:
    """Return the file of the program of a plan."""
    return f"{plan.served.model.family.program}.tol"


def _answers(plan: Plan, asked: PlanAnswers) -> Iterator[Fact]:
    question = plan.question
    if asked.fit is not None:
        fit, how = asked.fit, "more needs no less, by proof" if asked.fit.proved else "as far as was looked"
        yield Fact(f"fits into {size(fit.memory)}", "", how)
        yield Fact("batch", f"{fit.batch:,}", f"of {question.context:,} tokens each", level=1)
        yield Fact("context", f"{fit.context:,}", f"at batch {question.batch:,}", level=1)
    if asked.reached is not None:
        reached = asked.reached
        at_most = "at most " if reached.as_bound else ""
        yield Fact(f"{digits(reached.rate)} tokens/s for each text", "")
        yield Fact("batch", f"{at_most}{reached.batch:,}", "that is fast enough and fits", level=1)
        yield Fact("together", f"{at_most}{digits(reached.total)} tokens/s", level=1)
    if asked.used is not None and plan.device is not None:
        used, name = asked.used, plan.device.name
        yield Fact(f"{duration(used.time)} per {used.what}", "", f"batch {question.batch:,} on {name}")
        if used.of_products is not None:
            peak = digits(plan.device.macs[SPACE] * 2 / 10**6)
            said = f"{amount(2 * used.macs)}FLOP of the model, attention to what is seen, of {peak} TFLOP/s"
            yield Fact("products", _percent(used.of_products), said, level=1)
        said = f"{size(used.bytes)} of parameters and cache, of {size(plan.device.bytes * 10**6)}/s"
        yield Fact("memory", _percent(used.of_memory), said, level=1)


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:.3g} %"


def _side_by_side(plans: tuple[Plan, ...]) -> ReportTable:
    """Return a plan on several devices: bounds of all, so that they compare, and what was measured beside."""
    said = any(plan.device is not None and plan.device.fitted is not None for plan in plans)
    one_graph = (Column("graph", "one graph", "number"),) if said else ()
    columns = (
        Column("device", "device"),
        Column("memory", "memory", "number"),
        Column("fits", "fits"),
        Column("batch", "batch ≤", "number"),
        Column("first", "first token ≥", "number"),
        *one_graph,
        Column("next", "next token ≥", "number"),
        *one_graph,
        Column("rate", "tokens/s ≤", "number"),
    )
    return ReportTable(columns, tuple(_on_device(plan, said) for plan in plans))


def _on_device(plan: Plan, said: bool) -> tuple[str, ...]:
    prefill, decode, device = plan.prefill, plan.decode, plan.device
    if prefill is None or device is None:
        return ()
    fits = "" if plan.fits is None else "yes" if plan.fits else "no"
    batch = "" if plan.reserved is None else f"{fit(plan, plan.reserved).batch:,}"
    memory = "" if device.memory is None else size(device.memory)
    times = []
    for run in (prefill, decode):
        times.append("" if run is None else duration(run.bound))
        times += [("" if run is None else duration(run.graph))] if said else []
    rate = "" if decode is None else digits(plan.question.batch * 10**6 / decode.bound)
    return device.name, memory, fits, batch, *times, rate


def _where(plan: Plan) -> Iterator[Section]:
    """Yield on which of the devices that come with tolcost it fits, if no device is asked for."""
    found = [replace(plan, device=load_device(name)) for name in device_names()]
    known = [one for one in found if one.device is not None and one.device.memory is not None]
    known.sort(key=lambda one: (one.reserved or 0, one.device.name if one.device else ""))
    if any(one.fits for one in known):
        yield _side_by_side(tuple(one for one in known if one.fits))
    small = ", ".join(one.device.name for one in known if one.device is not None and not one.fits)
    lines = ["--device NAME shows times by part, and predicts them for what was measured"]
    yield Lines((f"more than fits {small}", *lines) if small else tuple(lines))


def _times(plan: Plan) -> list[Section]:
    prefill, decode, device = plan.prefill, plan.decode, plan.device
    if prefill is None or device is None:
        return []
    columns: tuple[Column, ...] = (
        Column("phase", f"time on {device.name}"),
        Column("bound", "at least", "number"),
        Column("graph", "one graph", "number"),
        Column("eager", "eager", "number"),
        Column("rate", "tokens/s at best" if device.fitted is None else "tokens/s", "number"),
        Column("limit", "bound by"),
    )
    question = plan.question
    rows: list[tuple[str, ...]] = [
        ("first token" if decode else "all tokens", *_phase(prefill, question.batch * question.prompt))
    ]
    if decode is not None:
        rows.append(("next token", *_phase(decode, question.batch)))
        rows.append(("whole answer", *_whole(prefill, decode, question.answer), "", ""))
    if device.fitted is None:  # neither is known
        columns, rows = (*columns[:2], *columns[4:]), [(*row[:2], *row[4:]) for row in rows]
    table = ReportTable(columns, tuple(rows))
    if device.fitted is None:
        lines = [f"{device.name} was not measured: a bound is all that its data sheet gives"]
    else:
        host = "" if plan.engine.host is None else f"; eager: {digits(plan.engine.host)} µs for each kernel"
        lines = [f"{plan.engine.assumed}{host}"]
    if plan.turns is not None:
        lines.append(f"decode is bound by operations from batch {plan.turns:,} on")
    title = "of the next token" if plan.question.answer else "of all tokens"
    return [table, _parts(plan, decode or prefill, title), Lines(tuple(lines))]


def _phase(run: RunTime, tokens: int) -> tuple[str, ...]:
    best = run.bound if run.graph is None else run.graph
    rate = digits(Fraction(tokens * 10**6) / best)
    return duration(run.bound), duration(run.graph), duration(run.eager), rate, run.limit


def _whole(prefill: RunTime, decode: RunTime, answer: int) -> Iterator[str]:
    for one, other in (
        (prefill.bound, decode.bound), (prefill.graph, decode.graph), (prefill.eager, decode.eager)
    ):  # fmt: skip
        yield "" if one is None or other is None else duration(one + (answer - 1) * other)


def _explained(plan: Plan) -> Iterator[ReportTable]:
    """Yield what is in memory and what runs, all of it with the lines that it comes from."""
    file = f"{plan.served.model.family.program}.tol"
    columns = (
        Column("name", "in memory"),
        Column("shape", "shape"),
        Column("elements", "numbers", "number"),
        Column("bytes", "bytes", "number"),
        Column("line", file),
    )
    rows = [
        (
            one.given.name, f"[{', '.join(to_text(d) for d in one.given.type[0].shape)}]",
            f"{one.elements:,}", size(one.bytes), f"line {line_of(plan, one.given.name)}",
        )
        for one in plan.holdings()
    ]  # fmt: skip
    yield ReportTable(columns, tuple(rows))
    if plan.device is None:
        yield _work(plan, plan.read, "of the prompt" if plan.question.answer else "of all tokens")
        if plan.question.answer:
            yield _work(plan, plan.made(plan.question.batch), "of the next token")
    if plan.prefill is not None:
        title = "of the prompt" if plan.question.answer else "of all tokens"
        yield _parts(plan, plan.prefill, title, len(plan.prefill.parts))
    if plan.decode is not None:
        yield _parts(plan, plan.decode, "of the next token", len(plan.decode.parts))


def _work(plan: Plan, run: ModelRun, title: str) -> ReportTable:
    """Return the calls of a run by kind, where nothing is known of a device."""
    lines = lines_of(plan)
    found: dict[str, list[CallAt]] = {}
    for call in plan.served.work(run, plan.precision):
        found.setdefault(call.name, []).append(call)
    columns = (
        Column("part", title),
        Column("calls", "calls", "number"),
        Column("macs", "MACs", "number"),
        Column("line", program_name(plan)),
    )
    rows = [
        (
            name, f"{sum(one.times for one in calls):,}", amount(sum(one.times * one.macs for one in calls)),
            f"line {', '.join(map(str, sorted(lines[name])))}",
        )
        for name, calls in found.items()
    ]  # fmt: skip
    return ReportTable(columns, tuple(rows))


def _parts(plan: Plan, run: RunTime, title: str, most: int = _MOST_PARTS) -> ReportTable:
    """Return the parts of the time of a run, with the lines of the program that they come from."""
    lines, told = lines_of(plan), run.graph is not None
    columns = (
        Column("part", title),
        Column("calls", "calls", "number"),
        Column("bytes", "bytes", "number"),
        Column("macs", "MACs", "number"),
        Column("time", "one graph" if told else "at least", "number"),
        Column("line", f"{plan.served.model.family.program}.tol"),
    )
    rows = [
        (
            part.name, f"{part.calls:,}", size(part.bytes), amount(part.macs),
            duration(part.time if told else part.bound or None),
            f"line {', '.join(map(str, sorted(lines[part.name])[: most // 2]))}",
        )
        for part in run.parts[:most]
    ]  # fmt: skip
    return ReportTable(columns, tuple(rows))
