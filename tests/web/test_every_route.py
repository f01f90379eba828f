"""Form field, API, command line and mail address parse alike, whatever the server's zone."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.factories import People

CHECKOUT = Path(__file__).resolve().parents[2]
CASES = CHECKOUT / "tests" / "unit" / "timephrase" / "cases.json"


def _cases() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(CASES.read_text())
    return loaded


@pytest.mark.parametrize(
    ("zone", "name"), [("UTC", "UTC"), ("America/New_York", "EST"), ("Asia/Kolkata", "IST")], ids=str
)
def test_every_case_has_the_same_result_in_every_interface(
    zone: str, name: str, people: People, postgres_url: str, tmp_path: Path
) -> None:
    cases = _cases()
    given = {"cases": cases, "url": postgres_url, "home": str(tmp_path), "bearer": people.ann().bearer}
    finished = subprocess.run(
        [sys.executable, "-m", "tests.web.every_route"],
        cwd=CHECKOUT,
        env={**os.environ, "TZ": zone},
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    output = json.loads(finished.stdout)
    assert output["zone"] == name
    for case, results in zip(cases, output["results"], strict=True):
        _check(case, results)


def _check(case: dict[str, Any], results: dict[str, dict[str, Any]]) -> None:
    refused, field, api = case["kind"] == "error", results["field"], results["api"]
    for interface in ("command", "address", "api"):
        answer = results[interface]
        if refused:
            assert answer["error"] == case["expected"], (interface, case["phrase"])
            assert answer["message"]
        else:
            assert "error" not in answer, (interface, case["phrase"])
            assert answer["kind"] == case["kind"]
            assert (answer["at"], answer["flags"], answer["alternative"]) == _expected(case), (
                interface,
                case["phrase"],
            )
    assert {results["command"]["exit"], results["address"]["exit"]} == {2 if refused else 0}
    assert (api["status"], api["type"]) == (
        (422, "application/problem+json") if refused else (200, "application/json")
    ), case["phrase"]
    assert field["kept"] == case["phrase"]
    assert field["shown"], case["phrase"]
    if refused or case["expected"] == "null":
        assert field["error"] == (case["expected"] if refused else "condition")
        assert field["status"] == 422
    else:
        assert (field["at"], field["flags"], field["alternative"]) == _expected(case), case["phrase"]


def _expected(case: dict[str, Any]) -> tuple[str | None, list[str], str | None]:
    at = None if case["expected"] == "null" else case["expected"]
    alternative = case.get("alternative")
    return at, case["flags"], datetime.fromisoformat(alternative).isoformat() if alternative else None
