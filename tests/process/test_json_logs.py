"""With SNOOZER_LOG_FORMAT=json every process writes one object a line, and nothing else."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from tests.factories import a_snooze
from tests.otlp import collect_telemetry
from tests.process.conftest import TIMEOUT, Field
from tests.web.live_site import live_site

JSON = {"SNOOZER_LOG_FORMAT": "json"}
ALWAYS = {"time", "level", "logger", "message", "process"}


def parsed(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    assert all(line.keys() >= ALWAYS for line in found), found
    return found


def test_a_worker_that_fails_to_deliver_and_its_supervisor(place: Field) -> None:
    a_snooze(place.engine, message_id="<broken@mail.example>", recurrence={"unit": "nonsense"})
    ended = place.run("worker", "--drain", "--processes", "2", BASE_URL="", SNOOZER_METRICS_PORT="21500", **JSON)
    assert ended.returncode == 0, ended.stderr
    found = parsed(ended.stderr)
    assert {line["process"] for line in found} == {"worker"}
    assert len({line.get("worker") for line in found if "recurrence" in line["message"]} - {None}) == 1
    assert any("metrics are served on" in line["message"] for line in found)


def test_the_clock_inbound_and_mailbox(place: Field) -> None:
    settings = JSON | {"SNOOZER_METRICS_PORT": "21600", "SNOOZER_INBOUND_PORT": "21700"}
    started = {name: place.start(name, **settings) for name in ("clock", "inbound", "mailbox")}
    for name, process in started.items():
        assert process.stderr is not None
        assert parsed(process.stderr.readline())[0]["process"] == name
        process.terminate()
        _, rest = process.communicate(timeout=TIMEOUT)
        parsed(rest)
        assert process.returncode == 0


def test_the_web_with_its_security_log_and_gunicorn(postgres_url: str, tmp_path: Path, engine: Engine) -> None:
    with collect_telemetry() as collector:
        variables = JSON | {"BASE_URL": ""} | dict(collector.settings)
        with live_site(postgres_url, tmp_path, **variables) as site:
            refused = site.request("/api/v1/snoozes", authorization="Bearer canary4711", host="127.0.0.1:8000")
            assert refused[0] == 401
            assert "400" in site.send(b"GET / HTTP/1.1\r\nmalformed\r\n\r\n")
        spans = {span.trace_id.hex() for span in collector.spans()}
    found = parsed(site.log.read_text())
    assert {line["process"] for line in found} == {"web"}
    events = [line for line in found if line["logger"] == "snoozer.security"]
    assert [(event["message"], list(event["facts"])) for event in events] == [("token_refused", ["network"])]
    assert events[0]["trace_id"] in spans
    assert any("BASE_URL is not set" in line["message"] for line in found)
    assert any(line["logger"] == "gunicorn.error" and "refused" in line["message"] for line in found)
    assert "canary4711" not in site.log.read_text()
