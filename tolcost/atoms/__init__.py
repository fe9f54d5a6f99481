"""The atomic IR: nodes, and ways to walk, check, print and unroll them."""
