"""`snoozer doctor`: checks settings, database, workers, mail server and invariants; each with what to do about it."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Literal
from urllib.parse import urlsplit

import click
from pydantic import SecretStr
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from snoozer import settings as environment
from snoozer.cli.console import Failure, explain, open_engine, refuse, show
from snoozer.db import health_checks, schema
from snoozer.db.health_checks import Violation
from snoozer.mime import headers
from snoozer.settings import Settings, SettingsError
from snoozer.smtp.errors import ServerUnavailable
from snoozer.smtp.session import check_reachable
from snoozer.smtp.url import SmtpServer, is_loopback

MIN_SERVER_VERSION = 140_000
MAX_SHOWN = 5
CONNECT_SECONDS = 10.0
PARTITIONS_OVERDUE_SECONDS = 26 * 3600

_COLOURS = {"right": "green", "wrong": "bold red", "advice": "yellow", "skipped": "dim"}

# Names that no mail from outside reaches (RFC 2606, RFC 6762).
_PRIVATE = (".local", ".localhost", ".test", ".example", ".invalid", ".internal")
# Nor these, though a mail server may accept them as any other (RFC 2606).
_SAMPLES = (".example.com", ".example.net", ".example.org")

# By invariant: what it means that it is broken, and what to do.
_BROKEN_INVARIANTS = {
    "one_send_per_promise": (
        "Two sends for one promise: somebody may have had the same reminder twice.",
        "Find out who wrote to reminder_sends by hand or restored a copy beside the living tables.",
    ),
    "sent_stays_sent": (
        "A send that was sent no longer says so: it could be sent again.",
        "Find out who changed reminder_sends by hand; set its state back to sent.",
    ),
    "finished_has_its_send": (
        "A snooze counts as sent without a send in the ledger: its reminder may never have left.",
        "Put those messages away anew, or tell their owners; find out who set the outcome by hand.",
    ),
    "no_second_dot": (
        "A reminder was sent again while nobody had decided about its first, uncertain copy.",
        "Its person may have it twice, as the same mail; please report how that came about.",
    ),
    "due_is_taken": (
        "Snoozes have been due for longer than a failure, a sweep and a retry take together: reminders are late.",
        "Start (more) workers with `snoozer worker`, and look at `snoozer support oldest`.",
    ),
    "the_dead_hold_nothing": (
        "Lost workers still hold snoozes: housekeeping does not take them back, and reminders are late.",
        "Start `snoozer clock`, and look at `snoozer support stuck`.",
    ),
}

_GUARDS_REMEDY = "Nothing but the programs' own care keeps the promise now. Make them anew as the migrations do: "


@dataclass(frozen=True)
class Finding:
    """The result of one check. `do` is empty unless there is something to do."""

    check: str
    verdict: Literal["right", "wrong", "advice", "skipped"]
    says: str
    do: str = ""


@click.command("doctor", help="Examine settings, database, workers, mail server and the invariants.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """Exits with 0 when all is right, 1 when something is wrong, 2 when the database cannot be asked."""
    settings = environment.load().require("database_url")
    of_database, failure = _examine_database(settings)
    findings = [*_settings_findings(settings), *of_database, *_mail_findings(settings)]
    healthy = all(finding.verdict != "wrong" for finding in findings)
    if as_json:
        report = {"healthy": healthy, "checks": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(report | {"settings": _settings_in_force(settings)}, indent=2))
    else:
        show(_settings_table(settings), _findings_table(findings))
        click.echo("Everything is as promised." if healthy else "Something is wrong; see above for what to do.")
    if failure is not None:
        refuse(f"{failure}.")
    sys.exit(0 if healthy else 1)


def _settings_table(settings: Settings) -> Table:
    table = Table("setting", "value", title="Settings", title_justify="left")
    for name, value in _settings_in_force(settings).items():
        table.add_row(Text(name), Text(value))
    return table


def _findings_table(findings: list[Finding]) -> Table:
    table = Table("check", "verdict", "what", title="Examination", title_justify="left")
    for finding in findings:
        verdict = Text(finding.verdict, style=_COLOURS[finding.verdict])
        table.add_row(Text(finding.check), verdict, Text(f"{finding.says}\n{finding.do}".rstrip()))
    return table


def _examine_database(settings: Settings) -> tuple[list[Finding], Failure | None]:
    """The findings up to where the database fails, if it does."""
    findings: list[Finding] = []
    engine = open_engine(settings, name="doctor")
    try:
        with engine.begin() as connection:
            findings.extend(_database_findings(connection, settings))
    except DBAPIError as error:
        failure = explain(error)
        return [*findings, Finding("database", "wrong", f"{failure.problem}.", _sentence(failure.remedy))], failure
    finally:
        engine.dispose()
    return findings, None


def _database_findings(connection: Connection, settings: Settings) -> Iterator[Finding]:
    """The server, the schema, the processes at work, and the invariants. Raises DBAPIError."""
    health_checks.set_thresholds(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
    yield _server(connection)
    status = schema.status(connection)
    if status.where != "at head":
        yield Finding("schema", "wrong", f"{status.message}: nothing more is asked.", _sentence(status.do))
        return
    yield Finding("schema", "right", f"{status.message}.")
    yield _guards(connection)
    yield from _processes(connection, settings)
    for invariant in health_checks.INVARIANTS:
        yield _invariant(invariant, health_checks.violations(connection, invariant))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _server(connection: Connection) -> Finding:
    server = health_checks.server(connection)
    if server.version_number < MIN_SERVER_VERSION:
        says = f"PostgreSQL {server.version} is older than 14, and Snoozer's statements are not made for it."
        return Finding("database", "wrong", says, "Upgrade the server.")
    if server.encoding != schema.ENCODING:
        says = f"The database's encoding is {server.encoding}, which cannot hold what mails say."
        return Finding("database", "wrong", says, f"Restore into one made by `{schema.CREATE_COMMAND}`.")
    if server.read_only:
        says = "This server only reads: it is a standby, and nothing can be put away or sent."
        return Finding(
            "database", "wrong", says, "Let DATABASE_URL name the primary, with target_session_attrs=read-write."
        )
    if server.switched_off:
        says = f"{', '.join(server.switched_off)} is off: what the page confirmed can be lost when the server crashes."
        return Finding("database", "wrong", says, "Switch it on in the server's configuration and reload it.")
    return Finding("database", "right", f"PostgreSQL {server.version}; what it confirms is on disk.")


def _guards(connection: Connection) -> Finding:
    missing = health_checks.disabled_guards(connection)
    if missing:
        says = f"Switched off or gone: {', '.join(missing)}."
        return Finding("guards", "wrong", says, f"{_GUARDS_REMEDY}{', '.join(missing)}.")
    return Finding("guards", "right", "Unique indexes and triggers that hold the invariants are in force.")


def _processes(connection: Connection, settings: Settings) -> Iterator[Finding]:
    alive = health_checks.liveness(connection, dead_after=timedelta(seconds=settings.worker_dead))
    sweep_overdue = 3 * settings.sweep + 10
    if alive.swept_ago is None or alive.swept_ago > sweep_overdue:
        since = "never swept" if alive.swept_ago is None else f"last swept {float(alive.swept_ago):.0f} s ago"
        says = f"Housekeeping has {since}: what lost workers hold is not taken back."
        yield Finding("clock", "wrong", says, "Start `snoozer clock`; one is enough, more do no harm.")
    else:
        yield Finding("clock", "right", f"Housekeeping last swept {float(alive.swept_ago):.0f} s ago.")
    if alive.prepared_ago is not None and alive.prepared_ago > PARTITIONS_OVERDUE_SECONDS:
        says = (
            "No partitions of the archive were made for more than a day, so what is over stays in the queue's tables."
        )
        yield Finding(
            "archive", "wrong", says, "Look at what `snoozer clock` says; its role must be allowed to create tables."
        )
    if alive.workers:
        yield Finding("workers", "right", f"{alive.workers} alive.")
    else:
        yield Finding("workers", "wrong", "No worker is alive: no reminder goes out.", "Start `snoozer worker`.")
    if alive.open_breakers:
        says = "The breaker is open: the mail server failed, and is asked again after the cooldown. Nothing is lost."
        yield Finding("breaker", "advice", says, "Look at the mail server below and at /admin.")
    if alive.cases:
        yield Finding("cases", "advice", f"{alive.cases} wait for a decision.", "Reactivate or dismiss them on /admin.")
    if alive.long_uncertain:
        says = f"{alive.long_uncertain} reminders have been uncertain for more than a day: nobody knows if they left."
        yield Finding(
            "uncertain", "wrong", says, "Decide about them on /admin; `snoozer support uncertain` lists them."
        )
    else:
        yield Finding("uncertain", "right", "No reminder has been uncertain for more than a day.")


def _invariant(name: str, rows: list[Violation]) -> Finding:
    check = f"invariant {name.replace('_', ' ')}"
    if not rows:
        return Finding(check, "right", "Holds.")
    meaning, do = _BROKEN_INVARIANTS[name]
    shown = "; ".join(
        f"snooze {row.snooze_id}{f', send {row.send_id}' if row.send_id else ''}: {row.what}"
        for row in rows[:MAX_SHOWN]
    )
    more = f"; and more in the view invariant_{name}" if len(rows) > MAX_SHOWN else ""
    return Finding(check, "wrong", f"{meaning} {shown}{more}.", do)


def _mail_findings(settings: Settings) -> Iterator[Finding]:
    """Whether the mail server accepts our login, and the DNS records of the sender's domain. No mail is sent."""
    if settings.smtp_url.get_secret_value():
        yield _mail_server(settings)
    else:
        yield Finding("mail server", "skipped", "SMTP_URL is not set here, so no mail server was asked.")
    yield _dns_records(_sender_domain(settings))


def _mail_server(settings: Settings) -> Finding:
    check = "mail server"
    try:
        server = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    except ValueError as error:
        return Finding(check, "wrong", str(error), "Correct SMTP_URL; no worker starts with this one.")
    where = f"{server.host}:{server.port}"
    try:
        check_reachable(server, helo=_sender_domain(settings) or "localhost", deadline=CONNECT_SECONDS)
    except ServerUnavailable as error:
        says = f"{where} cannot be used: {error}. Reminders wait; no attempts are spent."
        return Finding(check, "wrong", says, "Check SMTP_URL, the way to the server and the login.")
    return Finding(check, "right", f"{where} greets us and takes our login." if server.user else f"{where} greets us.")


def _dns_records(domain: str) -> Finding:
    check = "sender's domain"
    if not domain:
        return Finding(check, "skipped", "MAIL_FROM is not set here, so nothing is known of the sender's domain.")
    if _is_private(domain):
        return Finding(check, "skipped", f"{domain} is a private name; its mail stays here and needs no records.")
    says = f"These records make mail from {domain} trusted; they are not looked up here."
    records = (
        f'{domain} TXT "v=spf1 … -all" that names the mail server of SMTP_URL (SPF)',
        f'<selector>._domainkey.{domain} TXT "v=DKIM1; k=rsa; p=…", the key your mail server signs with (DKIM)',
        f'_dmarc.{domain} TXT "v=DMARC1; p=quarantine; rua=mailto:…" (DMARC)',
        f"{domain} MX, so that bounces and replies find a way back",
    )
    return Finding(check, "advice", says, "\n".join(records))


def _settings_in_force(settings: Settings) -> dict[str, str]:
    """Every setting by its name, as it is in force. Secrets, and values that may hold one, are left out."""
    return {
        str(field.alias): _redacted(str(field.alias), getattr(settings, name))
        for name, field in type(settings).model_fields.items()
    }


def _redacted(name: str, value: object) -> str:
    if value is None or value in ("", ()):
        return "–"
    if isinstance(value, tuple):
        return f"{len(value)} hidden"
    if name == "DATABASE_URL" and isinstance(value, SecretStr):
        return make_url(value.get_secret_value()).set(query={}).render_as_string(hide_password=True)
    if isinstance(value, SecretStr):
        parts = urlsplit(value.get_secret_value())
        return f"{parts.scheme}://…{(parts.netloc.rpartition('@')[2])}" if parts.netloc else "hidden"
    if name == "OTEL_EXPORTER_OTLP_ENDPOINT":
        return "set"
    return str(value)


def _settings_findings(settings: Settings) -> Iterator[Finding]:
    """Settings with which processes would refuse to start, and where the links in mails lead."""
    yield _secret_key(settings)
    yield from _sender(settings)
    yield _links(settings)


def _secret_key(settings: Settings) -> Finding:
    check = "secret key"
    if not settings.keys:
        return Finding(check, "skipped", "SECRET_KEY is not set here; web and workers do not start without it.")
    try:
        settings.require("secret_key")
    except SettingsError as error:
        return Finding(check, "wrong", f"{error}.", "Links in mails could be forged: set a key of its own.")
    return Finding(check, "right", f"A key ring of {len(settings.keys)}.")


def _sender(settings: Settings) -> Iterator[Finding]:
    try:
        settings.require("mail_from")
    except SettingsError as error:
        if settings.mail_from:
            yield Finding(
                "sender", "wrong", f"{error}.", "Correct MAIL_FROM; web and workers do not start with this one."
            )


def _links(settings: Settings) -> Finding:
    check, do = "links in mails", "Set BASE_URL for web and workers to what people type to reach the pages."
    if settings.local_links_warning:
        domain, says = _sender_domain(settings), f"{settings.local_links_warning}."
        on_trial = _is_private(domain) or f".{domain}".endswith(_SAMPLES)
        return Finding(check, "advice", says, do) if on_trial else Finding(check, "wrong", says, do)
    if is_loopback(urlsplit(settings.base_url).hostname or ""):
        return Finding(check, "advice", f"They lead to {settings.base_url}, which opens on this machine only.", do)
    return Finding(check, "right", f"They lead to {settings.base_url}.")


def _sender_domain(settings: Settings) -> str:
    """The domain that reminders come from; empty when MAIL_FROM names none."""
    return headers.mail_from_domain(settings.mail_from).lower()


def _is_private(domain: str) -> bool:
    """A name that is known on this machine or this network only."""
    return is_loopback(domain) or f".{domain}".endswith(_PRIVATE) or "." not in domain
