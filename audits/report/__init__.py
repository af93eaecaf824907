"""The report: one HTML page with all results, which loads nothing and opens from disk."""

from audits.report.gather import Contents, gather
from audits.report.page import render

__all__ = ["Contents", "gather", "render"]
