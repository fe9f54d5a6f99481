"""Conventions of counting that publications follow, under which a formula may be right.

A convention weighs functions: ``specs/formulas/conventions`` has a weight file for each, as ``--weights``
takes them.  Besides, a formula may start sums otherwise, count elements, give the leading term alone, leave
out an optional input or a flag, or be about another verified algorithm.  A reading puts at most two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import ONE, ZERO, Cond, Poly, minimum, product_of, total_of
from tolcost.algebra.poly import poly, scale
from tolcost.apps.referee.alternatives import alternatives
from tolcost.apps.referee.parts import ModelPart, conventions_of, parts_of, parts_of_step
from tolcost.apps.referee.subjects import ModelProgram, Subject
from tolcost.atoms.kit import bound_nodes, resolve_name, schedules
from tolcost.atoms.nodes import Build, Convert, Fold, Lambda, Node, Number, Program, Ref, Reshape
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Analysis, analyze_program, shipped, weigh
from tolcost.cost.count import EVERYWHERE, Counted, ProgramCounter, Unsummed, sum_terms
from tolcost.cost.weights import SHIPPED, Weights, parse_weights, weight_of
from tolcost.diagnostics import Rejected, quoted
from tolcost.elementary import FUNCTIONS
from tolcost.platform import specs_root
from tolcost.result.instances import OperatorInstance, lower_instance, spec_of

CONVENTIONS = (
    "eops",
    "flops",
    "macs",
    "products",
    "fused",
    "result",
    "input",
    "arithmetic",
    "multiplications",
    "multiplications_and_divisions",
    "additions",
    "comparisons",
)
"""What may be counted, in the order in which it is tried; ``reading`` in a file is one of these names."""
_NARROW = frozenset(
    ("result", "input", "multiplications", "multiplications_and_divisions", "additions", "comparisons")
)
"""What few sources count: put together with another convention only if the source states it."""
_WORDS: Mapping[str, str] = {
    "eops": "every function counts, comparisons and choices too",
    "flops": "comparisons and choices count as nothing",
    "macs": "only products that are summed count, one operation each",
    "fused": "a product and its sum count as one operation",
    "result": "each element of the result counts as one operation, whatever computes it",
    "input": "each element of the input counts as one operation, whatever is done with it",
}
"""Conventions that are no weight file of their own, in words."""
MOST_CONVENTIONS = 2
"""How many conventions a reading puts together: with more, something would fit nearly any formula."""
MOST_USUAL = 3
"""How many of the changes that are usual for formulas of models."""
FIRST_IS_FREE = "the first term of a sum costs nothing: n - 1 additions for n terms"
START_IS_ADDED = "a sum starts at 0, and what it starts from is added to it"
START_IS_PRODUCT = "what a sum starts from counts as one more product that is summed"
LEADING_ALONE = "only the terms of the highest degree are given"
_STARTS = ((False, -1, FIRST_IS_FREE), (True, 1, START_IS_ADDED), (True, 2, START_IS_PRODUCT))
"""What sums that start from a number, or from data, count besides."""


class ConventionReading(Struct, frozen=True, eq=False):
    """A count under conventions: what is counted, the conventions in words, the form, and where it holds."""

    counted: str
    words: tuple[str, ...]
    form: Poly
    facts: tuple[Cond, ...] = ()


@cache
def _weights(name: str) -> Weights:
    if name in SHIPPED:
        return shipped(name)
    file = specs_root().joinpath("formulas", "conventions", f"{name}.toml")
    return parse_weights(file.read_text(encoding="utf-8"), name)


def words_of(name: str) -> str:
    """Return a convention in words."""
    return _WORDS.get(name) or _weights(name).description


def needs_statement(reading: ConventionReading, theirs: Poly) -> bool:
    """Whether a reading makes a formula right only if the source states it.

    A formula that counts nothing says nothing about what is left, and what few sources count fits too many
    formulas once it is put together with something else.
    """
    return theirs == ZERO or (reading.counted in _NARROW and len(reading.words) > 1)


def all_readings(
    subject: Subject,
    program: Program,
    analysis: Analysis,
    metric: str,
    library: Library,
    step: tuple[int, Poly] | None = None,
) -> Iterator[ConventionReading]:
    """Yield what a subject counts by conventions: as it is, in its parts, and in its variants.

    ``step`` is how often the products of forward are in a step of training, and what the step counts.
    """
    if isinstance(subject, ModelProgram) or step is not None:
        path = subject.path if isinstance(subject, ModelProgram) else ""
        parts = parts_of(path) if step is None else parts_of_step(path, *step)
        of_parts = tuple(_readings_of_parts(path, parts, 1 if step is None else step[0]))
        yield from of_parts or _readings(analysis, program, metric)
        return
    yield from _readings(analysis, program, metric)
    for words, is_algorithm, lowered, its_analysis in _variants(subject, library):
        if its_analysis.status != "exact":
            continue
        facts = tuple(noted.condition for noted in its_analysis.conditions)
        for one in _readings(its_analysis, lowered, metric):
            is_plain = one.counted in ("eops", "flops", metric)
            if len(one.words) < MOST_CONVENTIONS and (is_plain or not is_algorithm):
                yield replace(one, words=(words, *one.words), facts=facts)


def _readings_of_parts(path: str, parts: Sequence[ModelPart], times: int) -> Iterator[ConventionReading]:
    """Yield what a family of models counts if only products do, with what is usual for models."""
    usual = [(words, change * times) for words, change in conventions_of(path)]
    products = total_of(part.form for part in parts if part.product)
    bases = (
        ("flops", (), total_of(part.form for part in parts)),
        ("products", (words_of("products"),), products),
    )
    for many in range(MOST_USUAL + 1) if any(part.product for part in parts) else ():
        for chosen in combinations(usual, many):
            words, changed = tuple(name for name, _ in chosen), total_of(change for _, change in chosen)
            yield from (
                ConventionReading(name, (*said, *words), form + changed) for name, said, form in bases
            )


def _readings(analysis: Analysis, program: Program, counts: str) -> tuple[ConventionReading, ...]:
    """Return what a program counts by each convention, and by two together; the plainest come first.

    ``counts`` is the metric of the formula, which is no convention of its own.
    """
    starts = _starts(program)
    plain: list[ConventionReading] = []
    for name in (counts, *(name for name in CONVENTIONS if name != counts)):
        form, words = _counted(name, analysis), (() if name == counts else (words_of(name),))
        plain.append(ConventionReading(name, words, form))
        for is_given, times, more in _STARTS:
            change = _of_starts(name, starts, is_given)
            if change != ZERO:
                plain.append(ConventionReading(name, (*words, more), form + change * times))
    leading = (
        ConventionReading(one.counted, (*one.words, words), form)
        for one in plain
        if len(one.words) < MOST_CONVENTIONS
        for words, form in _upper_terms(one.form)
    )
    return tuple(sorted((*plain, *leading), key=lambda one: len(one.words)))


def _upper_terms(form: Poly) -> Iterator[tuple[str, Poly]]:
    """Yield a polynomial without its lower terms: the highest degree alone, and with more of them."""
    degrees = sorted({len(mono) for mono in form.terms}, reverse=True)
    several = 1 if len(form.free) > 1 else len(degrees)  # of several lengths, degrees tell less than sizes
    for least in degrees[:-1][:several] if not form.height else ():
        words = LEADING_ALONE if least == degrees[0] else f"terms of a degree below {least} are left out"
        yield (
            words,
            poly({mono: number for mono, number in form.terms.items() if len(mono) >= least}, form.den),
        )


def _counted(name: str, analysis: Analysis) -> Poly:
    """Return what an analysis counts by one convention."""
    counts = analysis.counts
    match name:
        case "eops":
            return analysis.eops
        case "bytes":
            moved = analysis.traffic.total
            return ZERO if moved is None else moved
        case "fused":
            return analysis.flops - counts.macs
        case "result" | "input":
            sides = analysis.outputs if name == "result" else analysis.inputs
            return total_of(product_of(part.shape) for one in sides for part in one.type)
        case _:
            return weigh(counts, _weights(name)).poly


# === Variants of an operator: what a formula may be about besides.


class _Variant(NamedTuple):
    """An operator with a difference, in words."""

    words: str
    is_algorithm: bool
    program: Program
    analysis: Analysis


def _variants(instance: OperatorInstance, library: Library) -> Iterator[_Variant]:
    """Yield an operator without optional inputs, without flags, and by other verified algorithms."""
    declared = spec_of(instance.op, library).inputs
    left_out = [one.name for one in declared if one.optional and one.name in instance.shapes]
    flags = [name for name, value in instance.attrs.items() if value in (1, True)]
    for names in (left_out, flags):
        if names:
            shapes = {name: shape for name, shape in instance.shapes.items() if name not in names}
            attrs = {name: value for name, value in instance.attrs.items() if name not in names}
            words = f"{' and '.join(map(quoted, names))} {'is' if len(names) == 1 else 'are'} left out"
            yield from _analysed(words, replace(instance, shapes=shapes, attrs=attrs), library)
    domain, _, name = instance.op.rpartition(".")
    for other in alternatives(name, library) if not domain else ():
        words = f"the algorithm is {quoted(f'{name}.{other.name}')}"
        yield from _analysed(words, instance, library, other.spec)


def _analysed(
    words: str, instance: OperatorInstance, library: Library, spec: Spec | None = None
) -> Iterator[_Variant]:
    """Yield a variant, unless the definition or the algorithm is not made for it."""
    try:
        program = lower_instance(instance, library, spec).program
        yield _Variant(words, spec is not None, program, analyze_program(program, instance.op, depth=False))
    except Rejected:
        return


# === Starts of sums: how often a fold starts from a number, and how often from data.


class _Start(NamedTuple):
    """A fold that applies one function in each step: whether it starts from data, and adds up products."""

    is_given: bool
    is_product: bool
    function: str
    space: str


def _of_starts(name: str, starts: Mapping[_Start, Poly], is_given: bool) -> Poly:
    """Return what the first steps of sums weigh by a convention."""
    chosen = {key: form for key, form in starts.items() if key.is_given == is_given}
    if name == "products":
        return total_of(form for key, form in chosen.items() if key.is_product)
    if name in ("macs", "fused"):  # the first product counts as one either way
        return total_of(form for key, form in chosen.items() if is_given and key.is_product)
    if name in ("result", "input", "bytes"):
        return ZERO
    weights = _weights(name)
    weighed = ((weight_of(weights, key.function, key.space) or 0, form) for key, form in chosen.items())
    return total_of(scale(form, *Fraction(weight).as_integer_ratio()) for weight, form in weighed)


class _StartCounter(ProgramCounter):
    """Counts besides, once for each run of a fold, that it starts."""

    def __init__(self, program: Program) -> None:
        found = schedules(program)
        self._bound = bound_nodes(program, found)
        self.starts: dict[Counted, _Start] = {}
        super().__init__(program, found, functions_only=True, places=False)

    def count_loop(self, node: Build | Fold) -> Unsummed:
        """Count a loop, and its start if it combines numbers by one function."""
        terms = super().count_loop(node)
        start = self._start_of(node) if isinstance(node, Fold) else None
        if start is None:
            return terms
        item = Counted("data", f"start {len(self.starts)}", start.space)
        self.starts[item] = start
        return sum_terms(terms, {(item, EVERYWHERE): minimum(product_of(node.extents), ONE)})

    def _start_of(self, node: Fold) -> _Start | None:
        step = self._resolved(node.body.result, node)
        if not isinstance(step, Lambda) or step.charge != "data" or not FUNCTIONS[step.function].associative:
            return None
        carried = [isinstance(arg, Ref) and arg.var is node.accumulator for arg in step.args]
        begin = self._resolved(node.start, node)
        if carried.count(True) != 1 or isinstance(begin, Ref):
            return None  # an inner sum goes on with the outer one
        term = self._resolved(step.args[1 - carried.index(True)], node)
        is_product = isinstance(term, Lambda) and term.function == "mul"
        return _Start(not isinstance(begin, Number), is_product, step.function, step.space)

    def _resolved(self, node: Node, fold: Fold) -> Node:
        found = resolve_name(node, {**self._bound, **dict(fold.body.bindings)})
        while isinstance(found, Convert | Reshape):
            found = resolve_name(found.value, self._bound)
        assert not isinstance(found, Poly), "a node is bound to a node"
        return found


def _starts(program: Program) -> dict[_Start, Poly]:
    """Return how often sums start, for each kind of start."""
    counter = _StartCounter(program)
    found: dict[_Start, Poly] = {}
    for item, form in counter.program().items():
        if (start := counter.starts.get(item)) is not None:
            found[start] = found.get(start, ZERO) + form
    return found
