"""Lower bounds of ε from samples of fixed size, from the noise itself, and from one run."""
