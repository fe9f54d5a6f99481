"""What a lowered program costs: counts, weights, traffic, depth, and the derivation of it all."""

from tolcost.cost.count import Counts, FunctionCounts, Term, count, count_functions
from tolcost.cost.record import Analysis, FormRatio, NamedType, analyze_program, shipped
from tolcost.cost.span import Depths, depths
from tolcost.cost.traffic import Traffic, traffic
from tolcost.cost.weights import Weighed, Weights, load_weights, parse_weights, weigh
