"""A mailbox connected through gunicorn: neither its log nor its telemetry holds the password or the user name."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tests.factories import People
from tests.imap.connect_form import post
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import MailServer
from tests.otlp import collect_telemetry
from tests.web.live_site import live_site

pytestmark = pytest.mark.dovecot

USER = "canary4711@mail.example"
# With which a provider leads back to a sign-in.
CODE, STATE = "code-of-a-sign-in", "state-of-a-sign-in"


def test_no_log_and_no_trace_of_a_process_holds_a_password(
    postgres_url: str, tmp_path: Path, engine: Engine, people: People, dovecot_server: MailServer
) -> None:
    session, wrong = people.ann().session, "not-the-password"
    with collect_telemetry() as collector:
        variables = {"SNOOZER_ALLOW_PRIVATE_MAILBOXES": "1", **collector.settings}
        with live_site(postgres_url, tmp_path, **variables) as site:
            for password, status in ((wrong, 422), (PASSWORD, 303)):
                fields = {"address": USER, "host": "127.0.0.1", "port": str(dovecot_server.port), "security": "plain"}
                assert post(site, session, {**fields, "username": USER, "password": password}) == status
            back = f"/settings/mailboxes/sign-in?code={CODE}&state={STATE}"
            assert site.request(back, cookie=f"snoozer_session={session}")[0] == 422
            log = site.log
        assert any("POST /settings/mailboxes/connect" in span.name for span in collector.spans())
        assert any("GET /settings/mailboxes/sign-in" in span.name for span in collector.spans())
        for secret in (wrong, PASSWORD, USER, CODE, STATE):
            assert secret.encode() not in collector.everything
            assert secret not in log.read_text()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT username FROM mailboxes")).scalar_one() == USER
