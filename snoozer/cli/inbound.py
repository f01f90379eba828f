"""ENTRANCE for incoming mail: store it in its owner's mailbox, then reply 250."""

import errno
import logging
import socket
from collections.abc import Sequence
from contextlib import suppress
from threading import Event

import click
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer import settings, telemetry
from snoozer.db import schema
from snoozer.db.engine import make_engine
from snoozer.db.errors import error_text
from snoozer.mailboxes import inbox
from snoozer.mailboxes.inbound import addresses, answers, doors, owners, reports
from snoozer.mailboxes.inbound.doors import NO_DOORS, Door, Site
from snoozer.mailboxes.inbound.lmtp_server import TEMPFAIL, UNKNOWN_RECIPIENT, InboundServer, IncomingMail
from snoozer.mailboxes.inbound.reports import ReportDoor
from snoozer.people import quotas
from snoozer.people.limits import Limits
from snoozer.people.quotas import QuotaReached
from snoozer.runtime.signals import on_stop_signal
from snoozer.settings import Settings, SettingsError
from snoozer.telemetry import log_format, security_log

STORED = "250 2.0.0 Kept"
MAILBOX_FULL = "452 4.2.2 This mailbox has taken as much mail as it takes in a day; please try again later"
# A transaction holds its locks until it ends.
RECIPIENTS_AT_ONCE = 10

_log = logging.getLogger(__name__)


@click.command("inbound")
def command() -> None:
    given = settings.load().require("database_url")
    stopping = Event()
    on_stop_signal(stopping.set)
    log_format.configure(given.log_format, process="inbound")
    engine = make_engine(given.database_url.get_secret_value(), name="inbound", pgbouncer=given.pgbouncer)
    with suppress(DBAPIError):  # The database is unavailable: each message is refused for now until it is back.
        if not schema.wait_until_migrated(engine, stopping=stopping):
            return
    flush = telemetry.start(service="snoozer-inbound", engine=engine, **given.telemetry)
    server = start_server(engine, given)
    place = str(server.path or f"{server.host}:{server.port}")
    _log.info("taking mail by %s on %s", given.inbound_protocol, place)
    stopping.wait()
    server.stop()
    flush()
    engine.dispose()


def start_server(engine: Engine, given: Settings) -> InboundServer:
    """The running server. Raises SettingsError if its host is not this machine's, or its port or socket is taken."""
    site = Site(
        domain=given.inbound_domain,
        keys=given.keys,
        authserv_id=given.authserv_id.strip(),
        separator=given.inbound_separator,
    )
    server = InboundServer(
        host=given.inbound_host,
        port=given.inbound_port,
        recipient_exists=lambda address: _is_known(engine, address, site),
        deliver=lambda incoming: store(engine, incoming, limits=given.limits, site=site),
        error_text=error_text,
        max_bytes=given.largest_message,
        protocol=given.inbound_protocol,
        hostname=socket.gethostname(),
        path=given.inbound_socket,
        mode=int(given.inbound_socket_mode, 8),
    )
    try:
        server.start()
    except OSError as error:
        if given.inbound_socket is not None:
            raise SettingsError(
                f"SNOOZER_INBOUND_SOCKET: no socket can be opened at {given.inbound_socket} "
                f"({error.strerror or error}); set it to a path in a folder that exists, where this user may write and "
                "no other process listens"
            ) from None
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise SettingsError(
                f"SNOOZER_INBOUND_HOST is {given.inbound_host}, which is no address of this machine; "
                "set it to one, such as 127.0.0.1, or 0.0.0.0 for all of them"
            ) from None
        raise SettingsError(
            f"Port {given.inbound_port} for incoming mail cannot be opened ({error.strerror}); "
            "set SNOOZER_INBOUND_PORT to a free one"
        ) from None
    return server


def store(
    engine: Engine, incoming: IncomingMail, *, limits: Limits | None = None, site: Site = NO_DOORS
) -> Sequence[str]:
    """Stores the message for its recipients, a few in each transaction, or has it act, in a transaction for each
    address; all are committed when this returns. If a transaction fails, its recipients get a temporary failure, and
    the others have the message. So does a recipient whose mailbox has reached the daily `limits`."""
    replies: list[str] = []
    for start in range(0, len(incoming.rcpt_to), RECIPIENTS_AT_ONCE):
        addresses = incoming.rcpt_to[start : start + RECIPIENTS_AT_ONCE]
        try:
            replies += _store_for(engine, addresses, incoming, limits=limits, site=site)
        except DBAPIError as error:
            _log.warning("A mail could not be stored: %s", error_text(error))
            replies += [TEMPFAIL] * len(addresses)
    return [
        _act(engine, address, incoming, limits=limits, site=site) if reply == UNKNOWN_RECIPIENT else reply
        for address, reply in zip(incoming.rcpt_to, replies, strict=True)
    ]


def _store_for(
    engine: Engine, addresses: Sequence[str], incoming: IncomingMail, *, limits: Limits | None, site: Site
) -> list[str]:
    full: dict[str, str] = {}
    original = incoming.original
    with engine.begin() as connection:
        whose = [owners.owner(connection, address=address, site=site) for address in addresses]
        for owner in sorted({owner for owner in whose if owner}):
            try:
                with connection.begin_nested():
                    if limits is not None:
                        quotas.spend_mail(connection, limits, user_email=owner, size=len(original))
                    inbox.store(connection, user_email=owner, original=original, return_path=incoming.mail_from)
            except QuotaReached as reached:
                full[owner] = reached.name
    for quota in full.values():
        security_log.record("quota_reached", quota=quota)
    return [MAILBOX_FULL if owner in full else STORED if owner else UNKNOWN_RECIPIENT for owner in whose]


def _act(engine: Engine, address: str, incoming: IncomingMail, *, limits: Limits | None, site: Site) -> str:
    """Have the mail act at the door of this address; returns the reply to it."""
    try:
        with engine.begin() as connection:
            door = _door(connection, address, site)
            if door is None:
                return UNKNOWN_RECIPIENT
            if isinstance(door, ReportDoor):
                door.receive(connection, original=incoming.original, has_null_sender=not incoming.mail_from)
                return STORED
            person = door.owner(connection, original=incoming.original)
            if person is None:
                return doors.REFUSED
            if limits is not None:
                size = len(incoming.original)
                quotas.spend_mail(connection, limits, user_email=person.email, size=size)

            def spend(count: int) -> None:
                if limits is not None:
                    quotas.spend_snoozes(connection, limits, user_email=person.email, count=count)

            doors.receive(
                connection,
                door,
                person,
                original=incoming.original,
                address=address,
                has_null_sender=not incoming.mail_from,
                spend=spend,
            )
    except QuotaReached as reached:
        security_log.record("quota_reached", quota=reached.name)
        return MAILBOX_FULL
    except Exception as error:
        # The other recipients have the message; they must not get it again.
        _log.warning("A mail could not act: %s", error_text(error))
        return TEMPFAIL
    return STORED


def _is_known(engine: Engine, address: str, site: Site) -> bool:
    with engine.connect() as connection:
        owner = owners.owner(connection, address=address, site=site)
        return owner is not None or _door(connection, address, site) is not None


def _door(connection: Connection, address: str, site: Site) -> Door | ReportDoor | None:
    """The door at this address; None if there is none, or no domain is set for doors."""
    local_part, _, domain = address.rpartition("@")
    if not site.domain or domain.lower() != site.domain:
        return None
    found = reports.find(local_part=local_part, site=site) or answers.find(connection, local_part=local_part, site=site)
    return found or addresses.find(connection, local_part=local_part, site=site)
