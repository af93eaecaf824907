"""Partitioned variational inference. Knows nothing of privacy."""
