"""`snoozer doctor`: checks settings, database, workers, mail server and invariants; each with what to do about it."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from urllib.parse import urlsplit

import click
from pydantic import SecretStr
from rich.table import Table
from rich.text import Text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from snoozer import settings as environment
from snoozer.cli.console import refuse, show
from snoozer.cli.database_connection import explain, open_engine
from snoozer.cli.database_findings import database_findings, sentence
from snoozer.cli.finding import Finding
from snoozer.cli.sender_dns import Sender, sender_findings
from snoozer.mail import headers
from snoozer.mail.smtp.client import check_reachable
from snoozer.mail.smtp.errors import ServerUnavailable
from snoozer.mail.smtp.url import SmtpServer, is_loopback, is_private
from snoozer.settings import Settings, SettingsError
from snoozer.telemetry.configuration import Config as Telemetry

MAX_SHOWN = 5
_COLOURS = {"wrong": "bold red", "advice": "yellow", "skipped": "dim", "right": "green"}
_VERDICTS = list(_COLOURS)

# Domains that no outside mail reaches, though a mail server may accept them like any other (RFC 2606).
_SAMPLES = (".example.com", ".example.net", ".example.org")


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--settings", "with_settings", is_flag=True, help="Print the settings in force, too.")
def command(as_json: bool, with_settings: bool) -> None:
    """Examine settings, database, workers, mail server and the invariants.

    Exits with 0 when all is right, 1 when something is wrong, 2 when the database cannot be asked.
    """
    settings = environment.load().require("database_url")
    findings, failure = list(_settings_findings(settings)), None
    engine = open_engine(settings, name="doctor")
    try:
        with engine.begin() as connection:
            findings.extend(database_findings(connection, settings))
    except DBAPIError as error:
        failure = explain(error)
        findings.append(Finding("database", "wrong", f"{failure.problem}.", sentence(failure.remedy)))
    finally:
        engine.dispose()
    findings.extend(_mail_findings(settings))
    healthy, in_force = all(finding.verdict != "wrong" for finding in findings), _settings_in_force(settings)
    if as_json:
        report = {
            "healthy": healthy,
            "checks": [asdict(finding) | {"page": finding.page} for finding in findings],
            "settings": in_force,
        }
        click.echo(json.dumps(report, indent=2))
    else:
        click.echo(_conclusion(findings))
        show(*_tables(in_force if with_settings else {}, findings))
    if failure is not None:
        refuse(f"{failure}.")
    sys.exit(0 if healthy else 1)


def _conclusion(findings: list[Finding]) -> str:
    """The first sentence. It agrees with the lines below: problems, advice, and skipped checks."""

    def with_verdict(verdict: str) -> str:
        return ", ".join(finding.check for finding in findings if finding.verdict == verdict)

    wrong, advice, skipped = (with_verdict(verdict) for verdict in ("wrong", "advice", "skipped"))
    if wrong:
        first = f"Wrong: {wrong}; see below for what to do."
    else:
        first = "Nothing is wrong." if advice else "Everything that was examined is as promised."
    rest = (f" Advice on: {advice}." if advice else "") + (f" Left out: {skipped}." if skipped else "")
    return first + rest


def _tables(settings: dict[str, str], findings: list[Finding]) -> Iterator[Table]:
    """The checks, wrong ones first; then the settings, if any."""
    checks = Table("check", "verdict", "what", title="Examination", title_justify="left")
    for finding in sorted(findings, key=lambda one: _VERDICTS.index(one.verdict)):
        verdict = Text(finding.verdict, style=_COLOURS[finding.verdict])
        lines = filter(None, (finding.says, finding.do, finding.page and f"See {finding.page}"))
        checks.add_row(Text(finding.check), verdict, Text("\n".join(lines)))
    yield checks
    if settings:
        table = Table("setting", "value", title="Settings", title_justify="left")
        for name, value in settings.items():
            table.add_row(Text(name), Text(value))
        yield table


def _mail_findings(settings: Settings) -> Iterator[Finding]:
    """Whether the mail server accepts our login, and the DNS records of the sender's domain. No mail is sent."""
    yield _mail_server(settings)
    domain = _sender_domain(settings)
    if not domain or is_private(domain):
        text = f"{domain} is a private name; its mail stays here." if domain else "MAIL_FROM is not set here."
        yield Finding("sender's domain", "skipped", f"{text} No DNS records were looked up.")
        return
    host, dkim = "", None
    with suppress(ValueError):  # No SMTP_URL, or an invalid one, which another check reports.
        host = SmtpServer.from_url(settings.smtp_url.get_secret_value()).host
    with suppress(ValueError):  # A key that cannot sign, which another check reports.
        dkim = None if settings.signer is None else (settings.dkim_selector, settings.signer.record)
    sender = Sender(domain=domain, bounces=settings.inbound_domain or domain, host=host, dkim=dkim)
    yield from sender_findings(sender)


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


def _settings_in_force(settings: Settings) -> dict[str, str]:
    """Every effective setting by its name. Secrets, and values that may hold one, are left out."""
    names = {name: str(field.alias) for name, field in type(settings).model_fields.items()}
    return {alias: _redacted(alias, getattr(settings, name)) for name, alias in names.items()}


def _redacted(name: str, value: object) -> str:
    if isinstance(value, Telemetry):
        return "exported" if value.exports else "not exported"
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
    """Settings that would prevent processes from starting, and the target of the links in mails."""
    yield _secret_key(settings)
    try:
        settings.require("mail_from")
    except SettingsError as error:
        if settings.mail_from:
            do = "Correct that; web and workers do not start like this."
            yield Finding("sender", "wrong", f"{error}.", do)
    yield _links(settings)
    yield from _transport(settings)


def _transport(settings: Settings) -> Iterator[Finding]:
    """Connections without TLS: wrong if web and workers refuse to start, advice if it is allowed."""
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
    """The domain of reminders' sender; empty if MAIL_FROM names none."""
    return headers.mail_from_domain(settings.mail_from).lower()
