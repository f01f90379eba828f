"""Every typed case through every door, in a process whose zone is TZ: the field, the API, the command line.

Run as `python -m tests.web.doors` with cases and settings as JSON on standard input; answers one object a case.
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
    """`snoozer when PHRASE --json`, and the code it leaves with."""
    desk = ["--now", case["now"], "--zone", case["zone"], "--locale", case["locale"], "--json"]
    left = CliRunner().invoke(command, [phrase, *desk])
    answer: dict[str, Any] = json.loads(left.stdout)
    return answer | {"exit": left.exit_code}


def by_api(client: FlaskClient, bearer: dict[str, str], case: Case) -> dict[str, Any]:
    """`GET /api/v1/when`, and the status it answers with."""
    query = {name: case[name] for name in ("phrase", "now", "zone", "locale")}
    got = client.get(f"/api/v1/when?{urlencode(query)}", headers=bearer)
    body: dict[str, Any] = got.get_json()
    return body | {"status": got.status_code, "type": got.mimetype}


def by_field(app: Flask, case: Case) -> dict[str, Any]:
    """The sheet's answer under its field, and the piece of page that shows it."""
    now = datetime.fromisoformat(case["now"]).replace(tzinfo=ZoneInfo(case["zone"]))
    times = TimeFormatter(now=now, zone=case["zone"], locale=case["locale"])
    asked = read_submission(MultiDict({"phrase": case["phrase"], "act": "read"}), times=times)
    assert isinstance(asked, SnoozeForm)
    with app.test_request_context("/"):
        shown = unescape(render_template("snoozes/reading.html", sheet=asked, times=times))
    refused = asked.error
    reading = asked.reading
    return {
        "error": refused.code if refused else None,
        "at": reading.at.isoformat() if reading and reading.at else None,
        "flags": list(reading.flags) if reading else [],
        "alternative": reading.alternative.isoformat() if reading and reading.alternative else None,
        "shown": (reading.sentence if reading else refused.message if refused else "") in shown,
        "kept": asked.phrase,
        "status": asked.status,
    }


def main() -> None:
    """All of them."""
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
    answers = [
        {
            "command": by_command(case, case["phrase"]),
            "address": by_command(case, case["phrase"].replace(" ", "")),
            "api": by_api(client, given["bearer"], case),
            "field": by_field(app, case),
        }
        for case in given["cases"]
    ]
    engine.dispose()
    json.dump({"zone": time.tzname[0], "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
