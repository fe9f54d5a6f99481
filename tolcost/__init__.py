r"""Exact symbolic cost of tensor programs, from one executable definition of each operator.

    >>> import tolcost
    >>> cost = tolcost.analyze("tol x: R [n]\ny := map(x, exp(*) + 1)")
    >>> cost.eops, cost.at(n=1000).eops
    (2*n, 2000)

Importing this is cheap: what a call needs is loaded by the call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tolcost.diagnostics import Diagnostic, Rejected
    from tolcost.elaborate.arguments import PlainShape, PlainValue
    from tolcost.result.compare import CostComparison
    from tolcost.result.cost import Cost

__version__ = "0.1.0"
__all__ = ["Cost", "CostComparison", "Diagnostic", "Rejected", "__version__", "analyze", "diff", "load_model"]

_WHERE = {
    "Cost": "tolcost.result.cost",
    "CostComparison": "tolcost.result.compare",
    "Diagnostic": "tolcost.diagnostics",
    "Rejected": "tolcost.diagnostics",
}


def analyze(
    program: str | Path,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, PlainShape | Sequence[PlainShape]] | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
) -> Cost:
    r"""Give what a program costs.

    ``program`` is a path, or the text of a program; a string with a line break or ``=`` in it
    is text.  ``dims`` gives lengths by name, ``shapes`` the shapes of inputs of any rank, and
    ``attrs`` the values of attributes and static inputs.  A program that cannot be analysed
    raises ``Rejected``, with diagnostics that say why.

    >>> cost = analyze("tol a: R [n, k]\ny := map(a, exp(*) + 1)", dims={"k": 3})
    >>> cost.eops, cost.status
    (6*n, 'exact')
    """
    from tolcost.result.program import analyze as cost_of

    return cost_of(program, dims, shapes, attrs)


def load_model(
    path: str | Path,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    specs: Sequence[str | Path] = (),
) -> Cost:
    """Give what an ONNX model costs, in its free dimensions.

    ``dims`` gives lengths by name or as ``input[axis]``, ``shapes`` the shapes of inputs in names and
    numbers, and ``specs`` folders of operators, searched first.  A model that cannot be read, or lengths
    that it does not allow, raise ``Rejected``.

    >>> from tempfile import mkdtemp
    >>> from onnx import TensorProto, helper, save
    >>> x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in "xy")
    >>> nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Relu", ["e"], ["y"])]
    >>> graph = helper.make_graph(nodes, "small", [x], [y])
    >>> path = mkdtemp() + "/small.onnx"
    >>> save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    >>> cost = load_model(path)
    >>> cost
    <Cost small: 8*batch EOPs, 2/2 nodes, exact>
    >>> cost(batch=8).eops, cost.by_op
    (64, {'Exp': 4*batch, 'Relu': 4*batch})
    """
    from tolcost.result.model import load_model as cost_of

    return cost_of(path, dims, {name: tuple(shape) for name, shape in (shapes or {}).items()}, specs)


def diff(old: Cost | str | Path, new: Cost | str | Path) -> CostComparison:
    r"""Compare what two programs or two models cost, for all lengths: a proof, or a point that shows it.

    Either is a cost, a path, or the text of a program.

    >>> found = diff("tol x: R [n]\ny := map(x, exp(*))", "tol a: R [m]\nb := map(a, exp(*) + 1)")
    >>> found.verdict, found.notes
    ('costlier', ('the length `n` is now `m`',))
    """
    from tolcost.result.compare import compare

    return compare(_cost_of(old), _cost_of(new), identical=old == new)


def _cost_of(subject: Cost | str | Path) -> Cost:
    from tolcost.result.cost import Cost

    if isinstance(subject, Cost):
        return subject
    return load_model(subject) if str(subject).endswith(".onnx") else analyze(subject)


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tolcost' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    """Give the public names, those not loaded yet included."""
    return sorted({*globals(), *__all__})
