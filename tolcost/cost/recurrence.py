"""Costs of recursion on parts of any length, solved from what one application does besides.

Where ``T(n)`` is the sum of ``T`` at the parts of ``n`` and of ``own(n)``, with ``L = ceiling(log(n, 2))``:

- For the two halves of ``n``, rounded down and up, and ``own(n) = c*n + d``, it is ``c*(n*L - 2**L + n) +
  d*(n - 1) + n*T(1)``: ``n - 1`` applications are above size 1, and their sizes add up to ``n*L - 2**L + n``.
- If all parts are one half, rounded in one way, and ``own`` is the same at all sizes, ``n`` takes as many
  steps to 1 as the power of 2 below it, or above it: it is ``T`` there.
- In general, if no part gets smaller as ``n`` grows, nor does ``own``, then ``T`` does not either, by
  induction: it lies between its values at the powers of 2 around ``n``, where it is a sum over the levels.

A run leaves out what nobody needs. So a count is exact, or bounded from below, only if each application reads
all of the results of those in it, and of its arguments unless they are made without work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    Poly,
    atom,
    ceil_log2,
    const,
    coordinate,
    direction,
    eq,
    floordiv,
    ge,
    length,
    powers,
    product_of,
    prove,
    substitute,
    the_symbol,
    total,
    total_of,
)
from tolcost.algebra.poly import affine_parts
from tolcost.atoms.kit import program_nodes
from tolcost.atoms.nodes import Input, Program, Type
from tolcost.atoms.recurrence import Recurrence
from tolcost.cost.count import Counts, count
from tolcost.cost.macs import find_mac_flow, gives_products
from tolcost.cost.record import Analysis, NamedType, shipped
from tolcost.cost.span import Depth, Depths, depths
from tolcost.cost.traffic import Traffic, bits_of, bytes_of, elements_read
from tolcost.cost.weights import weigh

_K = TypeVar("_K")


class _Unsolved(Exception):
    """A recurrence of which neither a solution nor a bound is found."""


class _Solved(Struct, frozen=True):
    """A count at any size: at least, and at most; both are one form where it is exact."""

    least: Poly
    most: Poly


def analyze_recurrence(rest: Program, recurrence: Recurrence, file: str = "") -> Analysis | None:
    """Return the cost of a program that takes the result of a recursion as given, and of the recursion.

    It is None if no bound is found.
    """
    try:
        return _analysis(rest, _Solver(recurrence), file)
    except _Unsolved:
        return None


def _analysis(rest: Program, solver: _Solver, file: str) -> Analysis:
    around = count(rest)
    if around.status not in ("exact", "upper bound"):
        raise _Unsolved
    histogram = solver.each(around, lambda counts: counts.histogram)
    index = solver.each(around, lambda counts: counts.index)
    whole = solver.each(around, lambda counts: {"lambda": counts.atoms["lambda"], "macs": counts.macs})
    macs = whole["macs"]
    if solver.may_add_products(rest):
        macs = _Solved(
            macs.least, total_of(one.most for (name, _), one in histogram.items() if name == "mul")
        )
    closed = all(one.least == one.most for one in (*histogram.values(), *index.values(), macs))
    holes = [node for node in program_nodes(rest) if isinstance(node, Input) and node not in rest.inputs]
    sure = solver.is_exact and around.status == "exact" and _reads_all(rest, holes)
    counts = Counts(
        histogram={key: one.most for key, one in histogram.items() if one.most != ZERO},
        index={key: one.most for key, one in index.items() if one.most != ZERO},
        atoms={"lambda": whole["lambda"].most},
        macs=macs.most,
        terms=(),
        status="exact" if closed and sure else "upper bound",
    )
    outputs = [out for out in rest.outputs if out.name]
    given, made = [one.type for one in rest.inputs], [out.node.type for out in outputs]
    lengths = {s for type_ in (*given, *made) for part in type_ for d in part.shape for s in d.free}
    used = lengths | counts.eops.free | counts.macs.free
    return Analysis(
        name=rest.name,
        file=file,
        inputs=tuple(NamedType(one.name, one.type) for one in rest.inputs),
        outputs=tuple(NamedType(out.name, out.node.type) for out in outputs),
        counts=counts,
        flops=weigh(counts, shipped("flops")).numerator,
        traffic=_all_bytes(given, made),
        span=None if (deep := solver.depths(rest)) is None else deep.at_most(counts.eops),
        conditions=rest.conditions,
        unproved=rest.unproved,
        symbols=tuple(symbol for symbol in rest.symbols if symbol in used),
        idle=tuple(symbol for symbol in rest.symbols if symbol not in used),
        least=total_of(one.least for one in histogram.values()) if sure and not closed else None,
    )


def _all_bytes(given: Sequence[Type], made: Sequence[Type]) -> Traffic:
    """Return the bytes of all inputs and outputs, as a bound: what of them is read is not looked at."""
    spaces = {part.space for type_ in (*given, *made) for part in type_}
    unsized = sorted(space for space in spaces if bits_of(space) is None)
    return Traffic(_by_space(given), _by_space(made), tuple(unsized), open=True)


def _by_space(types: Iterable[Type]) -> Mapping[str, Poly]:
    found: dict[str, Poly] = {}
    for part in (part for type_ in types for part in type_):
        size = bytes_of(part.shape, part.space)
        found[part.space] = found.get(part.space, ZERO) + (ZERO if size is None else size)
    return found


class _Solver:
    """Solves what a recursion counts from what an application counts besides."""

    def __init__(self, recurrence: Recurrence) -> None:
        """Refuse a recurrence whose parts do not halve the powers of 2, or may shrink as the whole grows."""
        self._programs = recurrence
        self._own, self._last = count(recurrence.own), count(recurrence.last)
        statuses = {self._own.status, self._last.status}
        if not statuses <= {"exact", "upper bound"} or not recurrence.parts:
            raise _Unsolved
        self._n = atom(recurrence.size)
        if not all(map(self._is_part, recurrence.parts)):
            raise _Unsolved
        self._below, self._above = ceil_log2(self._n + 1) - 1, ceil_log2(self._n)
        self._ways = sorted(map(self._rounded, recurrence.parts))
        self.is_exact = statuses == {"exact"} and self._computes_all()

    def _is_part(self, part: Poly) -> bool:
        t = coordinate("t", length("p"))
        of_power = substitute(part, {self._programs.size: powers(2, t)})
        smaller = self._holds(part - 1) and self._holds(self._n - 1 - part)
        return smaller and self._grows(part) and _equal(of_power, powers(2, t - 1))

    def _holds(self, form: Poly) -> bool:
        """Whether a form is at least 0 at all sizes above 1."""
        return prove(ge(form), (ge(self._n - 2),)) is True

    def _grows(self, form: Poly) -> bool:
        """Whether a form gets no smaller as the size grows."""
        size = self._programs.size
        return direction(form, size) == 1 or self._holds(substitute(form, {size: self._n + 1}) - form)

    def _rounded(self, part: Poly) -> str:
        """Say how a part is half of the size: rounded down or up, or neither."""
        half = floordiv(self._n, const(2))
        return "down" if _equal(part, half) else "up" if _equal(part, self._n - half) else ""

    def _computes_all(self) -> bool:
        """Whether every application needs all that it is given, so that nothing in it is left out."""
        own, last = self._programs.own, self._programs.last
        results = own.inputs[len(own.inputs) - len(self._programs.parts) :]
        made = count(replace(own, outputs=own.outputs[1:])).eops
        alone = made == ZERO or (_reads_all(own, own.inputs) and _reads_all(last, last.inputs))
        return alone and _reads_all(own, results)

    def each(self, around: Counts, forms: Callable[[Counts], Mapping[_K, Poly]]) -> dict[_K, _Solved]:
        """Solve all counts of a kind, with those of the program around."""
        own, last, rest = (forms(counts) for counts in (self._own, self._last, around))
        found: dict[_K, _Solved] = {}
        for key in (*own, *last, *rest):
            more = rest.get(key, ZERO)
            one = self._solved(own.get(key, ZERO), last.get(key, ZERO))
            found[key] = _Solved(one.least + more, one.most + more)
        return found

    def _solved(self, own: Poly, last: Poly) -> _Solved:
        exact = self._exact(own, last)
        if exact is not None:
            return _Solved(exact, exact)
        if not self._grows(own):
            raise _Unsolved
        many = len(self._programs.parts)
        return _Solved(*(self._at_power(own, last, many, level) for level in (self._below, self._above)))

    def _exact(self, own: Poly, last: Poly) -> Poly | None:
        """Return the count at any size, if there is a form for it."""
        n, levels = self._n, self._above
        split = affine_parts(own, self._programs.size)
        if split is not None and self._ways == ["down", "up"]:
            slope, rest = split
            return slope * (n * levels - powers(2, levels) + n) + rest * (n - 1) + last * n
        if self._programs.size in own.free or set(self._ways) not in ({"down"}, {"up"}):
            return None
        way = self._below if self._ways[0] == "down" else self._above
        return self._at_power(own, last, len(self._ways), way)

    def _at_power(self, own: Poly, last: Poly, many: int, exponent: Poly) -> Poly:
        """Return the count of so many parts on each level, at a power of 2."""
        p = length("p", 0)
        t = coordinate("t", p)
        level = powers(many, p - t) * substitute(own, {self._programs.size: powers(2, t)})
        every = powers(many, p) * last + total(level, [(the_symbol(t), 1, p)])
        return substitute(every, {the_symbol(p): exponent})

    def may_add_products(self, rest: Program) -> bool:
        """Whether an application may add up products that another one makes."""
        programs = (self._programs.own, self._programs.last, rest)
        return any(map(gives_products, programs)) and any(find_mac_flow(one).added for one in programs)

    def depths(self, rest: Program) -> Depths | None:
        """Return bounds of the depth: each level makes the arguments, and then the result."""
        own, around = self._programs.own.outputs, [out for out in rest.outputs if out.name]
        on_levels = [depths(replace(self._programs.own, outputs=ends)) for ends in (own[:1], own[1:])]
        ends = (tuple(around), rest.outputs[len(around) :])
        once = [depths(self._programs.last), *(depths(replace(rest, outputs=one)) for one in ends)]
        chain = self._depth([one.chain for one in on_levels], [one.chain for one in once])
        tree = self._depth([one.tree for one in on_levels], [one.tree for one in once])
        return None if chain is None or tree is None else Depths(chain, tree)

    def _depth(self, on_levels: Sequence[Depth], once: Sequence[Depth]) -> Depth | None:
        own = total_of(depth.form for depth in on_levels)
        if not self._grows(own):
            return None
        most = self._at_power(own, ZERO, 1, self._above)
        return Depth((most + total_of(depth.form for depth in once),), exact=False)


def _equal(one: Poly, other: Poly) -> bool:
    return one == other or prove(eq(one - other)) is True


def _reads_all(program: Program, inputs: Sequence[Input]) -> bool:
    """Whether a program reads every element of what is given."""
    read = elements_read(replace(program, inputs=tuple(inputs)))
    return all(
        given.name in read
        and all(
            _equal(found, product_of(part.shape))
            for part, (_, found) in zip(given.type, read[given.name], strict=True)
        )
        for given in inputs
    )
