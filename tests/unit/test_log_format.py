"""The lines of a log: as JSON one object each, with the ids of a trace, and never the text of an exception."""

import json
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from snoozer.telemetry import log_format, security_log
from snoozer.telemetry.configuration import LogFormat

CANARY = "canary4711"


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The handlers, levels and hooks of this process are as before, afterwards."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    level = root.level
    yield
    root.setLevel(level)
    logging.captureWarnings(False)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_is_an_object_whatever_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    log_format.configure("json", process="worker", worker="host-1-0123abcd")
    logging.getLogger("snoozer.delivery").warning('%d mails:\n"late" \u2028 %s', 2, "ü\x00")
    logging.getLogger("snoozer.delivery").debug("not shown")
    [line] = lines(capsys)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "snoozer.delivery",
        "message": '2 mails:\n"late" \u2028 ü\x00',
        "process": "worker",
        "worker": "host-1-0123abcd",
    }


def test_a_line_within_a_span_has_its_ids(capsys: pytest.CaptureFixture[str]) -> None:
    log_format.configure("json", process="web")
    with TracerProvider().get_tracer("tests").start_as_current_span("request") as span:
        logging.getLogger("snoozer.web").error("within")
    logging.getLogger("snoozer.web").error("outside")
    within, outside = lines(capsys)
    context = span.get_span_context()
    assert (within["trace_id"], within["span_id"]) == (f"{context.trace_id:032x}", f"{context.span_id:016x}")
    assert not {"trace_id", "span_id"} & outside.keys()


def test_an_event_of_the_security_log_states_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    log_format.configure("json", process="web", level=logging.WARNING)
    security_log.record("code_refused", network="0f3a", account=None)
    log_format.configure("text", process="web", level=logging.WARNING)
    security_log.record("code_refused", network="0f3a", account=None)
    first, second = capsys.readouterr().err.splitlines()
    line = json.loads(first)
    assert (line["logger"], line["message"], line["facts"]) == ("snoozer.security", "code_refused", {"network": "0f3a"})
    assert second.endswith(" snoozer.security: code_refused network=0f3a")


@pytest.mark.parametrize("style", ["text", "json"])
def test_the_text_of_an_exception_is_not_logged(style: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    log_format.configure(style, process="web")
    try:
        try:
            raise KeyError(CANARY)
        except KeyError:
            raise ValueError(CANARY) from None
    except ValueError:
        logging.getLogger("snoozer.web").exception("it broke")
    out = capsys.readouterr().err
    assert "ValueError" in out
    assert "test_log_format.py" in out
    assert CANARY not in out.replace("raise KeyError(CANARY)", "")


def test_what_ends_a_thread_or_the_process_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ValueError(CANARY)

    log_format.configure("json", process="clock")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    sys.excepthook(ValueError, ValueError(CANARY), None)
    found = lines(capsys)
    assert [(line["level"], line["error_class"]) for line in found] == [("critical", "ValueError")] * 2
    assert CANARY not in json.dumps(found)
