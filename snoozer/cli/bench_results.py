"""One's own measurements for `snoozer plan`: what `python -m bench … --json` has written."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snoozer.cli.capacity import Figures, fitted
from snoozer.settings import SettingsError

# Of a run, what it changes about the figures; several files of one run are fitted together.
Read = Callable[[Figures, Sequence[Any]], Figures]


def read(paths: Sequence[Path], figures: Figures) -> Figures:
    """These figures, with what the files say instead where they say it. Raises SettingsRefused."""
    reports: dict[str, list[Any]] = {}
    for path in paths:
        report = _load(path)
        reports.setdefault(report["run"], []).append(report)
    for run, told in reports.items():
        try:
            figures = _RUNS[run](figures, told)
        except (KeyError, ValueError, TypeError, IndexError, ZeroDivisionError, AttributeError):
            raise SettingsError(f"The figures of `bench {run}` are not whole; measure again") from None
    return figures


def _load(path: Path) -> Any:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        known = report["run"] in _RUNS
    except (OSError, ValueError, TypeError, KeyError):
        known = False
    if not known:
        runs = ", ".join(_RUNS)
        raise SettingsError(f"{path} holds no figures; write them with: python -m bench RUN --json FILE (RUN: {runs})")
    return report


def _drained(figures: Figures, reports: Sequence[Any]) -> Figures:
    """How fast a worker is and what the server spends, by batches of each size."""
    sizes = [int(one["load"]["batch"]) for one in reports]
    told = [one["snoozer"] for one in reports]
    took = [size * one["load"]["processes"] / one["snoozer"]["rate"] for size, one in zip(sizes, reports, strict=True)]
    spent = [size * one["server_cpu_ms"] / 1000 for size, one in zip(sizes, told, strict=True)]
    batch, each = fitted(dict(zip(sizes, took, strict=True)))
    server_batch, server_each = fitted(dict(zip(sizes, spent, strict=True)))
    return replace(
        figures,
        batch_seconds=batch,
        reminder_seconds=each,
        worker_cpu_seconds=_mean([one["cpu_ms"] for one in told]) / 1000,
        server_batch_seconds=server_batch,
        server_reminder_seconds=server_each,
        wal_bytes=_mean([one["wal_bytes"] for one in told]),
    )


def _grown(figures: Figures, reports: Sequence[Any]) -> Figures:
    """How many bytes a row that waits has, and one that is over, and what both write besides."""
    largest = max(reports[-1]["claims"], key=lambda one: one["future"])
    figures = replace(figures, asleep_bytes=(largest["table_bytes"] + largest["index_bytes"]) / largest["future"])
    archive = reports[-1]["archive"]
    if archive is None:
        return figures
    archived = sum(
        (one["table_bytes"] + one["index_bytes"]) / archive["reminders"]
        for one in archive["stored"]
        if one["name"].endswith("_archive")
    )
    return replace(
        figures,
        archived_bytes=archived,
        over_bytes=archive["over_bytes"],
        other_wal_bytes=largest["insert_wal_bytes"] + archive["wal_bytes"],
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_RUNS: dict[str, Read] = {"drain": _drained, "growth": _grown}
