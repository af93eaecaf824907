"""Mechanisms in processes that do not trust each other."""
