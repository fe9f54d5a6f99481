"""What an analysis came to: figures, groups, conditions, status, point; and two of them compared."""
