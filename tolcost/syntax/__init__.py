"""Reading ToLang: grammar, tree, parser, names, formatter."""

from tolcost.syntax.format import format_program
from tolcost.syntax.parser import parse
from tolcost.syntax.reading import read_source
from tolcost.syntax.resolve import resolve
from tolcost.syntax.scopes import Signature, operator_signature, signatures

__all__ = [
    "Signature",
    "format_program",
    "operator_signature",
    "parse",
    "read_source",
    "resolve",
    "signatures",
]
