"""Parses every case by every interface in a process whose zone is TZ: form field, API, command line.

Run as `python -m tests.web.every_route` with cases and settings as JSON on standard input; prints one result a case.
"""

import json
import sys
import time
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from click.testing import CliRunner
from flask import Flask, render_template
from flask.testing import FlaskClient
from werkzeug.datastructures import MultiDict

from snoozer.cli.when import command
from snoozer.db.engine import make_engine
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.snoozes.forms import SnoozeForm, read_submission
from snoozer.web.text.time_format import TimeFormatter

Case = dict[str, Any]


def by_command(case: Case, phrase: str) -> dict[str, Any]:
    """`snoozer when PHRASE --json`, with its exit code."""
    options = ["--now", case["now"], "--zone", case["zone"], "--locale", case["locale"], "--json"]
    result = CliRunner().invoke(command, [phrase, *options])
    output: dict[str, Any] = json.loads(result.stdout)
    return output | {"exit": result.exit_code}


def by_api(client: FlaskClient, bearer: dict[str, str], case: Case) -> dict[str, Any]:
    """`GET /api/v1/when`, with its status."""
    query = {name: case[name] for name in ("phrase", "now", "zone", "locale")}
    response = client.get(f"/api/v1/when?{urlencode(query)}", headers=bearer)
    body: dict[str, Any] = response.get_json()
    return body | {"status": response.status_code, "type": response.mimetype}


def by_field(app: Flask, case: Case) -> dict[str, Any]:
    """The snooze form with the phrase, and the piece of page that shows its reading."""
    now = datetime.fromisoformat(case["now"]).replace(tzinfo=ZoneInfo(case["zone"]))
    times = TimeFormatter(now=now, zone=case["zone"], locale=case["locale"])
    form = read_submission(MultiDict({"phrase": case["phrase"], "act": "read"}), times=times)
    assert isinstance(form, SnoozeForm)
    with app.test_request_context("/"):
        shown = unescape(render_template("snoozes/reading.html", form=form, times=times))
    error = form.error
    reading = form.reading
    return {
        "error": error.code if error else None,
        "at": reading.at.isoformat() if reading and reading.at else None,
        "flags": list(reading.flags) if reading else [],
        "alternative": reading.alternative.isoformat() if reading and reading.alternative else None,
        "shown": (reading.sentence if reading else error.message if error else "") in shown,
        "kept": form.phrase,
        "status": form.status,
    }


def main() -> None:
    """Reads standard input and prints the results."""
    given = json.load(sys.stdin)
    settings = Settings(
        DATABASE_URL=given["url"],
        SECRET_KEY="a-test-key-of-enough-length",
        BASE_URL="http://snoozer.example",
        SMTP_URL="smtp://127.0.0.1:9",
        MAIL_FROM="Snoozer <snoozer@snoozer.example>",
        SNOOZER_HOME=Path(given["home"]),
    )
    engine = make_engine(given["url"], name="tests", pool_size=1)
    app = create_app(engine=engine, settings=settings)
    client = app.test_client()
    results = [
        {
            "command": by_command(case, case["phrase"]),
            "address": by_command(case, case["phrase"].replace(" ", "")),
            "api": by_api(client, given["bearer"], case),
            "field": by_field(app, case),
        }
        for case in given["cases"]
    ]
    engine.dispose()
    json.dump({"zone": time.tzname[0], "results": results}, sys.stdout)


if __name__ == "__main__":
    main()
