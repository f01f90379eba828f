"""`snoozer account`: accounts that may sign in, and their roles."""

from datetime import UTC, timedelta
from typing import BinaryIO

import click
from rich.table import Table
from sqlalchemy import Connection

from snoozer import settings
from snoozer.cli.console import CLOSED_ACCOUNT, NO_ACCOUNT, refuse, show
from snoozer.cli.database_connection import open_engine, transaction
from snoozer.db import audit
from snoozer.db.audit import Entry
from snoozer.db.models import Account
from snoozer.db.queries import account_roles as queries
from snoozer.db.queries import imports
from snoozer.db.roles import ROLES, Role
from snoozer.db.statements import database_time
from snoozer.people import accounts, addresses, organisation_sign_in
from snoozer.people.personal_data import importing, restoring
from snoozer.people.personal_data.files import FILES
from snoozer.people.personal_data.import_file import NotAnExport, read
from snoozer.people.quotas import QuotaReached
from snoozer.settings import Settings
from snoozer.telemetry import security_log


@click.group("account")
def command() -> None:
    pass


@command.command("create", help="Create an account for EMAIL, or change its role. You vouch for the address.")
@click.argument("email")
@click.option("--role", type=click.Choice(ROLES), help="What the account may do; user by default.")
@click.option("--zone", default="UTC", show_default=True, help="The person's zone, such as Europe/Berlin.")
def create(email: str, role: str | None, zone: str) -> None:
    with transaction(name="account") as connection:
        account = accounts.create(connection, email=email, role=role, zone=zone)
        if account.role != (account.role_before or "user"):
            _audit_role(connection, id=account.id, before=account.role_before, after=account.role)
    if account.created or account.role != account.role_before:
        security_log.record(
            "account_created" if account.created else "role_changed", account=account.id, role=account.role
        )
    if account.created:
        click.echo(f"Created the account {account.email} ({account.role}).")
    elif account.role != account.role_before:
        click.echo(f"Changed the account {account.email} from {account.role_before} to {account.role}.")
    else:
        click.echo(f"There is already the account {account.email} ({account.role}); nothing was changed.")
    if account.closed:
        click.echo(f"It is closed; open it with: snoozer account open {account.email}")


@command.command("address", help="Add ADDRESS to the account of EMAIL. You vouch for it.")
@click.argument("email")
@click.argument("address")
def add_address(email: str, address: str) -> None:
    with transaction(name="account") as connection:
        id = accounts.id_of(connection, email=email)
        if id is None:
            refuse(NO_ACCOUNT)
        added = addresses.vouch(connection, account_id=id, email=address)
        if not added:
            refuse("It belongs to an account already, or this one has as many addresses as there may be.")
        _audit(connection, "add_address", account=id)
    security_log.record("address_added", account=id)
    click.echo("Mail from and to this address is theirs now.")


@command.command("role", help="Give the account of EMAIL a role; its groups at a provider may give a higher one.")
@click.argument("email")
@click.argument("role", type=click.Choice(ROLES))
@click.option("--reason", help="Why; it stands in the audit log.")
def give_role(email: str, role: Role, reason: str | None) -> None:
    with transaction(name="account") as connection:
        id = accounts.id_of(connection, email=email)
        changed = None if id is None else accounts.set_role(connection, id=id, role=role)
        if changed is None:
            refuse(NO_ACCOUNT)
        if changed.role != changed.role_before:
            _audit_role(connection, id=changed.id, before=changed.role_before, after=role, reason=reason)
    if changed.role == changed.role_before:
        click.echo(f"The account {changed.email} has the role {role} already.")
        return
    security_log.record("role_changed", account=changed.id, role=role)
    click.echo(f"Changed the account {changed.email} from {changed.role_before} to {role}.")


@command.command("list", help="List the accounts that may open the operators' pages, or those with a ROLE.")
@click.option("--role", type=click.Choice(ROLES), help="Those with this role only.")
def list_accounts(role: Role | None) -> None:
    table = Table("account", "address", "role", "given", "by groups", "last sign-in")
    with transaction(name="account") as connection:
        for each in queries.with_roles(connection, wanted=ROLES[1:] if role is None else (role,)):
            seen = "" if each.signed_in_at is None else f"{each.signed_in_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            closed = " (closed)" if each.disabled_at else ""
            table.add_row(str(each.id), each.email + closed, each.role, each.given_role, each.group_role, seen)
    show(table)


@command.command("unlink", short_help="Let another person of the organisation sign in to EMAIL.")
@click.argument("email")
def unlink(email: str) -> None:
    """End the sign-ins of EMAIL at the organisation's provider, and what its groups gave.

    For an address that another person got: the next one there whose verified address it is signs in to the account.
    """
    with transaction(name="account") as connection:
        id = accounts.id_of(connection, email=email)
        if id is None:
            refuse(NO_ACCOUNT)
        removed = organisation_sign_in.unlink(connection, account_id=id)
        if removed:
            _audit(connection, "unlink", account=id)
    if removed:
        security_log.record("identities_removed", account=id)
    click.echo("The sign-ins there are ended." if removed else "There were none.")


@command.command("sign-in", help="Print a sign-in link for EMAIL: single use, ten minutes.")
@click.argument("email")
@click.option("--days", type=click.IntRange(1, 365), help="How long the link works, in place of ten minutes.")
def sign_in(email: str, days: int | None) -> None:
    lifetime = accounts.LINK_LIFETIME if days is None else timedelta(days=days)
    with transaction(name="account") as connection:
        token = accounts.console_sign_in_token(connection, email=email, lifetime=lifetime)
        if token is None:
            refuse(CLOSED_ACCOUNT if accounts.is_closed(connection, email=email) else NO_ACCOUNT)
        account = accounts.id_of(connection, email=email)
        _audit(connection, "print_sign_in", account=account)
    security_log.record("console_sign_in", account=account)
    click.echo(f"{settings.load().base_url}/sign-in/{token}")


@command.command("close", short_help="Refuse sign-ins as EMAIL, and its tokens.")
@click.argument("email")
def close(email: str) -> None:
    """Refuse sign-ins as EMAIL: its sessions end at once and its tokens are refused until it is opened again.

    The person's snoozes still come back by mail. The links in those mails cannot snooze again; Done and Undo still
    work.
    """
    with transaction(name="account") as connection:
        closed = accounts.close(connection, email=email)
        if closed is None:
            refuse(NO_ACCOUNT)
        if closed.changed:
            _audit(connection, "close_account", account=closed.id)
    security_log.record("account_closed", account=closed.id, sessions=closed.sessions)
    if not closed.changed:
        click.echo(f"The account {closed.email} was closed already.")
        return
    ended = f"{closed.sessions} {'session' if closed.sessions == 1 else 'sessions'} ended"
    click.echo(f"Closed the account {closed.email}: {ended}, its tokens are refused.")


@command.command(
    "open",
    short_help="Let EMAIL sign in again after it was closed.",
    help="Let EMAIL sign in again after it was closed; tokens that were not revoked work again.",
)
@click.argument("email")
def reopen(email: str) -> None:
    with transaction(name="account") as connection:
        opened = accounts.reopen(connection, email=email)
        if opened is None:
            refuse(NO_ACCOUNT)
        if opened.changed:
            _audit(connection, "open_account", account=opened.id)
    security_log.record("account_opened", account=opened.id)
    click.echo(
        f"Opened the account {opened.email}." if opened.changed else f"The account {opened.email} was open already."
    )


@command.command("export", short_help="Write everything that is stored of EMAIL to standard output, or a file.")
@click.argument("email")
@click.option(
    "--format", "kind", type=click.Choice(sorted(FILES)), default="json", show_default=True, help="Which of the files."
)
@click.option("--output", "-o", type=click.File("wb"), default="-", help="The file to write; standard output without.")
def export(email: str, kind: str, output: BinaryIO) -> None:
    """Write everything that is stored of EMAIL.

    json is all of it, csv the snoozes as a table, ics what is still to come back as a calendar, zip the kept messages
    as .eml files.
    """
    config = settings.load()
    security_log.start(config.log_format)
    engine = open_engine(config, name="account")
    try:
        with engine.begin() as connection:
            account, now = accounts.find(connection, email=email), database_time(connection)
            if account is None:
                refuse(NO_ACCOUNT)
            _audit(connection, "export_data", account=account.id)
        security_log.record("data_exported", account=account.id, format=kind)
        for piece in FILES[kind].write(engine, account, now):
            output.write(piece)
    except accounts.InvalidAddress as error:
        refuse(str(error))
    finally:
        engine.dispose()


@command.command("import", short_help="Read an export (JSON, CSV or ZIP) into the account of EMAIL.")
@click.argument("email")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--past", type=click.Choice(["now", "history"]), default="now", show_default=True,
    help="Whether snoozes whose time has passed come back now, or are history.",
)  # fmt: skip
def import_(email: str, file: BinaryIO, past: str) -> None:
    """Read an export of a person into the account of EMAIL: snoozes and usual times from JSON or CSV, kept messages
    from ZIP.

    Snoozes and messages that exist already are not added again.
    """
    config = settings.load()
    with transaction(name="account") as connection:
        account = accounts.find(connection, email=email)
        if account is None:
            refuse(NO_ACCOUNT)
        is_zip = file.read(len(restoring.SIGNATURE)) == restoring.SIGNATURE
        file.seek(0)
        try:
            if is_zip:
                done = _restore(connection, file, account, config)
            else:
                done = _import(connection, file, account, config, with_past=past == "now")
        except (NotAnExport, QuotaReached) as error:
            refuse(f"{error} Nothing was saved.")
        _audit(connection, "import_data", account=account.id)
    security_log.record("data_imported", account=account.id)
    click.echo(done)


def _import(connection: Connection, file: BinaryIO, account: Account, config: Settings, *, with_past: bool) -> str:
    reading = read(file, now=database_time(connection), keep_months=config.keep_months)
    importing.stage(connection, account=account, reading=reading)
    summary = imports.summary(connection, account_id=account.id)
    done = importing.confirm(connection, account=account, limits=config.limits, with_past=with_past)
    if summary is None or done is None:
        refuse("The account is being closed. Nothing was saved.")
    known = summary.same + summary.changed
    return (
        f"Snoozes: {done.waiting} come back here, {done.finished} are history, {known} were here already, "
        f"{summary.refused} were refused."
    )


def _restore(connection: Connection, file: BinaryIO, account: Account, config: Settings) -> str:
    done = restoring.restore(
        connection, file, account=account, limits=config.limits, largest_message=config.largest_message
    )
    return (
        f"Messages: {done.new} are kept here now, {done.known} were here already, {done.refused} files are no messages."
    )


def _audit_role(connection: Connection, *, id: int, before: str | None, after: str, reason: str | None = None) -> None:
    entry = Entry(target=f"account:{id}", before={"role": before}, after={"role": after})
    audit.append(connection, actor="command", act="change_role", reason=reason, entries=[entry])


def _audit(connection: Connection, act: str, *, account: int | None) -> None:
    audit.append(connection, actor="command", act=act, entries=[Entry(target=f"account:{account}")])
