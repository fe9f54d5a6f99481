"""Results of an analysis: figures, groups, conditions, status and point; and comparisons of two results."""
