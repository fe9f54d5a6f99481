"""A step of training of a whole model: forward, backward, and what its optimiser does.

model ──walk──▶ forward ──reverse, node by node──▶ backward ──▶ what is kept, and the peak of a step
"""
