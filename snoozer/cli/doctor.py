"""`snoozer doctor`: is everything as promised? Each answer with a sentence, and with what to do where it is no."""

import json
import sys
from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import DBAPIError

from snoozer import settings
from snoozer.cli import checks, settings_report
from snoozer.cli.check_result import Finding
from snoozer.cli.console import refuse, show
from snoozer.cli.error_text import Complaint, of_failure
from snoozer.db.engine import make_engine
from snoozer.settings import Settings

_COLOURS = {"right": "green", "wrong": "bold red", "advice": "yellow", "skipped": "dim"}


@click.command("doctor", help="Examine settings, database, workers, mail server and the invariants.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """Exits with 0 when all is right, 1 when something is wrong, 2 when the database cannot be asked."""
    terms = settings.load().require("database_url")
    of_database, complaint = _of_database(terms)
    findings = [*settings_report.of_settings(terms), *of_database, *checks.of_mail(terms)]
    healthy = all(finding.verdict != "wrong" for finding in findings)
    if as_json:
        told = {"healthy": healthy, "checks": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(told | {"settings": settings_report.told(terms)}, indent=2))
    else:
        _print(findings, settings_report.told(terms))
        click.echo("Everything is as promised." if healthy else "Something is wrong; see above for what to do.")
    if complaint is not None:
        refuse(f"{complaint}.")
    sys.exit(0 if healthy else 1)


def _of_database(terms: Settings) -> tuple[list[Finding], Complaint | None]:
    """What the database answers, up to where it fails."""
    findings: list[Finding] = []
    engine = make_engine(terms.database_url.get_secret_value(), name="doctor", pool_size=1, pgbouncer=terms.pgbouncer)
    try:
        with engine.begin() as connection:
            findings.extend(checks.of_database(connection, terms))
    except DBAPIError as failure:
        complaint = of_failure(failure)
        return [*findings, checks.of_complaint(complaint)], complaint
    finally:
        engine.dispose()
    return findings, None


def _print(findings: list[Finding], told: dict[str, str]) -> None:
    values = Table("setting", "value", title="Settings", title_justify="left")
    for name, value in told.items():
        values.add_row(Text(name), Text(value))
    examined = Table("check", "verdict", "what", title="Examination", title_justify="left")
    for finding in findings:
        examined.add_row(
            Text(finding.check),
            Text(finding.verdict, style=_COLOURS[finding.verdict]),
            Text(f"{finding.says}\n{finding.do}".rstrip()),
        )
    show(values, examined)
