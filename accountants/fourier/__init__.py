"""Fourier accountants: the law of the composed privacy loss, bounded from both sides."""
