"""Reading ToLang: grammar, tree, parser, names, formatter."""

from tolcost.syntax.names import Occurrences, Signature, occurrences, operator_signature, resolve, signatures
from tolcost.syntax.parser import parse
from tolcost.syntax.tree import read_source
