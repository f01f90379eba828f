"""ENTRANCE of `snoozer mailbox`: watches the mailboxes that people connected, and moves messages in them."""

import resource
import time
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from ssl import SSLContext
from threading import Event

import click
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from snoozer import settings, telemetry
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.mail.headers import mail_from_domain
from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Connection, no_failpoint
from snoozer.mailboxes.imap.folders import OurFolders
from snoozer.mailboxes.sync.mailbox_watch import AFTER_REFUSED_SIGN_IN, TURN_SECONDS, MailboxWatch
from snoozer.mailboxes.sync.ownership import SILENCE
from snoozer.mailboxes.sync.session import NoticeSender, Session
from snoozer.mailboxes.sync.watcher import Watcher
from snoozer.runtime import encryption
from snoozer.runtime.process_identity import process_name
from snoozer.runtime.signals import on_stop_signal
from snoozer.settings import Settings
from snoozer.telemetry import log_format

# Their transactions are short, so the watcher's threads share them.
DATABASE_CONNECTIONS = 6
# When a mailbox that was paused is tried again, without its owner.
RETRY_PAUSED = timedelta(hours=1)
# A sign-in that takes longer is given up.
SIGN_IN_SECONDS = 60.0


@click.command("mailbox")
def command() -> None:
    config = settings.load().require("database_url", "secret_key", "mail_from")
    log_format.configure(config.log_format, process="mailbox")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    engine = make_engine(
        config.database_url.get_secret_value(),
        name="mailbox",
        pool_size=DATABASE_CONNECTIONS,
        pgbouncer=config.pgbouncer,
        idle=SILENCE.total_seconds(),
    )
    watcher, stopping = make_watcher(engine, config), Event()

    def stop() -> None:
        stopping.set()
        watcher.stop()

    on_stop_signal(stop)
    with suppress(DBAPIError):  # The database is unavailable: the watcher waits for it.
        schema.wait_until_migrated(engine, stopping=stopping)
    flush = telemetry.start(service="snoozer-mailbox", engine=engine, **config.telemetry)
    watcher.run()
    flush()
    engine.dispose()


def make_watcher(
    engine: Engine,
    config: Settings,
    *,
    tls: SSLContext | None = None,
    retry_sign_in: float = AFTER_REFUSED_SIGN_IN,
    without: Collection[str] = (),
    turn_seconds: float = TURN_SECONDS,
) -> Watcher:
    """A watcher of the mailboxes in this database, as the settings say. `without` names what servers can do and is not
    to be used (RFC 9051, CAPABILITY)."""
    sender = NoticeSender(config.mail_from, mail_from_domain(config.mail_from))
    crash = config.failpoint_hook or no_failpoint

    logins = registry.Logins(engine, key_ring=config.keys, providers=config.oauth_providers)

    def open_mailbox(mailbox: OwnedMailbox) -> Connection:
        connection = registry.open_mailbox(
            mailbox,
            logins,
            connect=registry.connector(registry.server_of(mailbox), allow_private=config.allow_private_mailboxes),
            tls=tls,
            without=without,
            failpoint=crash,
            deadline=time.monotonic() + min(SIGN_IN_SECONDS, turn_seconds),
        )
        if mailbox.login_method == "password" and not encryption.is_current(config.keys, mailbox.secret):
            with engine.begin() as transaction:
                registry.encrypt_anew(transaction, id=mailbox.id, secret=mailbox.secret, key_ring=config.keys)
        return connection

    def session(mailbox: OwnedMailbox, connection: Connection) -> Session:
        return Session(
            engine=engine,
            mailbox=mailbox,
            imap=connection,
            ours=OurFolders(snoozed="", root="", left_out=()),
            sender=sender,
            uncertainty=config.uncertainty,
            failpoint=crash,
        )

    def attend(mailbox: OwnedMailbox) -> MailboxWatch:
        return MailboxWatch(
            engine,
            mailbox,
            open=open_mailbox,
            session=session,
            poll=config.mailbox_poll,
            retry_sign_in=retry_sign_in,
            turn_seconds=turn_seconds,
        )

    return Watcher(
        engine, owner=process_name(), retry=RETRY_PAUSED, record_every=2 * config.mailbox_poll, attend=attend
    )
