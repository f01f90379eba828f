"""A process imports no library that it does not use: imports take most of the time of a start."""

import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.process.conftest import ROOT, TIMEOUT, Field

_IMPORTED = re.compile(r"^import time: [^|]*\|[^|]*\| *(\S+)$", re.MULTILINE)

# Without an endpoint for telemetry, and without sign-in at an organisation's provider.
EXPORTS = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.instrumentation")
ORM = ("sqlalchemy.orm", "snoozer.db.models")
WEB = ("flask", "werkzeug", "spectree", "wtforms", "snoozer.web")
MAILBOXES = ("imapclient", "authlib", "joserfc", "dns", "defusedxml", "nh3")
FILES = ("icalendar", "babel", "rich", "alembic", "aiosmtpd", "snoozer.client")

COMMANDS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("worker", "--drain"): (*EXPORTS, *ORM, *WEB, *MAILBOXES, *FILES, "apscheduler", "urllib3"),
    ("clock", "--once"): (*EXPORTS, *ORM, *WEB, *MAILBOXES, *FILES, "jinja2", "cryptography", "urllib3"),
    ("--help",): ("sqlalchemy", "psycopg", "pydantic", "opentelemetry", "snoozer.settings", *WEB, *MAILBOXES, *FILES),
    ("when", "tomorrow 9am"): ("sqlalchemy", "psycopg", "pydantic", "opentelemetry", "snoozer.settings", *WEB, *FILES),
    ("mcp", "--help"): ("mcp", "uvicorn", "sqlalchemy", "psycopg", *EXPORTS, *WEB, *MAILBOXES, "cryptography"),
    ("list", "--help"): ("sqlalchemy", "psycopg", *EXPORTS, *WEB, *MAILBOXES, "jinja2", "cryptography"),
}
SITE = (*EXPORTS, "joserfc", "snoozer.people.oidc.provider", "dns", "alembic", "rich", "snoozer.client", "aiosmtpd")
_SITE = "from snoozer.web import from_environment; from_environment().test_client().get('/healthz')"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_imports_nothing_that_it_does_not_use(place: Field, command: tuple[str, ...]) -> None:
    assert _found(_imported(place, "-m", "snoozer", *command), COMMANDS[command]) == []


def test_the_site_imports_no_library_of_a_feature_that_is_off(place: Field) -> None:
    assert _found(_imported(place, "-c", _SITE), SITE) == []


def test_the_site_imports_before_its_first_request_what_requests_need(place: Field) -> None:
    """Otherwise each process of gunicorn would import it again, and let a person wait for it."""
    used = _imported(place, "-c", "import snoozer.web")
    assert {"sqlalchemy.orm", "snoozer.timephrase.parse", "spectree", "imapclient", "cryptography.fernet"} <= used


def _imported(place: Field, *arguments: str) -> set[str]:
    """The names of all modules that such a process has imported by its end."""
    run = [sys.executable, "-X", "importtime", *arguments]
    ended = subprocess.run(
        run, env=place.environment, cwd=ROOT, capture_output=True, text=True, check=True, timeout=TIMEOUT
    )
    return set(_IMPORTED.findall(ended.stderr))


def _found(imported: set[str], unused: tuple[str, ...]) -> list[str]:
    assert "snoozer" in imported
    return sorted(name for name in unused if name in imported)
