"""A plug-in for pytest that writes the outcome of each test to the file OUTCOMES, as JSON.

A test that has used our store says so with `note_store`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_outcomes: dict[str, dict[str, Any]] = {}
_used = False


def note_store() -> None:
    global _used
    _used = True


def pytest_runtest_setup(item: pytest.Item) -> None:
    global _used
    _used = False


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    outcome = _outcomes.setdefault(report.nodeid, {"outcome": "passed", "stored": False, "error": ""})
    outcome["stored"] = outcome["stored"] or _used
    if not report.passed:
        outcome["outcome"] = report.outcome
        outcome["error"] = _last_line(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _outcomes[report.nodeid] = {"outcome": "failed", "stored": True, "error": str(report.longrepr)}


def pytest_sessionfinish() -> None:
    Path(os.environ["OUTCOMES"]).write_text(json.dumps(_outcomes))


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr)
