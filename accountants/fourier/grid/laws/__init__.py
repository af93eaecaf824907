"""Privacy loss laws: what the grid engine asks of them, and those that there are."""
