"""Mechanisms around the PVI engine, each release with the event that accounts for it."""
