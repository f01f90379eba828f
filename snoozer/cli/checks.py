"""What `snoozer doctor` asks the database and the mail server."""

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import Connection

from snoozer.cli.check_result import Finding, advice, right, skipped, wrong
from snoozer.cli.error_text import Complaint
from snoozer.cli.settings_report import is_private, sender_domain
from snoozer.db import health_checks, schema
from snoozer.db.health_checks import Violation
from snoozer.settings import Settings
from snoozer.smtp.session import ServerUnavailable, check_reachable
from snoozer.smtp.url import SmtpServer

OLDEST_SERVER = 140_000
MOST_SHOWN = 5
CONNECT_SECONDS = 10.0
A_DAY_AND_A_BIT = 26 * 3600

_MEANING = {
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

_GUARDS_MEAN = "Nothing but the programs' own care keeps the promise now. Make them anew as the migrations do: "


def of_database(connection: Connection, settings: Settings) -> Iterator[Finding]:
    """The server, the schema, the processes at work, and the invariants. Raises DBAPIError when it is away."""
    health_checks.set_thresholds(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
    yield _server(connection)
    stands = schema.status(connection)
    if stands.where != "at head":
        yield wrong("schema", f"{stands.message}: nothing more is asked.", _sentence(stands.do))
        return
    yield right("schema", f"{stands.message}.")
    yield _guards(connection)
    yield from _at_work(connection, settings)
    for invariant in health_checks.INVARIANTS:
        yield _invariant(invariant, health_checks.violations(connection, invariant))


def of_complaint(complaint: Complaint) -> Finding:
    """What is wrong where the database could not be asked."""
    return wrong("database", f"{complaint.says}.", _sentence(complaint.do))


def of_mail(settings: Settings) -> Iterator[Finding]:
    """Whether the mail server lets us in, and what the DNS must say of the sender's domain. No mail is sent."""
    if settings.smtp_url.get_secret_value():
        yield _relay(settings)
    else:
        yield skipped("mail server", "SMTP_URL is not set here, so no mail server was asked.")
    yield _records(sender_domain(settings))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _server(connection: Connection) -> Finding:
    server = health_checks.server(connection)
    if server.version_number < OLDEST_SERVER:
        says = f"PostgreSQL {server.version} is older than 14, and Snoozer's statements are not made for it."
        return wrong("database", says, "Upgrade the server.")
    if server.encoding != schema.ENCODING:
        says = f"The database's encoding is {server.encoding}, which cannot hold what mails say."
        return wrong("database", says, f"Restore into one made by `{schema.CREATE_COMMAND}`.")
    if server.read_only:
        says = "This server only reads: it is a standby, and nothing can be put away or sent."
        return wrong("database", says, "Let DATABASE_URL name the primary, with target_session_attrs=read-write.")
    if server.switched_off:
        says = f"{', '.join(server.switched_off)} is off: what the page confirmed can be lost when the server crashes."
        return wrong("database", says, "Switch it on in the server's configuration and reload it.")
    return right("database", f"PostgreSQL {server.version}; what it confirms is on disk.")


def _guards(connection: Connection) -> Finding:
    missing = health_checks.disabled_guards(connection)
    if missing:
        says = f"Switched off or gone: {', '.join(missing)}."
        return wrong("guards", says, f"{_GUARDS_MEAN}{', '.join(missing)}.")
    return right("guards", "Unique indexes and triggers that hold the invariants are in force.")


def _at_work(connection: Connection, settings: Settings) -> Iterator[Finding]:
    alive = health_checks.liveness(connection, dead_after=timedelta(seconds=settings.worker_dead))
    patience = 3 * settings.sweep + 10
    if alive.swept_ago is None or alive.swept_ago > patience:
        since = "never swept" if alive.swept_ago is None else f"last swept {float(alive.swept_ago):.0f} s ago"
        says = f"Housekeeping has {since}: what lost workers hold is not taken back."
        yield wrong("clock", says, "Start `snoozer clock`; one is enough, more do no harm.")
    else:
        yield right("clock", f"Housekeeping last swept {float(alive.swept_ago):.0f} s ago.")
    if alive.prepared_ago is not None and alive.prepared_ago > A_DAY_AND_A_BIT:
        says = (
            "No partitions of the archive were made for more than a day, so what is over stays in the queue's tables."
        )
        yield wrong("archive", says, "Look at what `snoozer clock` says; its role must be allowed to create tables.")
    if alive.workers:
        yield right("workers", f"{alive.workers} alive.")
    else:
        yield wrong("workers", "No worker is alive: no reminder goes out.", "Start `snoozer worker`.")
    if alive.open_breakers:
        says = "The breaker is open: the mail server failed, and is asked again after the cooldown. Nothing is lost."
        yield advice("breaker", says, "Look at the mail server below and at /admin.")
    if alive.cases:
        yield advice("cases", f"{alive.cases} wait for a decision.", "Reactivate or dismiss them on /admin.")
    if alive.long_uncertain:
        says = f"{alive.long_uncertain} reminders have been uncertain for more than a day: nobody knows if they left."
        yield wrong("uncertain", says, "Decide about them on /admin; `snoozer support uncertain` lists them.")
    else:
        yield right("uncertain", "No reminder has been uncertain for more than a day.")


def _invariant(name: str, rows: list[Violation]) -> Finding:
    check = f"invariant {name.replace('_', ' ')}"
    if not rows:
        return right(check, "Holds.")
    meaning, do = _MEANING[name]
    shown = "; ".join(
        f"snooze {row.snooze_id}{f', send {row.send_id}' if row.send_id else ''}: {row.what}"
        for row in rows[:MOST_SHOWN]
    )
    more = f"; and more in the view invariant_{name}" if len(rows) > MOST_SHOWN else ""
    return wrong(check, f"{meaning} {shown}{more}.", do)


def _relay(settings: Settings) -> Finding:
    check = "mail server"
    try:
        relay = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    except ValueError as refused:
        return wrong(check, str(refused), "Correct SMTP_URL; no worker starts with this one.")
    where = f"{relay.host}:{relay.port}"
    try:
        check_reachable(relay, helo=sender_domain(settings) or "localhost", deadline=CONNECT_SECONDS)
    except ServerUnavailable as down:
        says = f"{where} cannot be used: {down}. Reminders wait; no attempts are spent."
        return wrong(check, says, "Check SMTP_URL, the way to the server and the login.")
    return right(check, f"{where} greets us and takes our login." if relay.user else f"{where} greets us.")


def _records(domain: str) -> Finding:
    check = "sender's domain"
    if not domain:
        return skipped(check, "MAIL_FROM is not set here, so nothing is known of the sender's domain.")
    if is_private(domain):
        return skipped(check, f"{domain} is a private name; its mail stays here and needs no records.")
    says = f"These records make mail from {domain} trusted; they are not looked up here."
    records = (
        f'{domain} TXT "v=spf1 … -all" that names the mail server of SMTP_URL (SPF)',
        f'<selector>._domainkey.{domain} TXT "v=DKIM1; k=rsa; p=…", the key your mail server signs with (DKIM)',
        f'_dmarc.{domain} TXT "v=DMARC1; p=quarantine; rua=mailto:…" (DMARC)',
        f"{domain} MX, so that bounces and replies find a way back",
    )
    return advice(check, says, "\n".join(records))
