"""Privacy accountants: what a release costs, as a certified interval for ε(δ)."""
