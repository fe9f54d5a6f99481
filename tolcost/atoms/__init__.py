"""The atomic IR: its nodes, and the traversals, checks, printer and unrolling over them."""
