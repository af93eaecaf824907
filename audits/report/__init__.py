"""The report: HTML pages with all results, which load nothing and open from disk."""

from audits.report.gather import Contents, gather
from audits.report.page import render

__all__ = ["Contents", "gather", "render"]
