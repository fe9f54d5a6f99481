"""Derive a program's EOPs step by step, with the source of each step.

The steps follow the counting rules of the paper: a map is its volume times its body, a reduce is its volume
times its step plus its start, a name is counted where it is defined, and moving data is free.  Where a cost
depends on coordinates, the sum is shown before its closed form.  The numbers are those of ``count``: a
derivation explains a count and does not make a second one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    ONE,
    ZERO,
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    Truth,
    atom,
    cond_text,
    is_one_term,
    map_cond,
    product_of,
    restricting,
    symbols_of_cond,
    to_mathml,
    to_text,
    total_of,
)
from tolcost.atoms.kit import (
    Schedule,
    Schedules,
    blocks,
    children,
    reached,
    roots,
    schedule_block,
    static_condition,
)
from tolcost.atoms.nodes import (
    Block,
    Build,
    Condition,
    Fold,
    Lambda,
    Member,
    Node,
    Program,
    Ref,
    Select,
    Var,
    Where,
)
from tolcost.cost.count import Change, ProgramCounter, Unsummed, free_in
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span, on_one_line

_MAX_STEPS = 100
"""A derivation is for people; longer ones end with the closed form."""
_MAX_PARTS = 24
"""With more parts, a sum stays one leaf, since its line would be unreadable."""
_LONGEST_TERM = 480
"""Characters of a term's source, which is whole in any program that people write."""
_MOST_SAID = 3
"""Conditions named in the reason of a step."""
_SPOKEN = Lambda | Where | Build | Fold | Select


class ClosedForm(Struct, frozen=True):
    """A leaf that needs no further steps."""

    poly: Poly


class Eops(Struct, frozen=True, eq=False):
    """``EOPs(text)``: the cost of a node or block that has not been derived yet."""

    text: str
    node: Node | Block


class Plus(Struct, frozen=True):
    """A sum of formulas."""

    parts: tuple[DerivedFormula, ...]


class Multiple(Struct, frozen=True):
    """A formula multiplied by a number of repetitions."""

    factor: Poly
    parts: tuple[DerivedFormula]


class Over(Struct, frozen=True):
    """A sum over the coordinates on which the cost depends, each from 1 to its extent."""

    ranges: tuple[tuple[Symbol, Poly], ...]
    parts: tuple[DerivedFormula]


class Either(Struct, frozen=True):
    """One cost where a condition holds, and another elsewhere."""

    condition: Cond
    parts: tuple[DerivedFormula, DerivedFormula]


class Largest(Struct, frozen=True):
    """The larger of two costs, where data decides between the sides."""

    parts: tuple[DerivedFormula, DerivedFormula]


DerivedFormula: TypeAlias = ClosedForm | Eops | Plus | Multiple | Over | Either | Largest


def as_it_is(form: Poly) -> Poly:
    """Return a form unchanged."""
    return form


def show(formula: DerivedFormula, put: Change = as_it_is) -> str:
    """Write a formula as text; ``put`` replaces lengths in every form by their meaning for the reader."""
    match formula:
        case ClosedForm(poly=poly):
            return to_text(put(poly))
        case Eops(text=text):
            return f"EOPs({text})"
        case Plus(parts=parts):
            return " + ".join(show(part, put) for part in parts)
        case Multiple(factor=factor, parts=(part,)):
            return f"{_factor(ClosedForm(factor), put)}*{_factor(part, put)}"
        case Over(ranges=ranges, parts=(part,)):
            bounds = ", ".join(f"({symbol.name}, 1, {to_text(put(extent))})" for symbol, extent in ranges)
            return f"Sum({show(part, put)}, {bounds})"
        case Either(condition=condition, parts=(then, other)):
            text = cond_text(map_cond(condition, put))
            return f"Piecewise(({show(then, put)}, {text}), ({show(other, put)}, True))"
        case Largest(parts=parts):
            return f"Max({', '.join(show(part, put) for part in parts)})"


def _factor(formula: DerivedFormula, put: Change) -> str:
    """Write a formula as a factor, in parentheses where it needs them."""
    text = show(formula, put)
    match formula:
        case ClosedForm(poly=poly) if is_one_term(put(poly)):
            return text
        case Eops() | Multiple() | Over() | Either() | Largest():
            return text
        case _:
            return f"({text})"


TypesetKind: TypeAlias = Literal["math", "code", "text"]


class TypesetPiece(Struct, frozen=True, array_like=True):
    """A piece of a typeset formula: the content of a ``math`` element, part of a program, or plain text."""

    kind: TypesetKind
    content: str


def typeset(formula: DerivedFormula, put: Change = as_it_is) -> Iterator[TypesetPiece]:
    """Yield a formula in pieces for browsers, between which a line may be broken.

    >>> from tolcost.algebra import length
    >>> [piece.content for piece in typeset(Multiple(length("n"), (ClosedForm(length("m") + 1),)))]
    ['<mi>n</mi>', ' · ', '(', '<mi>m</mi><mo>+</mo><mn>1</mn>', ')']
    """
    match formula:
        case ClosedForm(poly=poly):
            yield TypesetPiece("math", to_mathml(put(poly)))
        case Eops(text=text):
            yield TypesetPiece("code", f"EOPs({text})")
        case Plus(parts=parts):
            for n, part in enumerate(parts):
                yield from (TypesetPiece("text", " + "),) if n else ()
                yield from typeset(part, put)
        case Multiple(factor=factor, parts=(part,)):
            grouped = not is_one_term(put(factor))
            yield TypesetPiece("math", _fenced(to_mathml(put(factor)), grouped))
            yield TypesetPiece("text", " · ")
            yield from _grouped(part, put)
        case Over(ranges=ranges, parts=(part,)):
            for symbol, extent in ranges:
                low = f"<mrow>{to_mathml(atom(symbol))}<mo>=</mo><mn>1</mn></mrow>"
                sign = f"<munderover><mo>∑</mo>{low}<mrow>{to_mathml(put(extent))}</mrow></munderover>"
                yield TypesetPiece("math", sign)
            yield from _grouped(part, put)
        case Either(condition=condition, parts=(then, other)):
            yield from _grouped(then, put)
            yield TypesetPiece("text", f" where {cond_text(map_cond(condition, put))}, else ")
            yield from _grouped(other, put)
        case Largest(parts=(one, other)):
            yield TypesetPiece("text", "the larger of ")
            yield from _grouped(one, put)
            yield TypesetPiece("text", " and ")
            yield from _grouped(other, put)


def _fenced(markup: str, grouped: bool) -> str:
    return f"<mo>(</mo>{markup}<mo>)</mo>" if grouped else markup


def _grouped(formula: DerivedFormula, put: Change) -> Iterator[TypesetPiece]:
    """Yield a formula as a factor, in parentheses where it needs them."""
    alone = isinstance(formula, (Eops, Multiple))
    if alone or (isinstance(formula, ClosedForm) and is_one_term(put(formula.poly))):
        yield from typeset(formula, put)
    else:
        yield TypesetPiece("text", "(")
        yield from typeset(formula, put)
        yield TypesetPiece("text", ")")


def first_argument(call: str) -> str:
    """Return the first argument of a call as written, or nothing if the text is not a call.

    >>> first_argument("reduce(vec(i, j), add, 0)")
    'vec(i, j)'
    """
    name, bracket, rest = call.partition("(")
    if not bracket or not name.strip().isidentifier():
        return ""
    depth = 0
    for place, character in enumerate(rest):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (depth == 0 and character == ","):
            return rest[:place].strip()
    return ""


def first_open(formula: DerivedFormula) -> Eops | None:
    """Return the leftmost leaf that has not been derived yet."""
    pending: list[DerivedFormula] = [formula]
    while pending:
        top = pending.pop()
        if isinstance(top, Eops):
            return top
        if not isinstance(top, ClosedForm):
            pending.extend(reversed(top.parts))
    return None


def substituted(formula: DerivedFormula, leaf: Eops, by: DerivedFormula) -> DerivedFormula:
    """Replace one leaf by a formula."""
    if isinstance(formula, (ClosedForm, Eops)):
        return by if formula is leaf else formula
    changed: Any = tuple(substituted(part, leaf, by) for part in formula.parts)
    return replace(formula, parts=changed)


class DerivationStep(Struct, frozen=True):
    """One equality of a derivation: the whole right-hand side before and after, and the reason.

    ``term_before`` and ``term_after`` are the term that the step derives, and what it becomes.  ``poly`` is
    its cost, None where it depends on conditions on enclosing coordinates; ``span`` is its place.
    """

    text_before: str
    text_after: str
    span: Span
    poly: Poly | None
    reason: str
    term_before: str = ""
    term_after: str = ""
    becomes: DerivedFormula | None = None
    """What the term, or at the end the value, becomes, to be typeset."""
    after: DerivedFormula | None = None
    """The whole right-hand side after the step, to be typeset."""


class ValueDerivation(Struct, frozen=True):
    """The derivation of one value; ``complete`` is False where steps were left out.

    ``source`` is the value's name, or its source text if it has no name.
    """

    name: str
    source: str
    steps: tuple[DerivationStep, ...]
    total: Poly
    complete: bool = True


class Derivation(Struct, frozen=True):
    """The derivations of everything that a program counts, and their sum."""

    chains: tuple[ValueDerivation, ...]
    total: Poly
    bounded: bool = False
    """Whether the sum is only an upper bound, because data decides between computations."""
    conditions: tuple[Condition, ...] = ()
    """The conditions of the program; the derivation is for lengths that satisfy them."""


def derive(program: Program, put: Change = as_it_is) -> Derivation:
    """Derive the EOPs of a program: first its named values that cost something, then its other outputs.

    ``put`` replaces lengths of the program, in every form shown, by their meaning for the reader.
    """
    try:
        facts = tuple(one.condition for one in program.conditions)
        explainer = _Explainer(ProgramCounter(program), facts, put)
        named = {var: node for var, node in program.bindings if explainer.costs(node)}
        chains = [explainer.chain(var.name, node) for var, node in named.items()]
        told = {out for out in program.outputs if isinstance(out.node, Ref) and out.node.var in named}
        chains += [explainer.chain(out.name, out.node) for out in program.outputs if out not in told]
    except AlgebraBudget as error:
        raise Rejected(
            Diagnostic("T0601", f"the cost of {program.name} is too large to compute: {error}")
        ) from error
    total = explainer.restrict(total_of(chain.total for chain in chains))
    needed = (replace(one, condition=map_cond(one.condition, put)) for one in program.conditions)
    relied = tuple(one for one in needed if not isinstance(one.condition, Truth))
    return Derivation(tuple(chains), total, explainer.bounded, relied)


class _Explainer:
    """Derives formulas from the counts of one program."""

    def __init__(self, counter: ProgramCounter, facts: tuple[Cond, ...], put: Change) -> None:
        self._counter, self._put = counter, put
        self.facts, self.restrict = facts, restricting(facts)
        self._costly = _applying(counter.schedules)
        self._terms: dict[Node | Block, Unsummed] = {}

    @property
    def bounded(self) -> bool:
        """Whether a data-dependent count was replaced by its upper bound."""
        return bool(self._counter.bounded)

    def costs(self, node: Node | Block) -> bool:
        """Whether a node or block applies any function to data."""
        return node in self._costly

    def terms(self, node: Node | Block) -> Unsummed:
        """Return the terms of the functions that one visit applies to data."""
        if node not in self._terms:
            self._terms[node] = self._counter.whole_terms(node)
        return self._terms[node]

    def total(self, node: Node) -> Poly:
        """Return the closed form of a node's cost outside loops."""
        return self._counter.closed(self.terms(node))

    def chain(self, name: str, node: Node) -> ValueDerivation:
        """Derive the cost of a value from its name, or from its source text, to its closed form."""
        total = self.total(node)
        source = name or _quoted(node) or self._text(node)
        formula: DerivedFormula = Eops(source, node)
        steps: list[DerivationStep] = []
        while (leaf := first_open(formula)) is not None and len(steps) < _MAX_STEPS:
            by, reason = self._expand(leaf)
            after = substituted(formula, leaf, by)
            texts = (self._show(formula), self._show(after))
            term = (self._show(leaf), self._show(by))
            steps.append(
                DerivationStep(*texts, _span(leaf.node), self._poly(leaf.node), reason, *term, by, after)
            )
            formula = after
        if self._show(formula) != self._show(ClosedForm(total)):
            steps.append(self._last(formula, node, total, leaf is None))
        settled = self.restrict(total)
        texts = (self._show(ClosedForm(total)), self._show(ClosedForm(settled)))
        where_it_holds = self._put(settled)
        if texts[0] != texts[1]:
            steps.append(
                DerivationStep(*texts, _span(node), where_it_holds, self._describe_conditions(total))
            )
        return ValueDerivation(name, source, tuple(steps), where_it_holds, leaf is None)

    def _show(self, formula: DerivedFormula) -> str:
        return show(formula, self._put)

    def _describe_conditions(self, total: Poly) -> str:
        """Describe the conditions of the program that mention lengths of a form."""
        mentioned = (fact for fact in self.facts if not symbols_of_cond(fact).isdisjoint(total.free))
        told = (map_cond(fact, self._put) for fact in mentioned)
        about = [fact for fact in told if not isinstance(fact, Truth)]
        if not about:
            return "at these lengths"
        return f"where {' and '.join(map(cond_text, about[:_MOST_SAID]))}{' …' * (len(about) > _MOST_SAID)}"

    def _last(self, formula: DerivedFormula, node: Node, total: Poly, complete: bool) -> DerivationStep:
        reason = "in closed form" if complete else "further steps left out; in closed form"
        if self.bounded:
            reason += ", what data decides at its largest"
        texts = (self._show(formula), self._show(ClosedForm(total)))
        closed = ClosedForm(total)
        return DerivationStep(*texts, _span(node), self._put(total), reason, becomes=closed, after=closed)

    def _poly(self, node: Node | Block) -> Poly | None:
        """Return the cost of a term, or None where it depends on conditions on enclosing coordinates."""
        terms = self.terms(node)
        if isinstance(node, Block) and self._is_gathered(node):
            return None
        loose = (s for (_, domain), _ in terms.items() for s in free_in(ZERO, domain))
        loose_coordinate = any(symbol.kind == "coord" for symbol in loose)
        return None if loose_coordinate else self._put(self._counter.closed(terms))

    def _expand(self, leaf: Eops) -> tuple[DerivedFormula, str]:
        """Derive one leaf by one rule."""
        node = leaf.node
        if isinstance(node, Block):
            parts, reason = self._expand(Eops(leaf.text, node.result))
            return _plus((*self._named(node), parts)), reason
        if not self.costs(node):
            return ClosedForm(ZERO), "applies no function to data"
        text = self._text(node)
        if text and text != leaf.text and not isinstance(node, (Lambda, Where)):
            return Eops(text, node), "by definition"
        match node:
            case Lambda() | Where():
                return self._function(node)
            case Build():
                return self._looped(node), "map: its volume times its body"
            case Fold():
                parts = _plus((*self._parts(node.start), self._looped(node)))
                return parts, "reduce: its volume times its step, and its start"
            case Select():
                return self._selected(node)
            case _:
                return _plus(self._parts(node)), "moving data is free"

    def _function(self, node: Lambda | Where) -> tuple[DerivedFormula, str]:
        """Derive an elementary function: its arguments, plus 1 for itself."""
        own = (ClosedForm(ONE),) if node.charge == "data" else ()
        parts = (*(part for arg in children(node) for part in self._parts(arg)), *own)
        name = node.function if isinstance(node, Lambda) else "where"
        return _plus(parts), f"{name} is one elementary function"

    def _looped(self, node: Build | Fold) -> DerivedFormula:
        """Multiply a body by the extents that it does not depend on, and sum it over other coordinates."""
        mentioned = {s for (_, domain), poly in self.terms(node.body).items() for s in free_in(poly, domain)}
        mentioned |= self._condition_symbols(node.body)
        if self._is_gathered(node.body):  # a length in it is another one at every step
            mentioned |= set(node.coords)
        ranges = tuple(zip(node.coords, node.extents, strict=True))
        apart = product_of(extent for symbol, extent in ranges if symbol not in mentioned)
        inner = tuple((symbol, extent) for symbol, extent in ranges if symbol in mentioned)
        body = self._inside(node.body)
        summed: DerivedFormula = Over(inner, (body,)) if inner else body
        return summed if apart == ONE else Multiple(apart, (summed,))

    def _is_gathered(self, body: Block) -> bool:
        """Whether the terms of a body hold the sum over all visits."""
        return any(domain.gathered for _, domain in self.terms(body))

    def _condition_symbols(self, body: Block) -> set[Symbol]:
        """Return the symbols of the static conditions in a body.

        A derivation shows these conditions even where both sides cost the same.
        """

        def parts(node: Node) -> Iterator[Node]:
            inside = (one for block in blocks(node) for one in roots(block))
            return filter(self.costs, (*children(node), *inside))

        found: set[Symbol] = set()
        for node in reached(filter(self.costs, roots(body)), parts):
            condition = static_condition(node) if isinstance(node, Select) else None
            found |= set() if condition is None else symbols_of_cond(condition)
        return found

    def _selected(self, node: Select) -> tuple[DerivedFormula, str]:
        then, other = self._inside(node.then), self._inside(node.other)
        condition = static_condition(node)
        if condition is None:
            asked = (part for child in children(node) for part in self._parts(child))
            larger = Largest((then, other))
            return _plus((*asked, larger)), "only running decides; the larger side is a bound"
        return Either(condition, (then, other)), "only the chosen side is evaluated"

    def _inside(self, block: Block) -> DerivedFormula:
        """Return the cost of one visit of a block, as one leaf where its result's source text covers it."""
        result = block.result
        if self._named(block) and isinstance(result, _SPOKEN) and self.costs(result):
            return Eops(_quoted(result) or self._text(result), block)
        return _plus((*self._named(block), *self._parts(result)))

    def _named(self, block: Block) -> tuple[DerivedFormula, ...]:
        """Return the costs of the names that a block binds, under their words in the source."""
        return tuple(
            Eops(_argument(var, block.result) or self._text(node), node)
            for var, node in block.bindings
            if self.costs(node)
        )

    def _parts(self, node: Node) -> tuple[DerivedFormula, ...]:
        """Return the leaves under a node that cost something, looking through nodes that are free."""
        parts: list[DerivedFormula] = []
        stack = [node]
        while stack:
            top = stack.pop()
            if len(parts) + len(stack) > _MAX_PARTS:
                return (Eops(self._text(node), node),)
            if isinstance(top, _SPOKEN):
                parts += [Eops(self._text(top), top)] if self.costs(top) else []
            else:
                stack.extend(reversed(children(top)))
        return tuple(parts)

    def _text(self, node: Node) -> str:
        """Describe a leaf: a function with free arguments by its name, any other leaf by its source text."""
        name = node.function if isinstance(node, Lambda) else "where" if isinstance(node, Where) else ""
        if name and not any(map(self.costs, children(node))):
            return name
        return _quoted(node) or name or type(node).__name__.lower()


def _applying(found: Schedules) -> set[Node | Block]:
    """Return the nodes and blocks that apply any function to data."""
    result: set[Node | Block] = set()
    for block, plan in found.blocks:
        _mark(plan, result)
        if any(plan.steps[k].node in result for k in plan.roots):
            result.add(block)
    _mark(found.top, result)
    return result


def _mark(plan: Schedule, result: set[Node | Block]) -> None:
    for node in plan.nodes:
        own = isinstance(node, (Lambda, Where)) and node.charge == "data"
        if own or any(part in result for part in (*children(node), *blocks(node))):
            result.add(node)


def _plus(parts: tuple[DerivedFormula, ...]) -> DerivedFormula:
    if not parts:
        return ClosedForm(ZERO)
    return parts[0] if len(parts) == 1 else Plus(parts)


def _argument(var: Var, result: Node) -> str:
    """Return the first argument of a reduce, as written, if the variable is the value it runs over."""
    if not isinstance(result, Fold) or not _runs_over(result, var):
        return ""
    return first_argument(_quoted(result))


def _runs_over(node: Fold, var: Var) -> bool:
    """Whether the step of a fold reads the member of a variable at the fold's own coordinates."""
    at = tuple(atom(symbol) for symbol in node.coords)
    return any(
        isinstance(found, Member) and isinstance(found.tol, Ref) and found.tol.var is var and found.at == at
        for found in schedule_block(node.body).nodes
    )


def _quoted(node: Node | Block) -> str:
    """Return the source of a node on one line."""
    return on_one_line(_span(node), _LONGEST_TERM)


def _span(node: Node | Block) -> Span:
    match node:
        case Block(result=result):
            return _span(result)
        case Lambda(span=span) | Where(span=span) | Build(span=span) | Fold(span=span) | Select(span=span):
            return span
        case _:
            return NOWHERE
