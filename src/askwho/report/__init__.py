"""The report: one HTML file that shows what a policy saves, and its figures (matplotlib)."""

from askwho.report._write import Report, write_report

__all__ = ["Report", "write_report"]
