"""`snoozer doctor`: checks settings, database, workers, mail server and invariants; each with what to do about it."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, timedelta
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
from snoozer.cli.console import explain, open_engine, refuse, show
from snoozer.db import health_checks, schema, timeline
from snoozer.db.health_checks import Defect, Violation
from snoozer.mime import headers
from snoozer.settings import Settings, SettingsError
from snoozer.smtp.client import check_reachable
from snoozer.smtp.errors import ServerUnavailable
from snoozer.smtp.url import SmtpServer, is_loopback, is_private

MAX_SHOWN = 5
_COLOURS = {"right": "green", "wrong": "bold red", "advice": "yellow", "skipped": "dim"}

# Names that no mail from outside reaches, though a mail server may accept them as any other (RFC 2606).
_SAMPLES = (".example.com", ".example.net", ".example.org")

# By invariant: what it means that it is broken, and what to do.
_BROKEN_INVARIANTS = {
    "one_send_per_promise": (
        "Two sends for one promise: a person may have had the same reminder twice.",
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
        "A reminder was sent again before anyone had decided about its first, uncertain copy.",
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
    "messages_return": (
        "Kept messages whose time has come are not back in the inbox.",
        "Start `snoozer clock` or `snoozer worker`: either returns them; see what it logs.",
    ),
}


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
    findings, failure = list(_settings_findings(settings)), None
    engine = open_engine(settings, name="doctor")
    try:
        with engine.begin() as connection:
            findings.extend(_database_findings(connection, settings))
    except DBAPIError as error:
        failure = explain(error)
        findings.append(Finding("database", "wrong", f"{failure.problem}.", _sentence(failure.remedy)))
    finally:
        engine.dispose()
    findings.extend(_mail_findings(settings))
    healthy, in_force = all(finding.verdict != "wrong" for finding in findings), _settings_in_force(settings)
    if as_json:
        report = {"healthy": healthy, "checks": [asdict(finding) for finding in findings], "settings": in_force}
        click.echo(json.dumps(report, indent=2))
    else:
        show(*_tables(in_force, findings))
        click.echo(_conclusion(findings))
    if failure is not None:
        refuse(f"{failure}.")
    sys.exit(0 if healthy else 1)


def _conclusion(findings: list[Finding]) -> str:
    """The last sentence. It agrees with the lines above: what is wrong, what has advice, what was left out."""

    def with_verdict(verdict: str) -> str:
        return ", ".join(finding.check for finding in findings if finding.verdict == verdict)

    wrong, advice, skipped = (with_verdict(verdict) for verdict in ("wrong", "advice", "skipped"))
    if wrong:
        first = f"Wrong: {wrong}; see above for what to do."
    else:
        first = "Nothing is wrong." if advice else "Everything that was examined is as promised."
    rest = (f" Advice on: {advice}." if advice else "") + (f" Left out: {skipped}." if skipped else "")
    return first + rest


def _tables(in_force: dict[str, str], findings: list[Finding]) -> Iterator[Table]:
    settings = Table("setting", "value", title="Settings", title_justify="left")
    for name, value in in_force.items():
        settings.add_row(Text(name), Text(value))
    yield settings
    checks = Table("check", "verdict", "what", title="Examination", title_justify="left")
    for finding in findings:
        verdict = Text(finding.verdict, style=_COLOURS[finding.verdict])
        checks.add_row(Text(finding.check), verdict, Text(f"{finding.says}\n{finding.do}".rstrip()))
    yield checks


def _database_findings(connection: Connection, settings: Settings) -> Iterator[Finding]:
    """The server, the schema, the processes at work, and the invariants. Raises DBAPIError."""
    health_checks.set_thresholds(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
    yield _server(connection)
    status = schema.status(connection)
    if status.where != "at head":
        yield Finding("schema", "wrong", f"{status.message}: nothing more is asked.", _sentence(status.do))
        return
    yield Finding("schema", "right", f"{status.message}.")
    yield from _guards(connection)
    yield _timeline(connection, settings)
    yield from _processes(connection, settings)
    yield _late_reminders(connection)
    for invariant in health_checks.INVARIANTS:
        yield _invariant(invariant, health_checks.violations(connection, invariant))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _server(connection: Connection) -> Finding:
    server = health_checks.server(connection)
    if server.version_number < 140_000:
        text = f"PostgreSQL {server.version} is older than 14, and Snoozer's statements are not made for it."
        do = "Upgrade the server."
    elif server.encoding != schema.ENCODING:
        text = f"The database's encoding is {server.encoding}, which cannot hold what mails say."
        do = f"Restore into one made by `{schema.CREATE_COMMAND}`."
    elif server.read_only:
        text = "This server only reads: it is a standby, and nothing can be put away or sent."
        do = "Let DATABASE_URL name the primary, with target_session_attrs=read-write."
    elif server.switched_off:
        text = f"{', '.join(server.switched_off)} is off: what the page confirmed can be lost when the server crashes."
        do = "Switch it on in the server's configuration and reload it."
    else:
        return Finding("database", "right", f"PostgreSQL {server.version}; what it confirms is on disk.")
    return Finding("database", "wrong", text, do)


def _guards(connection: Connection) -> Iterator[Finding]:
    """What holds the invariants in the database, and the indexes without which claims and pages read whole tables."""
    unusable = health_checks.unusable_indexes(connection)
    unique = [index for index in unusable if index.holds_an_invariant]
    others = [index for index in unusable if index not in unique]
    guards = [*health_checks.disabled_guards(connection), *unique]
    if guards:
        text = f"Not in force: {_names(guards)}. Nothing but the programs' own care keeps the promise now."
        do = [one.remedy or f"Make {one.name} as the migrations do (docs/schema.sql)." for one in guards]
        yield Finding("guards", "wrong", text, "\n".join(do))
    else:
        yield Finding("guards", "right", "Constraints and triggers that hold the invariants are in force.")
    if others:
        text = f"Not usable: {_names(others)}. Claims or pages read whole tables: with many rows reminders come late."
        yield Finding("indexes", "wrong", text, "\n".join(index.remedy for index in others))
    else:
        yield Finding("indexes", "right", "Every index of claims, ledger and pages is there and valid.")


def _names(defects: Iterable[Defect]) -> str:
    return ", ".join(map(str, defects))


def _timeline(connection: Connection, settings: Settings) -> Finding:
    change = timeline.change(connection)
    if change is None:
        return Finding("timeline", "right", "The database is the one that was accepted.")
    text = f"{_sentence(str(change))} What was committed last before that may be forgotten, and sent twice."
    do = (
        "Run `snoozer restored --until …` with the time at which the old place stopped; with --apply it makes cases of "
        "what may go out twice. Where nothing is forgotten: `snoozer restored --accept`."
    )
    if settings.failover == "continue":
        return Finding("timeline", "advice", f"{text} Workers go on (SNOOZER_FAILOVER).", do)
    return Finding("timeline", "wrong", f"{text} Workers claim nothing.", do)


def _processes(connection: Connection, settings: Settings) -> Iterator[Finding]:
    alive = health_checks.liveness(connection, dead_after=timedelta(seconds=settings.worker_dead))
    since = "never swept" if alive.swept_ago is None else f"last swept {float(alive.swept_ago):.0f} s ago"
    if alive.swept_ago is None or alive.swept_ago > 3 * settings.sweep + 10:
        text = f"Housekeeping has {since}: what lost workers hold is not taken back."
        yield Finding("clock", "wrong", text, "Start `snoozer clock`; one is enough, more do no harm.")
    else:
        yield Finding("clock", "right", f"Housekeeping {since}.")
    if alive.swept_ago is not None and (alive.prepared_ago is None or alive.prepared_ago > 26 * 3600):
        text = (
            "No partitions of the archive were made for more than a day, so what is over stays in the queue's tables."
        )
        do = "Look at what `snoozer clock` says; its role must be allowed to create tables."
        yield Finding("archive", "wrong", text, do)
    if alive.workers:
        yield Finding("workers", "right", f"{alive.workers} alive.")
    else:
        yield Finding("workers", "wrong", "No worker is alive: no reminder goes out.", "Start `snoozer worker`.")
    if alive.deferred:
        text = (
            f"{alive.deferred} due snoozes were written by a newer release, in a form that this one does not know, and "
            "no worker that is alive has taken them."
        )
        yield Finding("newer rows", "wrong", text, "Start workers of that release; older ones leave such rows alone.")
    if alive.open_breakers:
        text = (
            "The breaker is open: the mail server takes no mail, and is asked again after the cooldown. Nothing is "
            "lost: reminders are kept, and messages return to the inbox at their time."
        )
        yield Finding("breaker", "wrong", text, "Look at the mail server below and at /admin.")
    if alive.cases:
        yield Finding("cases", "advice", f"{alive.cases} wait for a decision.", "Reactivate or dismiss them on /admin.")
    if alive.long_uncertain:
        text = f"{alive.long_uncertain} reminders have been uncertain for more than a day: unknown if they left."
        do = "Decide about them on /admin; `snoozer support uncertain` lists them."
        yield Finding("uncertain", "wrong", text, do)
    else:
        yield Finding("uncertain", "right", "No reminder has been uncertain for more than a day.")


def _late_reminders(connection: Connection) -> Finding:
    overdue = health_checks.late(connection)
    if not overdue.late or overdue.oldest is None:
        return Finding("late reminders", "right", "No reminder is late.")
    number = "1,000 or more" if overdue.late >= 1000 else str(overdue.late)
    text = f"{number} overdue, the oldest since {overdue.oldest.astimezone(UTC):%Y-%m-%d %H:%M} UTC. They are kept."
    return Finding("late reminders", "wrong", text, "`snoozer support failures` says why; see also the breaker.")


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
    yield _mail_server(settings)
    yield _dns_records(_sender_domain(settings))


def _mail_server(settings: Settings) -> Finding:
    check, url = "mail server", settings.smtp_url.get_secret_value()
    if not url:
        return Finding(check, "skipped", "SMTP_URL is not set here, so no mail server was asked.")
    try:
        server = SmtpServer.from_url(url)
    except ValueError as error:
        return Finding(check, "wrong", str(error), "Correct SMTP_URL; no worker starts with this one.")
    where = f"{server.host}:{server.port}"
    try:
        check_reachable(server, helo=_sender_domain(settings) or "localhost", deadline=10.0)
    except ServerUnavailable as error:
        text = f"{where} cannot be used: {error}. Reminders wait; no attempts are spent."
        return Finding(check, "wrong", text, "Check SMTP_URL, the way to the server and the login.")
    return Finding(check, "right", f"{where} greets us{' and takes our login' if server.user else ''}.")


def _dns_records(domain: str) -> Finding:
    check = "sender's domain"
    if not domain:
        return Finding(check, "skipped", "MAIL_FROM is not set here, so nothing is known of the sender's domain.")
    if is_private(domain):
        return Finding(check, "skipped", f"{domain} is a private name; its mail stays here and needs no records.")
    text = f"These records make mail from {domain} trusted; they are not looked up here."
    records = (
        f'{domain} TXT "v=spf1 … -all" that names the mail server of SMTP_URL (SPF)',
        f'<selector>._domainkey.{domain} TXT "v=DKIM1; k=rsa; p=…", the key your mail server signs with (DKIM)',
        f'_dmarc.{domain} TXT "v=DMARC1; p=quarantine; rua=mailto:…" (DMARC)',
        f"{domain} MX, so that bounces and replies find a way back",
    )
    return Finding(check, "advice", text, "\n".join(records))


def _settings_in_force(settings: Settings) -> dict[str, str]:
    """Every setting by its name, as it is in force. Secrets, and values that may hold one, are left out."""
    names = {name: str(field.alias) for name, field in type(settings).model_fields.items()}
    return {alias: _redacted(alias, getattr(settings, name)) for name, alias in names.items()}


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
    try:
        settings.require("mail_from")
    except SettingsError as error:
        if settings.mail_from:
            do = "Correct MAIL_FROM; web and workers do not start with this one."
            yield Finding("sender", "wrong", f"{error}.", do)
    yield _links(settings)
    yield from _transport(settings)


def _transport(settings: Settings) -> Iterator[Finding]:
    """What travels without TLS: wrong where web and workers refuse to start, advice where it is allowed."""
    problems = [settings.insecure_pages]
    with suppress(ValueError):  # No SMTP_URL, or an invalid one, which another check reports.
        problems.append(settings.insecure_mail)
    found = [problem for problem in problems if problem]
    allowed = settings.insecure_transport == "allow"
    for problem in found:
        if allowed:
            do = "SNOOZER_INSECURE_TRANSPORT allows it; use TLS unless that network is yours alone."
            yield Finding("transport", "advice", f"{problem}.", do)
        else:
            do = "Use TLS, or set SNOOZER_INSECURE_TRANSPORT=allow; web and workers do not start like this."
            yield Finding("transport", "wrong", f"{problem}.", do)
    if not found:
        yield Finding("transport", "right", "Mail and pages travel by TLS, or on this machine or network only.")


def _secret_key(settings: Settings) -> Finding:
    check = "secret key"
    if not settings.keys:
        return Finding(check, "skipped", "SECRET_KEY is not set here; web and workers do not start without it.")
    try:
        settings.require("secret_key")
    except SettingsError as error:
        return Finding(check, "wrong", f"{error}.", "Links in mails could be forged: set a key of its own.")
    return Finding(check, "right", f"A key ring of {len(settings.keys)}.")


def _links(settings: Settings) -> Finding:
    check, do = "links in mails", "Set BASE_URL for web and workers to what people type to reach the pages."
    if settings.local_links_warning:
        domain, text = _sender_domain(settings), f"{settings.local_links_warning}."
        on_trial = is_private(domain) or f".{domain}".endswith(_SAMPLES)
        return Finding(check, "advice", text, do) if on_trial else Finding(check, "wrong", text, do)
    if is_loopback(urlsplit(settings.base_url).hostname or ""):
        return Finding(check, "advice", f"They lead to {settings.base_url}, which opens on this machine only.", do)
    return Finding(check, "right", f"They lead to {settings.base_url}.")


def _sender_domain(settings: Settings) -> str:
    """The domain that reminders come from; empty when MAIL_FROM names none."""
    return headers.mail_from_domain(settings.mail_from).lower()
