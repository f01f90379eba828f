"""The sample mailbox of `snoozer up`: filled with the sample week, and connected to the owner's account, once each."""

import email
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, Row, select

from snoozer.db.models import Account, ConnectedMailbox
from snoozer.db.queries import accounts as preferences
from snoozer.dev import ports, samples
from snoozer.dev.dovecot import State
from snoozer.dev.environment import OWNER
from snoozer.dev.samples import open_engine
from snoozer.mailboxes import imap, registry
from snoozer.mailboxes.imap import Login, Server
from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.timephrase.locales import Locale

INBOX = "INBOX"


class NotReady(Exception):
    """The mailbox could not be connected; the text is one sentence."""


def connect(home: Path, settings: Settings, state: State, *, now: datetime) -> bool:
    """Fill a new mailbox and connect it. Returns whether it is connected: the owner may have disconnected it. Raises
    NotReady, ImapError, or SQLAlchemyError."""
    with open_engine(settings) as engine:
        if not state.is_filled:
            _fill(settings, state, now=now)
            state = replace(state, is_filled=True)
            state.save(home)
        with engine.connect() as connection:
            known = _known(connection)
        if known is None and state.is_connected:
            return False
        if known is None or (known.port, known.state) not in {(state.port, "active"), (state.port, "leaving")}:
            _connect(engine, settings, state)
        replace(state, is_connected=True).save(home)
    return known is None or known.state != "leaving"


def server(state: State) -> Server:
    return Server(ports.HOST, state.port, "plain")


def login(state: State) -> Login:
    return Login(OWNER, state.password)


def _fill(settings: Settings, state: State, *, now: datetime) -> None:
    """The samples as if received, in that order. The remains of a killed start stay in the inbox unchanged."""
    to = server(state)
    dial = registry.connector(to, allow_private=settings.allow_private_mailboxes)
    with imap.open(to, login(state), connect=dial) as mailbox:
        if mailbox.select(INBOX).exists:
            return
        # They have separate ids, because messages of the kept mailbox are different messages.
        for original in samples.messages(now, host="imap."):
            date = parsedate_to_datetime(email.message_from_bytes(original)["Date"])
            mailbox.append(INBOX, original, date=date)


def _connect(engine: Engine, settings: Settings, state: State) -> None:
    with engine.connect() as connection:
        account_id, labels = _owner(connection)
    report = registry.check(server(state), login(state), labels=labels, allow_private=settings.allow_private_mailboxes)
    if report.problem is not None:
        raise NotReady(report.problem.what)
    with engine.begin() as connection:
        registry.connect(
            connection,
            account_id=account_id,
            address=OWNER,
            server=server(state),
            login=login(state),
            key_ring=settings.keys,
        )


def _owner(connection: Connection) -> tuple[int, list[str]]:
    """The owner's account, and the labels of its times."""
    account_id = accounts.id_of(connection, email=OWNER)
    if account_id is None:
        raise NotReady(f"there is no account {OWNER}")
    locale = connection.execute(select(Account.locale).where(Account.id == account_id)).scalar_one()
    own = preferences.saved_times(connection, account_id=account_id).presets
    return account_id, [label for label, _ in own or Locale.named(locale).language.data.presets]


def _known(connection: Connection) -> Row[int, str] | None:
    """The mailbox that is already connected."""
    found = select(ConnectedMailbox.port, ConnectedMailbox.state)
    found = found.join(Account, Account.id == ConnectedMailbox.account_id)
    is_ours = (Account.email == OWNER, ConnectedMailbox.host == ports.HOST, ConnectedMailbox.username == OWNER)
    return connection.execute(found.where(*is_ours)).first()
