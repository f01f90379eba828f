"""Real IMAP servers, each started once a run."""

import ssl
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from snoozer.settings import Settings
from tests.conftest import missing
from tests.factories import People
from tests.imap import cyrus, dovecot
from tests.imap.certificates import Authority
from tests.imap.mailboxes import Mailbox, MailServer
from tests.imap.watched import Place, watched

BOTH = [
    pytest.param("dovecot", marks=pytest.mark.dovecot),
    pytest.param("cyrus", marks=pytest.mark.cyrus),
]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def trusting_tls(authority: Authority) -> ssl.SSLContext:
    """A client's TLS that trusts the authority of the tests alone."""
    return ssl.create_default_context(cafile=str(authority.certificate))


@pytest.fixture(scope="session")
def dovecot_server(authority: Authority, trusting_tls: ssl.SSLContext) -> Iterator[MailServer]:
    """Maildir, whose names have "." between levels."""
    _require_dovecot()
    with dovecot.running(tls=authority.issue("localhost")) as running:
        yield MailServer("dovecot", running.imap_port, running.imaps_port, trusting_tls)


@pytest.fixture(scope="session")
def slash_server(authority: Authority, trusting_tls: ssl.SSLContext) -> Iterator[MailServer]:
    """A Dovecot with "/" between levels, and room for four messages."""
    _require_dovecot()
    with dovecot.running(tls=authority.issue("localhost"), separator="/", max_messages=4) as running:
        yield MailServer("dovecot /", running.imap_port, running.imaps_port, trusting_tls)


@pytest.fixture(scope="session")
def cyrus_server(authority: Authority, trusting_tls: ssl.SSLContext) -> Iterator[MailServer]:
    """Everything lies below `INBOX.`"""
    if not cyrus.is_installed():
        missing("cyrus-imapd")
    with cyrus.running(tls=authority.issue("localhost")) as running:
        yield MailServer("cyrus", running.imap_port, running.imaps_port, trusting_tls)


@pytest.fixture
def mail_server(request: pytest.FixtureRequest) -> MailServer:
    """Dovecot, or each server if the test is parametrised with BOTH."""
    server: MailServer = request.getfixturevalue(f"{getattr(request, 'param', 'dovecot')}_server")
    return server


@pytest.fixture
def place(engine: Engine, settings: Settings, people: People, mail_server: MailServer) -> Iterator[Place]:
    """Ann's mailbox, connected and not watched yet."""
    user, prefix = mail_server.mailbox().user, "INBOX." if mail_server.name == "cyrus" else ""
    with watched(engine, settings, people.ann(), port=mail_server.port, username=user, prefix=prefix) as place:
        yield place


@pytest.fixture
def mailbox(mail_server: MailServer) -> Mailbox:
    """Of a person of their own, empty."""
    return mail_server.mailbox()


def _require_dovecot() -> None:
    if not dovecot.is_installed():
        missing("dovecot-imapd")
