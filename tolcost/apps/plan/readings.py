"""What a program comes to, by part, and by the readings that calculators choose among.

A calculator may count products of attention as half of a square, leave out a router, or keep all tokens
whatever the window is.  ``specs/serving/calculators.toml`` names these readings; each changes what is derived
from the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any

from msgspec import Struct

from tolcost.algebra import (
    ZERO,
    Poly,
    Symbol,
    compare,
    const,
    evaluate,
    length,
    product_of,
    substitute,
    the_symbol,
    total_of,
)
from tolcost.algebra.parse import FormQuotient
from tolcost.algebra.poly import scale
from tolcost.algebra.printed import parse_printed
from tolcost.apps.plan.calls import ProgramCall
from tolcost.apps.plan.expressions import value_of
from tolcost.apps.plan.figures import (
    NEAR,
    NEW,
    PAST,
    SOURCE,
    WIDTH,
    ModelRun,
    ServedModel,
    called_of,
    called_times,
)

TOKENS = length("T")
"""The tokens of a text, in all formulas."""
_MOST_LEFT_OUT = 3
"""A reading leaves out so many kinds of parameters, at most."""


class ModelCounts(Struct, frozen=True, eq=False):
    """What a model comes to, part by part: parameters by input, bytes that are kept, and FLOPs of reading."""

    parameters: Mapping[str, int]
    state: tuple[Poly, ...]
    """The bytes of each input that is kept, in the tokens ``t`` and those of a window, ``u``."""
    window: int
    flops: Mapping[str, Poly]
    """The FLOPs of each part, in the tokens of a text."""
    lengths: Mapping[str, int]
    """The lengths of the program."""

    def numbers(self, file: Mapping[str, Any]) -> dict[str, int]:
        """Return the counts of parameters that formulas may mention."""
        parts, tied = file["parts"], "head" not in self.parameters
        return {
            "N": sum(self.parameters.values()),
            "E": 0 if tied else self.some(parts["embedding"]),
            "P": self.some(parts["places"]),
            "X": self.some(parts["experts"]),
        }

    def some(self, names: Sequence[str]) -> int:
        """Return the number of parameters of some inputs."""
        return sum(self.parameters.get(name, 0) for name in names)


class CalculatorReading(Struct, frozen=True, eq=False, dict=True):
    """What a program comes to by a reading: a sum of forms in the tokens of a text."""

    changes: tuple[str, ...]
    """What it does otherwise than the program; nothing for the program's own."""
    forms: tuple[Poly, ...]

    def values(self, points: Sequence[int], known: dict[int, list[int]]) -> list[int]:
        """Return the values at some lengths of texts; ``known`` has those of forms that readings share."""
        for form in self.forms:
            if id(form) not in known:
                known[id(form)] = [evaluate(form, {the_symbol(TOKENS): n}) for n in points]
        return [sum(column) for column in zip(*(known[id(form)] for form in self.forms), strict=True)]

    @cached_property
    def form(self) -> Poly:
        """The sum of the parts."""
        return total_of(self.forms)

    def left(self, published: FormQuotient, times: int) -> int:
        """Return how many terms a formula and this reading differ in."""
        return len((published.top - self.form * times * published.bottom).terms)

    def proves(self, published: FormQuotient, times: int) -> bool:
        """Whether a formula is equal for texts of all lengths."""
        ours = self.form * times * published.bottom
        return published.top == ours or compare(published.top, ours).verdict == "equal"


def counts_of(served: ServedModel, file: Mapping[str, Any]) -> ModelCounts:
    """Count a model part by part."""
    past, near = length(PAST, 0), length(NEAR, 0)
    numbers = {s: const(n) for s, n in served.point(ModelRun(1, 2, 1, 1)).items()}
    texts = {s: past for s in numbers if s.name == PAST or (s.name == SOURCE and served.model.family.source)}
    kept = numbers | texts | {s: near for s in numbers if s.name == NEAR}
    kept |= {s: const(1) for s in numbers if s.name == "b"}
    state = (substitute(product_of(one.type[0].shape), kept) for one in served.state)
    return ModelCounts(
        served.elements(served.parameters, ModelRun(1, 1)),
        tuple(one * WIDTH for one in state),
        served.model.lengths.get("window", 1),
        _flops(served, file["parts"]),
        served.model.lengths,
    )


def _flops(served: ServedModel, parts: Mapping[str, Any]) -> dict[str, Poly]:
    """Return the FLOPs of reading a text, with the logits of all its tokens, by part."""
    own, attrs = served.model.family.reading, served.model.attrs
    every = {one.name for one in served.called.program.inputs} | set(served.called.declared)
    asked = {"all_logits": True} if "all_logits" in every else {}
    called = called_of(served.model, {**attrs, **own, **asked})
    read = ServedModel(served.model, called)
    point = read.point(ModelRun(1, 2, 0, 2))
    texts = {NEW: TOKENS, **({SOURCE: TOKENS} if served.model.family.source else {})}
    put: dict[Symbol, Poly] = {s: texts.get(s.name, const(n)) for s, n in point.items()}
    found: dict[str, Poly] = {}
    for call in called.calls:
        times = called_times(call.scopes, point)
        macs = call.kind.analysis.counts.macs
        if not times or macs == ZERO:
            continue
        name = _part(call, parts)
        form = substitute(macs, put)
        if call.kind.name == parts["chosen"]["call"]:
            thin = {s: const(0) if s.name == parts["chosen"]["width"] else form for s, form in put.items()}
            shares = substitute(macs, thin)
            found["shares"] = found.get("shares", ZERO) + scale(shares, 2 * times)
            form -= shares
        found[name] = found.get(name, ZERO) + scale(form, 2 * times)
    found |= _as_products(served, parts)
    return found


def _part(call: ProgramCall, parts: Mapping[str, Any]) -> str:
    reads = set(chain.from_iterable(call.reads))
    if call.kind.name in parts["attention"]:
        return "near" if reads & set(parts["near"]) else "full"
    return next((name for name in ("logits", "router") if reads & set(parts[name])), "rest")


def _as_products(served: ServedModel, parts: Mapping[str, Any]) -> dict[str, Poly]:
    """Return what parameters would take if each were a multiply-add for each token."""
    counts, lengths = served.elements(served.parameters, ModelRun(1, 1)), served.model.lengths
    chosen = parts["chosen"]
    share = Fraction(lengths.get(chosen["taken"], 1), lengths.get(chosen["all"], 1))

    def taken(names: Sequence[str]) -> Poly:
        each = ((counts.get(name, 0), share if name in parts["experts"] else 1) for name in names)
        return TOKENS * int(2 * sum(number * part for number, part in each))

    return {f"{name} as products": taken(parts[name]) for name in ("embedding", "vectors", "narrow")}


def readings_of(quantity: str, counts: ModelCounts, file: Mapping[str, Any]) -> Iterator[CalculatorReading]:
    """Yield the readings of a quantity, the program's own first, and those that change less before others."""
    own = file["readings"][quantity]
    if quantity == "cache":
        yield from _of_cache(counts, own)
    elif quantity == "parameters":
        yield from _of_parameters(counts, own["without"], own["besides"])
    else:
        yield from sorted(_of_flops(counts, own["attention"]), key=lambda one: len(one.changes))


def _of_cache(counts: ModelCounts, own: Mapping[str, Mapping[str, str]]) -> Iterator[CalculatorReading]:
    past, near, window = length(PAST, 0), length(NEAR, 0), const(counts.window)
    letters = {PAST: FormQuotient(TOKENS), "W": FormQuotient(window)}
    itself: Mapping[str, str] = {}
    for words, said in (("", itself), *own.items()):
        texts = {"t": "t", "u": "min(t, W)", **said}
        put = {
            the_symbol(past): parse_printed(texts["t"], letters).value.top,
            the_symbol(near): parse_printed(texts["u"], letters).value.top,
        }
        yield CalculatorReading(
            (words,) if words else (), tuple(substitute(one, put) for one in counts.state) or (ZERO,)
        )


def _of_parameters(
    counts: ModelCounts, without: Mapping[str, Sequence[str]], besides: Mapping[str, str]
) -> Iterator[CalculatorReading]:
    whole = const(sum(counts.parameters.values()))
    there = {words: counts.some(names) for words, names in without.items()}
    kinds = [words for words, number in there.items() if number]
    found = ((words, value_of(text, counts.lengths)) for words, text in besides.items())
    more = [((words,), const(int(number))) for words, number in found if number]
    for added, what in (((), const(0)), *more):
        for many in range(_MOST_LEFT_OUT + 1):
            for chosen in combinations(kinds, many):
                names = {name for words in chosen for name in without[words]}
                less = const(-counts.some(tuple(names)))
                said = (*(f"without {words}" for words in chosen), *added)
                yield CalculatorReading(said, (whole, less, what))


def _of_flops(counts: ModelCounts, own: Mapping[str, Mapping[str, str]]) -> Iterator[CalculatorReading]:
    parts = counts.flops
    logits, router = parts.get("logits", ZERO), parts.get("router", ZERO)
    last = substitute(logits, {the_symbol(TOKENS): 1})
    choices: list[list[tuple[str, Poly]]] = [
        [("", logits), ("the logits count for the last token alone", last),
         ("the logits are left out", ZERO)],
        [("", ZERO), ("the look-up of an embedding counts as a product", parts["embedding as products"])],
        [("", ZERO), ("vectors count as products", parts["vectors as products"]),
         ("norms within latent attention count as products", parts["narrow as products"])],
        [("", router), ("the router is left out", ZERO)],
        [("", parts.get("shares", ZERO)), ("adding up the experts is left out", ZERO)],
    ]  # fmt: skip
    choices = [[one for n, one in enumerate(some) if not n or one[1] != some[0][1]] for some in choices]
    seen: set[tuple[Poly, Poly]] = set()
    full, near = parts.get("full", ZERO), parts.get("near", ZERO)
    for words, pairs in own.items():
        both = _pairs(full, pairs["full"], counts.window), _pairs(near, pairs["near"], counts.window)
        if both in seen:
            continue
        seen.add(both)
        mask = words if near != ZERO else pairs.get("plain", words)
        for chosen in product(*choices):
            told = tuple(one for one in (mask, *(word for word, _ in chosen)) if one)
            yield CalculatorReading(told, (parts.get("rest", ZERO), *both, *(form for _, form in chosen)))


def _pairs(seen: Poly, text: str, window: int) -> Poly:
    """Return what attention takes for some number of pairs of tokens; of one pair, what one token takes."""
    if text == "seen":
        return seen
    one = evaluate(seen, {the_symbol(TOKENS): 1})
    letters = {"T": FormQuotient(TOKENS), "W": FormQuotient(const(window))}
    pairs = parse_printed(text, letters).value
    return scale(pairs.top, one, evaluate(pairs.bottom, {}))
