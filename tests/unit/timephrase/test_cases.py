"""The time cases of the contract (rules: docs/times.md), with exact instants, flags and alternatives."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from snoozer.timephrase.parse import parse
from snoozer.timephrase.recurrence import next_occurrence
from snoozer.timephrase.result import ParsedTime, ParseError

CASES = Path(__file__).with_name("cases.json")
CHECKOUT = Path(__file__).resolve().parents[3]

_EVERY_RESULT = """
import json, sys
from datetime import datetime
from zoneinfo import ZoneInfo
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError
results = []
for case in json.load(sys.stdin):
    now = datetime.fromisoformat(case["now"]).replace(tzinfo=ZoneInfo(case["zone"]))
    try:
        results.append(parse(case["phrase"], now=now, zone=case["zone"], locale=case["locale"]).as_json())
    except ParseError as error:
        results.append(error.as_json())
print(json.dumps(results))
"""


def _cases() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(CASES.read_text())
    return loaded


def _parse_case(case: dict[str, Any], phrase: str) -> ParsedTime:
    now = datetime.fromisoformat(case["now"]).replace(tzinfo=ZoneInfo(case["zone"]))
    return parse(phrase, now=now, zone=case["zone"], locale=case["locale"])


def _result(case: dict[str, Any], phrase: str) -> tuple[object, ...]:
    try:
        parsed = _parse_case(case, phrase)
    except ParseError as error:
        return ("error", error.code)
    return (parsed.kind, parsed.at and parsed.at.isoformat(), list(parsed.flags), parsed.alternative)


def _expected(case: dict[str, Any]) -> tuple[object, ...]:
    if case["kind"] == "error":
        return ("error", case["expected"])
    at = None if case["expected"] == "null" else case["expected"]
    alternative = datetime.fromisoformat(case["alternative"]) if "alternative" in case else None
    return (case["kind"], at, case["flags"], alternative)


def test_the_cases_are_complete() -> None:
    assert len(_cases()) == 88


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case['id']}-{case['phrase'] or 'nothing'}")
def test_a_phrase_gives_the_result_of_its_case(case: dict[str, Any]) -> None:
    assert _result(case, case["phrase"]) == _expected(case)


@pytest.mark.parametrize("case", _cases(), ids=lambda case: f"{case['id']}-{case['phrase'] or 'nothing'}")
def test_an_address_means_the_same_as_the_phrase(case: dict[str, Any]) -> None:
    assert _result(case, case["phrase"].replace(" ", "")) == _expected(case)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_the_zone_of_the_server_changes_nothing(zone: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", _EVERY_RESULT],
        input=CASES.read_text(),
        env={**os.environ, "TZ": zone, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=True,
    )
    for case, result in zip(_cases(), json.loads(finished.stdout), strict=True):
        expected = None if case["expected"] == "null" else case["expected"]
        assert result.get("error", result.get("at")) == expected, case["phrase"]


@pytest.mark.parametrize(
    ("phrase", "now", "then"),
    [
        ("every weekday 9am", "2026-03-05T10:20", ["2026-03-06T09:00-05:00", "2026-03-09T09:00-04:00"]),
        ("every 2 weeks on tuesday 14:00", "2026-03-05T10:20", ["2026-03-10T14:00-04:00", "2026-03-24T14:00-04:00"]),
        (
            "every month on the 31st",
            "2026-03-05T10:20",
            ["2026-03-31T08:00-04:00", "2026-04-30T08:00-04:00", "2026-05-31T08:00-04:00"],
        ),
        ("every month on the 31st", "2026-01-31T09:00", ["2026-02-28T08:00-05:00", "2026-03-31T08:00-04:00"]),
        (
            "daily at 1:30am",
            "2026-10-30T16:40",
            ["2026-10-31T01:30-04:00", "2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
        ),
    ],
)
def test_occurrences_after_the_first_are_those_of_the_notes(phrase: str, now: str, then: list[str]) -> None:
    zone = "America/New_York"
    after = datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(zone))
    recurrence = parse(phrase, now=after, zone=zone).recurrence
    assert recurrence is not None
    for expected in map(datetime.fromisoformat, then):
        found = next_occurrence(recurrence, after=after, zone=zone)
        assert found is not None
        assert (found, found.utcoffset()) == (expected, expected.utcoffset())
        after = found
