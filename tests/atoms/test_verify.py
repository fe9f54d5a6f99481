"""The verifier: it passes what is sound, and names the rule that is broken."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from tests.execute import programs as p
from tests.execute.random_ir import Gen
from tolcost.algebra import const, coordinate, ge, the_symbol
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Convert,
    Fold,
    Join,
    Lambda,
    Member,
    Number,
    Put,
    Reshape,
    Select,
    Table,
    Var,
)
from tolcost.atoms.verify import verify
from tolcost.diagnostics import InternalError
from tools.execute.builders import (
    build,
    coords,
    embed,
    lam,
    mem,
    n,
    num,
    pack,
    program,
    ref,
    scalar,
    tensor,
    tol,
)

X = tol("x", "R", n)
M = tol("w", "R", n, n)
ROW = coordinate("i", n)
ONE = num(1.0)
STRAY = Var("stray", scalar("R"))


@pytest.mark.parametrize(
    "make",
    [
        *(p.elementwise, p.matmul, p.triangle_built, p.ragged_joined, p.conv, p.argmax, p.cumsum),
        *(p.keep_positive, p.keep_per_row, p.scatter, p.gather, p.gather_guarded, p.flattened),
        *(p.shared, p.deep),
    ],
)
def test_sound_programs_pass(make):
    verify(make())


@pytest.mark.parametrize("seed", range(100))
def test_random_programs_pass(seed):
    verify(Gen(Random(seed), faults=True).program())


def vector(body):
    return build([ROW], [n], body)


BROKEN = {
    "the variable stray is in scope": ref(STRAY),
    "the coordinate i is in scope": mem(X, ROW),
    "the input q is declared": mem(tol("q", "R", n), n),
    "the function nope exists": Lambda("nope", (ONE,), "R", scalar("R")),
    "add takes 2 to 2 arguments": Lambda("add", (ONE,), "R", scalar("R")),
    "functions apply to numerics": Lambda("exp", (X,), "R", scalar("R")),
    "a member has a full coordinate": Member(M, (const(1),), scalar("R")),
    "a member has the type of the ToL's members": Member(X, (const(1),), scalar("Z")),
    "a component is one of the list's": Component(pack(ONE, ONE), 3, scalar("R")),
    "the space nowhere exists": Number(1.0, scalar("nowhere")),
    "a number is a numeric": Number(1.0, tensor("R", n)),
    "joined values have one rank": Join(X, M, 1, tensor("R", 2 * n)),
    "a join is along one of the dimensions": Join(X, X, 2, tensor("R", 2 * n)),
    "joined lengths add up": Join(X, X, 1, tensor("R", 2 * n + 1)),
    "embedding adds a last dimension of length 1": replace(embed(X), type=tensor("R", n, 2)),
    "every coordinate has an extent": Build((the_symbol(ROW),), (), Block((), ONE), scalar("R")),
    "a build has the extents, then the shape of its members": replace(vector(ONE), type=tensor("R", n, n)),
    "coordinates of a quantifier differ": build([ROW, ROW], [n, n], ONE),
    "a coordinate is bound once": build([ROW], [n], build([ROW], [n], ONE)),
    "an accumulator keeps its rank": Fold((), (), Var("a", scalar("R")), X, Block((), ONE), scalar("R")),
    "both sides of a choice have the result's rank": Select(
        ge(n - 3), Block((), X), Block((), ONE), tensor("R", n)
    ),
    "reshaping keeps the volume": Reshape(Table((1.0, 2.0), tensor("R", 2)), tensor("R", 3)),
    "a table has as many values as its shape says": Table((1.0, 2.0), tensor("R", 3)),
    "converting keeps the shape": Convert(X, tensor("Z", n, n)),
    "what is put has the shape of what it replaces": Put(M, (const(1),), ONE, M.type),
    "a variable is bound once": build(
        coords(("j", n)), [n], Block(((STRAY, ONE), (STRAY, num(2.0))), ref(STRAY))
    ),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_rules_are_named(rule):
    with pytest.raises(InternalError, match="the IR is broken") as caught:
        verify(program(BROKEN[rule], inputs=[X, M]))
    assert rule in str(caught.value)


def test_a_binding_is_not_visible_before_it_is_made():
    late = Var("late", scalar("R"))
    with pytest.raises(InternalError, match="late is in scope"):
        verify(program(ONE, bindings=[(Var("early", scalar("R")), ref(late)), (late, lam("exp", ONE))]))
