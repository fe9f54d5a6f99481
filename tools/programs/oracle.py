"""A second reading of the language: syntax trees run directly at concrete lengths.

Nothing is shared with the compiler but the parser.  Named values are computed when first needed
and kept; functions of data are counted by name.  Slow, small, and meant to be compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from tolcost.syntax import tree
from tools.programs.arithmetic import FUNCTIONS, INFIX
from tools.programs.oracle_primitives import UNCLEAR, Primitives
from tools.programs.oracle_spaces import (
    BITS,
    KEEPS_WHOLE,
    ROUNDING,
    computed_in,
    family,
    given_in,
    is_whole,
    settled,
)
from tools.programs.oracle_values import (
    SERIAL,
    Arr,
    Env,
    Frame,
    Fun,
    Later,
    Lst,
    Num,
    Unknown,
    Value,
    all_whole,
    as_late_as,
    capacity,
    component,
    deeper,
    element,
    even,
    given,
    grid,
    in_spaces,
    is_data,
    joined_spaces,
    lateness,
    literal,
    numbers_in,
    placed,
    relies,
    relying,
    shape_of,
    spaces_of,
    stacked,
    tainted,
    vector,
    whole,
)

KNOWN = {*BITS, *"BNZRC"}
LOGIC = ("and", "or", "not", "xor")


class Oracle(Primitives):
    """One run: what was counted, and how to compute every kind of expression.

    ``unsure`` tells that a side of a choice was out of range, ``empty`` that a map or a fold had
    nothing to visit: neither can then be told to be static, and what they name is not seen.
    ``uneven``: only one side of a choice is static, and whether it is a choice at all may be open.
    ``blurred``: its sides are in different spaces, and so may be what is computed of it.
    """

    unsure: bool = False
    blurred: bool = False
    empty: bool = False

    # ---- programs ------------------------------------------------------------------------

    def run(
        self, program: tree.Module, inputs: Mapping[str, Any], dims: Mapping[str, int]
    ) -> dict[str, Value]:
        names: dict[str, Later | Value] = {name: Num(value) for name, value in dims.items()}
        spaces = {s.name: s.space for s in program.statements if isinstance(s, tree.InputDecl)}
        told = {name: space if space in KNOWN else None for name, space in spaces.items()}
        names |= {name: given(value, told.get(name), name) for name, value in inputs.items()}
        env = self.define(Env(names), program.statements)
        defines = [s for s in program.statements if isinstance(s, tree.Define)]
        outputs = [s for s in defines if s.output] or defines[-1:]
        return {s.name: self.force(env.names[s.name]) for s in outputs}

    def define(self, env: Env, statements: tuple[Any, ...]) -> Env:
        inner = Env({}, env, env.star)
        empty = {s.name: self.zeros(inner, s.shape) for s in statements if isinstance(s, tree.ZerosDecl)}
        inner.names |= empty
        for s in statements:
            match s:
                case tree.Define(name=name, params=None, value=value):
                    # a definition that fills a declared ToL sees the empty one
                    own = Env({name: empty[name]}, inner, inner.star) if name in empty else inner
                    inner.names[name] = self.later(own, value)
                case tree.Define(name=name, params=params, value=value):
                    inner.names[name] = self.closure(inner, params or (), value)
                case tree.Unpack(names=names, value=value):
                    all_ = self.later(inner, value)
                    for j, name in enumerate(names, start=1):
                        inner.names[name] = Later(lambda j=j, all_=all_: component(self.force(all_), j))
                case _:
                    pass
        return inner

    def zeros(self, env: Env, shape: tree.Expr) -> Later:
        return self.later(env, tree.ZeroTol((tree.Splice(shape),)))

    def later(self, env: Env, expr: tree.Expr) -> Later:
        return Later(lambda: self.value(env, expr))

    def force(self, found: Later | Value) -> Value:
        if not isinstance(found, Later):
            return found
        if found.value is None:
            found.value = self.apart(found.frame, found.compute)
        self.frame.needed.append(found.frame)
        return found.value

    def apart(self, frame: Frame, work: Callable[[], Value]) -> Value:
        """Do some work that counts in a frame of its own."""
        around, self.frame = self.frame, frame
        try:
            return work()
        finally:
            self.frame = around

    def closure(self, env: Env, params: tuple[str, ...], body: tree.Expr) -> Fun:
        def call(*args: Later | Value) -> Value:
            return self.value(Env(dict(zip(params, args, strict=True)), env, env.star), body)

        return Fun(len(params), call)

    # ---- expressions ---------------------------------------------------------------------

    def value(self, env: Env, expr: tree.Expr, in_index: bool = False) -> Value:
        return getattr(self, "_" + type(expr).__name__.lower())(env, expr, in_index)

    def _numeral(self, env: Env, expr: tree.Numeral, in_index: bool) -> Value:
        return literal(int(expr.text) if expr.text.isdigit() else float(expr.text))

    def _text(self, env: Env, expr: tree.Text, in_index: bool) -> Value:
        return Num(expr.value)

    def _name(self, env: Env, expr: tree.Name, in_index: bool) -> Value:
        found = env.find(expr.name)
        if found is not None:
            return self.force(found)
        constants = {"true": Num(True), "false": Num(False), "Inf": Num(np.inf)}
        return constants.get(expr.name) or self.builtin(expr.name)

    def _star(self, env: Env, expr: tree.Star, in_index: bool) -> Value:
        assert env.star is not None
        return vector(env.star[1]) if in_index else self.force(env.star[0])

    def _operatorname(self, env: Env, expr: tree.OperatorName, in_index: bool) -> Value:
        return self.builtin(INFIX[expr.op])

    def builtin(self, name: str) -> Fun:
        arity = 1 if name in FUNCTIONS and FUNCTIONS[name].__code__.co_argcount == 1 else 2
        return Fun(arity, lambda *args: self.apply(name, tuple(self.force(a) for a in args)))

    def spread(self, env: Env, items: tuple[Any, ...], in_index: bool) -> list[Value]:
        found: list[Value] = []
        for item in items:
            value = self.value(env, item.value if isinstance(item, tree.Splice) else item, in_index)
            found += value.items if isinstance(value, Arr) else (value,)
        return found

    def _bracket(self, env: Env, expr: tree.Bracket, in_index: bool) -> Value:
        rows: list[Value] = []
        for item in expr.items:
            if isinstance(item, tree.Splice):
                value = self.value(env, item.value, in_index)
                rows += (
                    [element(value, (k,)) for k in range(1, shape_of(value)[0] + 1)]
                    if shape_of(value)
                    else [value]
                )
            else:
                rows.append(self.value(env, item, in_index))
        if not all(isinstance(row, Num) for row in rows):
            return stacked((len(rows),), rows)
        late = any(map(is_data, rows))  # spaces are told entry by entry
        return Arr((len(rows),), tuple(map(tainted, rows)) if late else tuple(rows))

    def _tuple(self, env: Env, expr: tree.Tuple, in_index: bool) -> Value:
        items: list[Value] = []
        for item in expr.items:
            value = self.value(env, item, in_index)
            items += value.items if isinstance(value, Lst) else (value,)
        return Lst(tuple(items))

    def _subscript(self, env: Env, expr: tree.Subscript, in_index: bool) -> Value:
        base = self.value(env, expr.base)
        at = self.spread(env, expr.items, True)
        self.look_at(*at)
        found = element(base, tuple(whole(a) for a in at))
        return tainted(found) if any(isinstance(a, Num) and a.data for a in at) else found

    def _listsubscript(self, env: Env, expr: tree.ListSubscript, in_index: bool) -> Value:
        return component(self.value(env, expr.base), whole(self.value(env, expr.item)))

    def _shapeof(self, env: Env, expr: tree.ShapeOf, in_index: bool) -> Value:
        shape = shape_of(self.apart(Frame(), lambda: self.value(env, expr.value)))
        return Arr((len(shape),), tuple(map(Num, shape)))

    def _capacityof(self, env: Env, expr: tree.CapacityOf, in_index: bool) -> Value:
        return Num(capacity(self.apart(Frame(), lambda: self.value(env, expr.value))))

    def _rangeexpr(self, env: Env, expr: tree.RangeExpr, in_index: bool) -> Value:
        low, high = whole(self.value(env, expr.low)), whole(self.value(env, expr.high))
        return Arr((max(high - low + 1, 0),), tuple(map(Num, range(low, high + 1))))

    def _zerotol(self, env: Env, expr: tree.ZeroTol, in_index: bool) -> Value:
        shape = tuple(whole(d) for d in self.spread(env, expr.items, False))
        return Arr(shape, (Num(0),) * prod(shape)) if shape else Num(0)

    def _unary(self, env: Env, expr: tree.Unary, in_index: bool) -> Value:
        value = self.value(env, expr.value, in_index)
        return value if expr.op == "+" else self.apply("neg" if expr.op == "-" else "not", (value,))

    def _infix(self, env: Env, expr: tree.Infix, in_index: bool) -> Value:
        value = self.value(env, expr.first, in_index)
        for op, operand in expr.rest:
            if (
                isinstance(value, Num)
                and not value.data
                and (op, bool(value.value)) in (("and", False), ("or", True))
            ):
                self.unsure = True  # that it is the side which decides may not be known for every length
                continue
            value = self.apply("/" if op == "/" else INFIX[op], (value, self.value(env, operand, in_index)))
        return value

    def _arrow(self, env: Env, expr: tree.Arrow, in_index: bool) -> Value:
        return self.closure(env, expr.params, expr.body)

    def _blockexpr(self, env: Env, expr: tree.BlockExpr, in_index: bool) -> Value:
        return self.value(self.define(env, expr.statements), expr.result, in_index)

    def _compose(self, env: Env, expr: tree.Compose, in_index: bool) -> Value:
        functions = [self.function(env, f) for f in expr.functions]

        def call(value: Later | Value) -> Value:
            for function in functions:
                value = function.call(value)
            return self.force(value)

        return Fun(1, call)

    # ---- functions -----------------------------------------------------------------------

    def apply(self, name: str, args: tuple[Value, ...]) -> Value:
        """An elementary function: of numbers, or element by element."""
        shapes = [a.shape for a in args if isinstance(a, Arr)]
        if shapes:
            if len(set(shapes)) > 1 and any(0 in shape for shape in shapes):
                raise Unknown(name)
            assert len(set(shapes)) == 1, f"{name} of shapes {shapes}"
            rows = zip(
                *(a.items if isinstance(a, Arr) else (a,) * prod(shapes[0]) for a in args), strict=True
            )
            return Arr(shapes[0], tuple(self.apply(name, row) for row in rows))
        numbers = [a for a in args if isinstance(a, Num)]
        assert len(numbers) == len(args), f"{name} of a list"
        return self.apply_numbers(name, numbers)

    def apply_numbers(self, name: str, args: list[Num]) -> Num:
        if any(isinstance(a.value, str) for a in args):
            return Num(FUNCTIONS[name](*(a.value for a in args)))
        data, told = any(a.data for a in args), [a.space for a in args if a.space in BITS]
        self.look_at(*args)
        if name == "/" and not data and all(family(a.space) in "BZ" for a in args):
            found = Num(FUNCTIONS["floordiv"](*(a.value for a in args)))
            return placed(found, told[0]) if told else found
        name = "div" if name == "/" else name
        domain = computed_in(name, [a.space for a in args if a.data], [a.space for a in args if not a.data])
        value = FUNCTIONS[name](*(settled(a.value, domain) for a in args))
        on = frozenset[int]() if name in ROUNDING else all_whole(a.whole for a in args)
        on = on if name in KEEPS_WHOLE | ROUNDING else None
        space = given_in(name, domain)
        if not data and domain == "B" and name not in LOGIC:
            space = given_in(name, "Z")  # a truth that is known counts as 0 or 1
        if data:
            self.frame.counts[name, domain] += 1
            return Num(settled(value, space), True, space, on, max(a.deep for a in args) + 1)
        if on is None and is_whole(value):  # whether it is for all lengths is not known here
            on = frozenset({UNCLEAR})
        if not told and name in ROUNDING - {"sgn"}:
            return Num(round(value))
        return Num(settled(value, space), False, space if told and space in BITS else None, on)

    def function(self, env: Env, expr: tree.Expr) -> Fun:
        found = self.value(env, expr)
        assert isinstance(found, Fun)
        return found

    def functional(self, env: Env, expr: tree.Expr) -> bool:
        """Whether an expression, as written, is a function."""
        if isinstance(expr, tree.Arrow | tree.OperatorName | tree.Compose):
            return True
        if not isinstance(expr, tree.Name):
            return (
                isinstance(expr, tree.Call)
                and env.star is None
                and any(isinstance(a, tree.Star) for a in expr.args)
            )
        found = env.find(expr.name)
        if isinstance(found, Later):
            return isinstance(self.apart(Frame(), lambda: self.force(found)), Fun)
        return isinstance(found, Fun) if found is not None else expr.name in FUNCTIONS

    def _call(self, env: Env, expr: tree.Call, in_index: bool) -> Value:
        if isinstance(expr.function, tree.Name) and env.find(expr.function.name) is None:
            form = getattr(self, "form_" + expr.function.name, None)
            if form is not None:
                return form(env, *expr.args)
        if env.star is None and any(isinstance(a, tree.Star) for a in expr.args):
            return self.partial(env, expr)
        function = self.function(env, expr.function)
        return function.call(*(self.argument(env, a) for a in expr.args))

    def argument(self, env: Env, expr: tree.Expr) -> Later | Value:
        if isinstance(expr, tree.Name) and (found := env.find(expr.name)) is not None:
            return found
        return self.later(env, expr)

    def partial(self, env: Env, expr: tree.Call) -> Fun:
        fixed = [None if isinstance(a, tree.Star) else self.later(env, a) for a in expr.args]
        function = self.function(env, expr.function)

        def call(*args: Later | Value) -> Value:
            rest = iter(args)
            return function.call(*(next(rest) if a is None else a for a in fixed))

        return Fun(fixed.count(None), call)

    # ---- map and reduce ------------------------------------------------------------------

    def names_of(self, pattern: tree.Expr | None, at: tuple[int, ...]) -> dict[str, Later | Value]:
        match pattern:
            case None:
                return {}
            case tree.Name(name=name):
                return {name: vector(at)}
            case tree.Bracket(items=items):
                plain = [i.name for i in items if isinstance(i, tree.Name)]
                names: dict[str, Later | Value] = {n: Num(a) for n, a in zip(plain, at, strict=False)}
                for item in items:
                    if isinstance(item, tree.Splice) and isinstance(item.value, tree.Name):
                        rest = at[len(plain) :]
                        names[item.value.name] = Arr((len(rest),), tuple(map(Num, rest)))
                return names
        raise AssertionError(pattern)

    def inside(
        self, env: Env, over: Value, cost: Frame, at: tuple[int, ...], pattern: tree.Expr | None
    ) -> tuple[Env, Later]:
        """The surroundings of a body; what is walked over costs only if an element is needed."""

        def item() -> Value:
            self.frame.needed.append(cost)
            return element(over, at)

        found = Later(item)
        return Env(self.names_of(pattern, at), env, (found, at)), found

    def form_map(self, env: Env, over: tree.Expr, body: tree.Expr, pattern: tree.Expr | None = None) -> Value:
        cost = Frame()
        source = self.apart(cost, lambda: self.value(env, over))
        if isinstance(over, tree.Name) and not shape_of(source) and not is_data(source):
            raise Unknown("a bare coordinate is a vector to a map, a number elsewhere")
        members: list[Value] = []
        self.empty |= 0 in shape_of(source)
        for at in grid(shape_of(source)):
            inner, item = self.inside(env, source, cost, at, pattern)
            if self.functional(inner, body):
                function = self.function(inner, body)
                members.append(function.call(*((item,) if function.arity == 1 else (item, vector(at)))))
            else:
                members.append(self.value(inner, body))
        return stacked(shape_of(source), members)

    def form_reduce(
        self, env: Env, over: tree.Expr, step: tree.Expr, start: tree.Expr, pattern: tree.Expr | None = None
    ) -> Value:
        """A fold; what a step makes data, or the start is, is data from the first step to the last."""
        cost = Frame()
        source, first = self.apart(cost, lambda: self.value(env, over)), self.value(env, start)
        first, own = even(first) if isinstance(first, Arr) else first, next(SERIAL)
        while True:
            seen, kept, asked = spaces_of(first), relies(first), self.asked
            value = carried = relying(first, frozenset({own}))
            frame = Frame()
            for at in grid(shape_of(source)):
                inner, item = self.inside(env, source, cost, at, pattern)

                def step_there(inner: Env = inner, item: Later = item, value: Value = value) -> Value:
                    function = self.function(inner, step)
                    args = (value, item) if function.arity == 2 else (value, item, vector(at))  # noqa: B023
                    return function.call(*args)

                after = self.apart(frame, step_there)
                seen = joined_spaces(seen, spaces_of(after))
                kept = all_whole((kept, relies(after)))
                value = as_late_as(in_spaces(after, seen), carried)
                value = relying(value, frozenset({own}))
            anew = self.asked > asked and spaces_of(first) != seen  # what was asked has another answer now
            later = in_spaces(first if anew else as_late_as(first, value), seen)
            self.empty |= 0 in shape_of(source)
            if (lateness(later), spaces_of(later)) == (lateness(first), spaces_of(first)):
                self.frame.needed.append(frame)
                on = None if kept is None else kept - {own}
                if on is not None and isinstance(value, Lst):  # not looked into, unless one is carried alone
                    on |= {UNCLEAR}
                return relying(as_late_as(value, first), on)
            first = later

    def form_where(self, env: Env, condition: tree.Expr, then: tree.Expr, other: tree.Expr) -> Value:
        return self._either(env, condition, then, other, both=True)

    def form_choose(self, env: Env, condition: tree.Expr, then: tree.Expr, other: tree.Expr) -> Value:
        return self._either(env, condition, then, other, both=False)

    def _either(self, env: Env, condition: tree.Expr, then: tree.Expr, other: tree.Expr, both: bool) -> Value:
        """One of two values; if data decides, ``both`` are computed, and deciding is a function."""
        holds = self.value(env, condition)
        while isinstance(holds, Arr) and len(holds.items) == 1:
            holds = holds.items[0]
        assert isinstance(holds, Num)
        self.look_at(holds)
        if holds.data and not both:
            taken, left = (then, other) if holds.value else (other, then)
            seen, value = self.glance(env, left), self.value(env, taken)
            return tainted(self.chosen((value, seen) if holds.value else (seen, value), value))
        if not holds.data:
            taken, left = (then, other) if holds.value else (other, then)
            if self.decided(condition):
                return self.value(env, taken)
            value, other = self.value(env, taken), self.glance(env, left)
            self.blurred |= spaces_of(value) != spaces_of(other)
            self.uneven |= lateness(value) != lateness(other)
            if isinstance(value, Num) and isinstance(other, Num):
                value = even(Arr((2,), (value, other))).items[0]
            return as_late_as(value, other)
        sides = self.value(env, then), self.value(env, other)
        found = tainted(self.chosen(sides, sides[0] if holds.value else sides[1]))
        self.look_at(*sides)
        found = deeper(
            found, max(number.deep for value in (holds, *sides) for number in numbers_in(value)) + 1
        )
        self.frame.counts["where", (spaces_of(found) or ("Z",))[0]] += 1
        return found

    def look_at(self, *values: Value) -> None:
        """Something is computed of these, or by them."""
        self.frame.read |= {n.source for value in values for n in numbers_in(value) if n.source is not None}

    def chosen(self, sides: tuple[Value, Value], value: Value) -> Value:
        """One side of a choice, in spaces that hold both."""
        spaces = joined_spaces(*map(spaces_of, sides))
        return relying(in_spaces(value, spaces), all_whole(map(relies, sides)))

    def decided(self, condition: tree.Expr) -> bool:
        """Whether a condition asks for something that does not depend on lengths: the kind of a space."""
        asked = condition.first if isinstance(condition, tree.Infix) else None
        return isinstance(asked, tree.Call) and asked.function == tree.Name("kind")

    def glance(self, env: Env, expr: tree.Expr) -> Value:
        """The side of a choice that is not taken: what it does is forgotten, and so are its faults.

        A value named outside of the choice is computed where it is named, whichever side uses it.
        """
        frame = Frame()
        try:
            return self.apart(frame, lambda: self.value(env, expr))
        except (AssertionError, ArithmeticError):
            self.unsure = self.uneven = True
            return Num(0)
        finally:
            named = (f for f in frame.reached(older=frame.serial) if f.serial < frame.serial)
            self.frame.needed.extend(named)
