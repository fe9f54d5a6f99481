"""The Python interface of tolcost, with an example for each function.

``import tolcost`` loads this module when one of its functions is first used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tolcost.atoms.verify import verify
from tolcost.catalogue.listing import Entry, entries
from tolcost.catalogue.reading import as_bytes, model_in
from tolcost.catalogue.specs import Library, Spec, open_library
from tolcost.certainty import FROM_ABOVE, INCOMPLETE
from tolcost.diagnostics import Diagnostic, Rejected, Source, quoted, refuse
from tolcost.elaborate import Elaborated
from tolcost.elaborate.inputs import PlainShapes, PlainValue, arguments
from tolcost.models.walking import Session
from tolcost.pipeline import analyze_lowered, analyze_parsed, read_program
from tolcost.platform import stored_conformance, with_deep_stack
from tolcost.result.catalogue_page import RecordedTests
from tolcost.result.compare import compare
from tolcost.result.comparison import CostComparison
from tolcost.result.conformance import conformance_of
from tolcost.result.cost import Cost, many_points
from tolcost.result.generation import generated
from tolcost.result.growth import read_values
from tolcost.result.metrics import keys_in
from tolcost.result.model import Wanted, file_cost, model_cost
from tolcost.result.operators import RankForm, forms_by_rank
from tolcost.result.point import said_of_lengths, whole_lengths
from tolcost.result.program import program_source, program_study
from tolcost.result.study import locate_study

if TYPE_CHECKING:
    import pandas
    from onnx import ModelProto


def analyze(
    program: str | Path,
    dims: Mapping[str, int] | None = None,
    shapes: PlainShapes | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
    assume: str | Sequence[str] = (),
) -> Cost:
    r"""Return the cost of a program.

    ``program`` is a path, or the text of a program; a string with a line break is text, and so is a string
    with ``=`` that is not the name of a file.  ``dims`` gives lengths by name, ``shapes`` the shapes of
    inputs of any rank, ``attrs`` the values of attributes and static inputs, and ``assume`` assumptions about
    lengths.  A program that cannot be analysed raises ``Rejected``, whose diagnostics give the reasons.

    >>> cost = analyze("tol a: R [n, k]\ny := map(a, exp(*) + 1)", dims={"k": 3})
    >>> cost.eops, cost.status
    (6*n, 'exact')
    >>> analyze("tol a: R [n]\ny := map(tol[(n + 1) / 2], a[2 * i - 1] + 1, i)", assume=["n = 2*k"]).eops
    k
    """
    source = _text_or_file(program)
    parsed = read_program(source)
    analysis, warnings = analyze_parsed(parsed, arguments(parsed.program, shapes, attrs), source.name)
    study = program_study(analysis).assuming(said_of_lengths(assume))
    given = whole_lengths(dims)
    study.check_names(given)
    return locate_study(Cost, study, given, warnings=warnings)


def _text_or_file(program: str | Path) -> Source:
    if isinstance(program, str) and (
        not program or "\n" in program or ("=" in program and not Path(program).exists())
    ):
        return Source("<text>", program)
    return program_source(program)


def load_model(
    path: str | Path,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    specs: Sequence[str | Path] = (),
    assume: str | Sequence[str] = (),
) -> Cost:
    """Return the cost of an ONNX model, in its free dimensions.

    ``dims`` gives lengths by name or as ``input[axis]``, ``shapes`` the shapes of inputs in names, numbers
    and forms, ``specs`` folders of operators, searched first, and ``assume`` assumptions about lengths.  A
    model that cannot be read, or lengths that it does not allow, raise ``Rejected``.

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
    >>> cost(batch=8).eops, cost.by("op").eops.tolist()
    (64, [4*batch, 4*batch])
    """
    session, wanted = Session(open_library(specs)), _wanted(dims, shapes, assume)
    file = _file(path)
    return with_deep_stack(lambda: file_cost(file, session, wanted))


def _file(path: object) -> Path:
    """Return the path of a model; for a model object, the error names the function that takes it."""
    if isinstance(path, (str, PathLike)):
        return Path(path)
    message = f"an object of type {quoted(type(path).__name__)} is not the path of a model"
    refuse("T0673", message, hint="`tolcost.from_onnx` takes a model in memory")


def from_onnx(
    model: bytes | ModelProto,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    specs: Sequence[str | Path] = (),
    name: str = "model",
    assume: str | Sequence[str] = (),
) -> Cost:
    """Return the cost of a model in memory: the bytes of a file, or a ``ModelProto`` of onnx.

    >>> from onnx.parser import parse_model
    >>> text = '<ir_version: 10, opset_import: [""]> g (float[n, 4] x) => (float[n, 4] y) { y = Exp(x) }'
    >>> from_onnx(parse_model(text.replace('[""]', '["" : 18]'))).eops
    4*n
    """
    raw = model if isinstance(model, bytes) else as_bytes(model)
    session, wanted = Session(open_library(specs)), _wanted(dims, shapes, assume)
    return with_deep_stack(lambda: model_cost(model_in(raw, name, name), name, session, wanted))


def symbols(names: str) -> Any:
    r"""Return sympy symbols with the assumptions of lengths: a single one, or a tuple of several.

    A length is ``Symbol(name, integer=True, positive=True)``.  To sympy, a symbol without these assumptions
    is another one, which occurs in no closed form: limits and derivatives in it ignore the length.

    >>> n, k = symbols("n k")
    >>> cost = analyze("tol a: R [n, k]\ny := map(a, exp(*))")
    >>> cost.eops.diff(n), cost.eops.diff("n")
    (k, 0)
    """
    from tolcost.algebra.sympy_form import length_symbols

    return length_symbols(names)


def generate(
    cost: Cost | str | Path, runs: str, prefill: str | None = None, other: Cost | None = None
) -> Cost:
    """Return the total cost of the runs of a model in which a length grows by one: ``past: 0..n`` is n runs.

    ``prefill`` adds a run before these, at a length such as ``seq=p``: a run of the same model, in which the
    growing length is 0, or of the ``other`` model if it is given.

    >>> from onnx.parser import parse_model
    >>> head = '<ir_version: 10, opset_import: ["" : 18]> g (float[past, 4] c, float[1, 4] x) => (float y)'
    >>> body = "{ k = Concat <axis = 0> (c, x) s = ReduceSum <keepdims = 0> (k) y = Exp(s) }"
    >>> cost = from_onnx(parse_model(head + body))
    >>> cost.eops, generate(cost, "past: 0..n").eops
    (4*past + 5, 2*n**2 + 3*n)
    """
    return with_deep_stack(lambda: generated(_cost_of(cost), runs, prefill, other))


def _wanted(
    dims: Mapping[str, int] | None,
    shapes: Mapping[str, Sequence[int | str]] | None,
    assume: str | Sequence[str],
) -> Wanted:
    found = {name: _asked_shape(name, shape) for name, shape in (shapes or {}).items()}
    return Wanted(whole_lengths(dims), found, assume=said_of_lengths(assume))


def _asked_shape(name: str, shape: Sequence[int | str]) -> tuple[int | str, ...]:
    """Check a shape, and refuse a single text, which as a sequence would name a length by each letter."""
    try:
        if isinstance(shape, str):
            raise TypeError
        return tuple(one if isinstance(one, str) else index(one) for one in shape)
    except TypeError:
        hint = "a shape is several names, numbers and forms: ('n', 3, '32*h')"
        message = f"{quoted(repr(shape))} is no shape of {quoted(name)}"
        raise Rejected(Diagnostic("T0693", message, hint=hint)) from None


def operator(
    name: str,
    rank: int = 2,
    shapes: PlainShapes | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
    specs: Sequence[str | Path] = (),
) -> Cost:
    """Return the cost of an ONNX operator, by its definition.

    Without ``shapes``, every length is a symbol, and ``rank`` is the rank of inputs for which the definition
    allows any rank.  ``attrs`` are attributes and static inputs.  A name may include its domain, as in
    ``com.microsoft.FusedMatMul``; ``specs`` are folders of definitions, which are searched first.

    >>> operator("Softmax").eops
    5*input_1*input_2
    >>> operator("Gemm", shapes={"A": ("n", "k"), "B": ("k", "m")}).macs
    k*m*n
    """
    return with_deep_stack(lambda: _operator_cost(name, rank, shapes, attrs, specs))


def diff(old: Cost | str | Path, new: Cost | str | Path) -> CostComparison:
    r"""Compare the costs of two programs or two models, for all lengths, by a proof or by a witness.

    Each of them is a cost, a path, or the text of a program.

    >>> found = diff("tol x: R [n]\ny := map(x, exp(*))", "tol a: R [m]\nb := map(a, exp(*) + 1)")
    >>> found.verdict, found.notes
    ('costlier', ('the length `n` is now `m`',))
    """
    return compare(_cost_of(old), _cost_of(new), identical=old == new)


def sweep(
    subject: Cost | str | Path,
    lengths: Mapping[str, int | str | Sequence[int]] | None = None,
    /,
    metrics: str | Sequence[str] = keys_in("columns"),
    **dims: int | str | Sequence[int],
) -> pandas.DataFrame:
    r"""Return a pandas frame of figures, with a row for every combination of lengths.

    A length is a number, a sequence of numbers, or a text such as ``"128..4096"``, which starts at 128 and
    doubles.  Where a condition does not hold, a row has no figures, and a column ``outside`` states the
    condition.  If figures are bounds, a column ``status`` states which.

    >>> cost = analyze("tol x: R [n, k]\ny := map(x, exp(*))")
    >>> print(sweep(cost, n="2..8", k=[1, 10], metrics=["eops"]).to_string(index=False))
     n  k  eops
     2  1     2
     2 10    20
     4  1     4
     4 10    40
     8  1     8
     8 10    80
    """
    from tolcost.result.frames import frame_at

    cost = _cost_of(subject)
    metrics = (metrics,) if isinstance(metrics, str) else metrics
    given = {name: _listed(name, values) for name, values in {**(lengths or {}), **dims}.items()}
    for metric in metrics:
        if metric not in cost.forms:
            hint = f"there are {', '.join(cost.forms)}"
            refuse("T0412", f"there is no figure {quoted(metric)}", hint=hint)
    rows = list(zip(*product(*given.values()), strict=True)) or [()] * len(given)
    points = many_points(cost, dict(zip(given, rows, strict=True)), cost.at)
    frame = frame_at(points, cost.forms, metrics)
    return frame.assign(status=cost.status) if cost.status in FROM_ABOVE | INCOMPLETE else frame


def _listed(name: str, values: int | str | Sequence[int]) -> Sequence[int]:
    if isinstance(values, str):
        return read_values(values, name)
    several = isinstance(values, Iterable) and getattr(values, "shape", None) != ()
    return values if several else [values]  # type: ignore[list-item, return-value]  # checked where they are put in


def _cost_of(subject: Cost | str | Path) -> Cost:
    if isinstance(subject, Cost):
        return subject
    return load_model(subject) if str(subject).endswith(".onnx") else analyze(subject)


def _operator_cost(
    name: str,
    rank: int,
    shapes: PlainShapes | None,
    attrs: Mapping[str, PlainValue] | None,
    specs: Sequence[str | Path],
) -> Cost:
    """Return the cost of an operator for tensors of a rank, or for given shapes and attributes."""
    if not isinstance(name, str):
        raise TypeError(f"an operator is told by its name, not as {name!r}")
    library = open_library(specs)
    entry = entries(library, [name])[0]
    if entry.spec is None:
        refuse("T0661", f"{quoted(entry.title)} has no definition: {entry.about}")
    if shapes or attrs:
        lowered = _as_given(entry.spec, library, shapes, attrs)
    else:
        lowered = _of_rank(entry, entry.spec, library, rank)
    return locate_study(Cost, program_study(analyze_lowered(lowered, entry.spec.source.name)))


def _as_given(
    spec: Spec,
    library: Library,
    shapes: PlainShapes | None,
    attrs: Mapping[str, PlainValue] | None,
) -> Elaborated:
    lowered = library.lowered(spec, arguments(spec.program, shapes, attrs), 1)
    verify(lowered.program)
    return lowered


def _of_rank(entry: Entry, spec: Spec, library: Library, rank: int) -> Elaborated:
    if rank < 0:
        refuse("T0667", f"a rank is 0 or more, not {rank}")
    stored = stored_conformance()
    record = RecordedTests(None if stored is None else conformance_of(stored))
    form = forms_by_rank(spec, library, record.of(entry), (rank,))[0]
    if isinstance(form, RankForm) and form.lowered is not None:
        return form.lowered
    reason = "it needs values that only a node has" if isinstance(form, RankForm) else form.reason
    message = f"{quoted(entry.title)} has no form for {rank} open lengths: {reason}"
    refuse("T0667", message, hint="give `shapes` and `attrs`")
