"""The table of a fleet as Parquet: one row for each model, sorted, the same bytes for the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from io import BytesIO
from typing import Any

from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.result.many import Summary

_DIGITS = 38
"""Of the widest decimal that Parquet has; a number with more is in the form alone."""
COLUMNS = (
    "file", "problem", "status", "nodes", "costed", "uncosted", "symbols",
    "eops", "macs", "params", "eops_at", "macs_at",
)  # fmt: skip
"""The columns, which stay as they are; new ones come behind."""


def parquet(found: Iterable[Summary]) -> bytes:
    """The file."""
    pa, write = _pyarrow()
    rows = [row_of(summary) for summary in sorted(found, key=lambda summary: summary.file)]
    text, number = pa.string(), pa.decimal128(_DIGITS, 0)
    types = {"nodes": pa.int64(), "costed": pa.int64(), "eops_at": number, "macs_at": number}
    types |= dict.fromkeys(("uncosted", "symbols"), pa.list_(text))
    schema = pa.schema([(name, types.get(name, text)) for name in COLUMNS])
    target = BytesIO()
    write(pa.Table.from_pylist(rows, schema), target, compression="zstd", store_schema=False)
    return target.getvalue()


def row_of(summary: Summary) -> dict[str, Any]:
    """A row: what a model has nothing to say of is null."""
    if summary.problem:
        return {**dict.fromkeys(COLUMNS), "file": summary.file, "problem": summary.problem}
    row = {name: getattr(summary, name) for name in COLUMNS}
    return {
        **row,
        "problem": None,
        "uncosted": list(summary.uncosted),
        "symbols": list(summary.symbols),
        "eops_at": _decimal(summary.eops_at),
        "macs_at": _decimal(summary.macs_at),
    }


def _decimal(number: int | None) -> Decimal | None:
    return None if number is None or number >= 10**_DIGITS else Decimal(number)


def check_installed() -> None:
    """Refuse before the work rather than after it."""
    _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow.parquet import write_table
    except ModuleNotFoundError:
        message = "writing Parquet needs pyarrow, which is not installed"
        raise Rejected(Diagnostic("T0006", message, hint="pip install 'tolcost[fleet]'")) from None
    return pyarrow, write_table
