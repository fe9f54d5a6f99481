"""Derivatives: from a program of atoms to the program of its gradients, by reverse mode.

atoms ──flatten──▶ equations ──reverse──▶ equations of adjoints ──fuse──▶ fewer ──emit──▶ atoms
"""

from tolcost.gradient.derive import Derivative as Derivative
from tolcost.gradient.derive import GradientRequest as GradientRequest
from tolcost.gradient.derive import derivative as derivative
from tolcost.gradient.derive import derive as derive
