"""Compositions of plain and Poisson-sampled Gaussians, by an integral in the complex plane."""
