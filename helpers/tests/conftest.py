"""What the whole test run reports beside its counts."""

from pathlib import Path

from helpers.tools.habits import exempt_cells

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def pytest_terminal_summary(terminalreporter):
    """Cells that replay did not compare, and and what tests noted for the summary."""
    stats = terminalreporter.stats.values()
    reports = [report for found in stats for report in found if hasattr(report, "nodeid")]
    if any(".ipynb::" in report.nodeid for report in reports):
        _section(terminalreporter, "cells that replay does not compare", exempt_cells(NOTEBOOKS))
    for key, title in (
        ("replay cost", "CPU of a replay, over importing and one picture"),
        ("explorer", "explorers: what a move takes"),
        ("too tall", "code cells that a lecture has to scroll"),
    ):
        noted = {
            value
            for report in reports
            if getattr(report, "when", "") == "call"
            for name, value in getattr(report, "user_properties", ())
            if name == key
        }
        _section(terminalreporter, title, sorted(noted))


def _section(terminalreporter, title, lines):
    if lines:
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)
