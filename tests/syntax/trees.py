"""Random syntax trees: everything the grammar can say, and nothing it cannot."""

from __future__ import annotations

from hypothesis import strategies as st

from tolcost.syntax import tree

plain_names = st.sampled_from(
    [
        "x",
        "y1",
        "add",
        "n_2",
        "space",
        "list",
        "use",
        "attr",
        "static",
        "operator",
        "Größe",
        "λ",
        "iter",
        "nota",
    ]
)
names = plain_names | st.just("tol")
values = names | st.sampled_from(["and", "or", "xor", "not", "part'", "R*", "Z+", "Q-", "N*"])
numbers = st.sampled_from(["0", "1", "2.5", "3.", "1e-5", "7E+2", "10"]).map(tree.Numeral)
texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs", "Cf"]), max_size=8
).map(tree.Text)
leaves = numbers | texts | values.map(tree.Name) | st.just(tree.Star())
spaces = st.sampled_from(["R", "Z", "B", "R*", "Z+", "Q-", "float16", "pixel"])

LEVELS = (("or", "xor"), ("and",), ("+", "-"), ("*", "/", "%"))
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def _tuples(items: st.SearchStrategy[tree.Expr], low: int = 0) -> st.SearchStrategy[tuple[tree.Expr, ...]]:
    return st.lists(items, min_size=low, max_size=3).map(tuple)


def _chains(e: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    def chain(ops: tuple[str, ...]) -> st.SearchStrategy[tree.Expr]:
        rest = st.lists(st.tuples(st.sampled_from(ops), e), min_size=1, max_size=3).map(tuple)
        return st.builds(tree.Infix, e, rest)

    comparison = st.builds(tree.Infix, e, st.tuples(st.tuples(st.sampled_from(COMPARISONS), e)))
    return st.sampled_from(LEVELS).flatmap(chain) | comparison


def _lines(e: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Define | tree.Unpack]:
    params = st.none() | st.lists(names, max_size=3).map(tuple)
    unpacked = st.lists(names, min_size=2, max_size=3).map(tuple)
    return st.builds(tree.Define, names, params, e) | st.builds(tree.Unpack, unpacked, e)


def _extend(e: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    item = e | st.builds(tree.Splice, e) | st.sampled_from("+-/%^").map(tree.OperatorName)
    named = st.lists(st.tuples(plain_names, e), max_size=2, unique_by=lambda pair: pair[0]).map(tuple)
    return st.one_of(
        _chains(e),
        st.builds(tree.Bracket, _tuples(item)),
        st.builds(tree.Tuple, _tuples(e, 2)),
        st.builds(tree.Subscript, e, _tuples(item, 1)),
        st.builds(tree.ListSubscript, e, item),
        st.builds(tree.ShapeOf, e),
        st.builds(tree.CapacityOf, e),
        st.builds(tree.Call, e, _tuples(item), named),
        st.builds(tree.Compose, _tuples(e, 2)),
        st.builds(tree.Unary, st.sampled_from(["-", "+", "not"]), e),
        st.builds(tree.Power, e, e),
        st.builds(tree.RangeExpr, e, e),
        st.builds(tree.Arrow, st.lists(names, max_size=3).map(tuple), e),
        st.builds(tree.BlockExpr, st.lists(_lines(e), max_size=2).map(tuple), e),
        st.builds(tree.ZeroTol, _tuples(item)),
    )


expressions: st.SearchStrategy[tree.Expr] = st.recursive(leaves, _extend, max_leaves=12)


@st.composite
def inputs(draw: st.DrawFn) -> tree.InputDecl:
    mark = draw(st.sampled_from(["", "?", "..."]))
    before, dots, after = (
        st.lists(one, max_size=2) for one in (expressions, st.just(tree.Ellipsis()), expressions)
    )
    shape = (*draw(before), *draw(dots)[:1], *draw(after))
    default = draw(st.none() | expressions)
    kind = draw(st.sampled_from(["tol", "static", "attr"]))
    return tree.InputDecl(kind, draw(names), draw(spaces), shape, mark == "?", mark == "...", default)


@st.composite
def space_declarations(draw: st.DrawFn) -> tree.SpaceDecl:
    low, high = draw(st.just((None, None)) | st.tuples(expressions, expressions))
    return tree.SpaceDecl(draw(names), draw(spaces), low, high)


def _define(name: str, params: tuple[str, ...] | None, value: tree.Expr, output: bool) -> tree.Define:
    return tree.Define(name, params, value, output)


statements: st.SearchStrategy[tree.Statement] = st.one_of(
    _lines(expressions),
    st.builds(_define, names, st.none() | st.lists(names, max_size=3).map(tuple), expressions, st.booleans()),
    st.builds(tree.Define, names, st.none(), expressions, st.just(True), st.just(True)),
    st.builds(tree.ZerosDecl, names, expressions),
    inputs(),
    space_declarations(),
    st.builds(tree.ListDecl, names, st.lists(spaces, min_size=1, max_size=3).map(tuple)),
    st.builds(tree.Operator, names, st.none() | st.integers(0, 10**6)),
    st.builds(tree.Use, st.lists(names, min_size=1, max_size=3).map(tuple)),
)
programs = st.lists(statements, max_size=4).map(tuple).map(tree.Module)
