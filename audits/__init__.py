"""Audits: is the claim true? Nothing imports this package."""
