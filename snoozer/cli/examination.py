"""What `snoozer doctor` examines. A finding says what is, what that means, and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from email.utils import parseaddr
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr
from sqlalchemy import Connection
from sqlalchemy.engine import make_url

from snoozer.mail.relay import Relay, is_loopback
from snoozer.mail.smtp import RelayDown, reach
from snoozer.postgres import doctor, schema
from snoozer.postgres.doctor import Broken
from snoozer.settings import Settings, SettingsRefused

OLDEST_SERVER = 140_000
MOST_SHOWN = 5
CONNECT_SECONDS = 10.0
A_DAY_AND_A_BIT = 26 * 3600
# Names that nobody's mail reaches from outside (RFC 2606, RFC 6762).
_PRIVATE = (".local", ".localhost", ".test", ".example", ".invalid", ".internal")

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


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One answer. `do` is empty unless there is something to do."""

    check: str
    verdict: Literal["right", "wrong", "advice", "skipped"]
    says: str
    do: str = ""


def told(settings: Settings) -> dict[str, str]:
    """Every setting by its name, as it is in force. Secrets and whatever may hold one are left out."""
    return {
        str(field.alias): _shown(str(field.alias), getattr(settings, name))
        for name, field in type(settings).model_fields.items()
    }


def of_settings(settings: Settings) -> Iterator[Finding]:
    """What each process would refuse to start without."""
    if not settings.keys:
        yield _skipped("secret key", "SECRET_KEY is not set here; web and workers do not start without it.")
        return
    try:
        settings.need("secret_key")
    except SettingsRefused as refused:
        yield _wrong("secret key", f"{refused}.", "Links in mails could be forged: set a key of its own.")
    else:
        yield _right("secret key", f"A key ring of {len(settings.keys)}.")


def of_database(connection: Connection, settings: Settings) -> Iterator[Finding]:
    """The server, the schema, the processes at work, and the invariants. Raises DBAPIError when it is away."""
    doctor.terms(connection, lease=settings.lease, sweep=settings.sweep, backoff=settings.backoff)
    yield _server(connection)
    current, head = schema.versions(connection)
    if current != head:
        yield _wrong(
            "schema",
            f"The schema is at {current or 'nothing'}, not at {head}: nothing more is asked.",
            "Run `snoozer migrate`, or run the version of Snoozer that belongs to this schema.",
        )
        return
    yield _right("schema", f"At {head}.")
    yield _guards(connection)
    yield from _at_work(connection, settings)
    for invariant in doctor.INVARIANTS:
        yield _invariant(invariant, doctor.broken(connection, invariant))


def of_mail(settings: Settings) -> Iterator[Finding]:
    """Whether the mail server lets us in, and what the DNS must say of the sender's domain. No mail is sent."""
    if settings.smtp_url.get_secret_value():
        yield _relay(settings)
    else:
        yield _skipped("mail server", "SMTP_URL is not set here, so no mail server was asked.")
    yield _records(_domain(settings))


def _server(connection: Connection) -> Finding:
    server = doctor.server(connection)
    if server.version_number < OLDEST_SERVER:
        says = f"PostgreSQL {server.version} is older than 14, and Snoozer's statements are not made for it."
        return _wrong("database", says, "Upgrade the server.")
    if server.read_only:
        says = "This server only reads: it is a standby, and nothing can be put away or sent."
        return _wrong("database", says, "Let DATABASE_URL name the primary, with target_session_attrs=read-write.")
    if server.switched_off:
        says = f"{', '.join(server.switched_off)} is off: what the page confirmed can be lost when the server crashes."
        return _wrong("database", says, "Switch it on in the server's configuration and reload it.")
    return _right("database", f"PostgreSQL {server.version}; what it confirms is on disk.")


def _guards(connection: Connection) -> Finding:
    missing = doctor.guards(connection)
    if missing:
        says = f"Switched off or gone: {', '.join(missing)}."
        return _wrong("guards", says, f"{_GUARDS_MEAN}{', '.join(missing)}.")
    return _right("guards", "Unique indexes and triggers that hold the invariants are in force.")


def _at_work(connection: Connection, settings: Settings) -> Iterator[Finding]:
    alive = doctor.liveness(connection, dead_after=timedelta(seconds=settings.worker_dead))
    patience = 3 * settings.sweep + 10
    if alive.swept_ago is None or alive.swept_ago > patience:
        since = "never swept" if alive.swept_ago is None else f"last swept {float(alive.swept_ago):.0f} s ago"
        says = f"Housekeeping has {since}: what lost workers hold is not taken back."
        yield _wrong("clock", says, "Start `snoozer clock`; one is enough, more do no harm.")
    else:
        yield _right("clock", f"Housekeeping last swept {float(alive.swept_ago):.0f} s ago.")
    if alive.prepared_ago is not None and alive.prepared_ago > A_DAY_AND_A_BIT:
        says = (
            "No partitions of the archive were made for more than a day, so what is over stays in the queue's tables."
        )
        yield _wrong("archive", says, "Look at what `snoozer clock` says; its role must be allowed to create tables.")
    if alive.workers:
        yield _right("workers", f"{alive.workers} alive.")
    else:
        yield _wrong("workers", "No worker is alive: no reminder goes out.", "Start `snoozer worker`.")
    if alive.open_breakers:
        says = "The breaker is open: the mail server failed, and is asked again after the cooldown. Nothing is lost."
        yield _advice("breaker", says, "Look at the mail server below and at /admin.")
    if alive.cases:
        yield _advice("cases", f"{alive.cases} wait for a decision.", "Reactivate or dismiss them on /admin.")
    if alive.long_uncertain:
        says = f"{alive.long_uncertain} reminders have been uncertain for more than a day: nobody knows if they left."
        yield _wrong("uncertain", says, "Decide about them on /admin; `snoozer support uncertain` lists them.")
    else:
        yield _right("uncertain", "No reminder has been uncertain for more than a day.")


def _invariant(name: str, rows: list[Broken]) -> Finding:
    check = f"invariant {name.replace('_', ' ')}"
    if not rows:
        return _right(check, "Holds.")
    meaning, do = _MEANING[name]
    shown = "; ".join(
        f"snooze {row.snooze_id}{f', send {row.send_id}' if row.send_id else ''}: {row.what}"
        for row in rows[:MOST_SHOWN]
    )
    more = f"; and more in the view invariant_{name}" if len(rows) > MOST_SHOWN else ""
    return _wrong(check, f"{meaning} {shown}{more}.", do)


def _relay(settings: Settings) -> Finding:
    check = "mail server"
    try:
        relay = Relay.from_url(settings.smtp_url.get_secret_value())
    except ValueError as refused:
        return _wrong(check, str(refused), "Correct SMTP_URL; no worker starts with this one.")
    where = f"{relay.host}:{relay.port}"
    try:
        reach(relay, helo=_domain(settings) or "localhost", deadline=CONNECT_SECONDS)
    except RelayDown as down:
        says = f"{where} cannot be used: {down}. Reminders wait; no attempts are spent."
        return _wrong(check, says, "Check SMTP_URL, the way to the server and the login.")
    return _right(check, f"{where} greets us and takes our login." if relay.user else f"{where} greets us.")


def _records(domain: str) -> Finding:
    check = "sender's domain"
    if not domain:
        return _skipped(check, "MAIL_FROM is not set here, so nothing is known of the sender's domain.")
    if is_loopback(domain) or f".{domain}".endswith(_PRIVATE) or "." not in domain:
        return _skipped(check, f"{domain} is a private name; its mail stays here and needs no records.")
    says = f"These records make mail from {domain} trusted; they are not looked up here."
    records = (
        f'{domain} TXT "v=spf1 … -all" that names the mail server of SMTP_URL (SPF)',
        f'<selector>._domainkey.{domain} TXT "v=DKIM1; k=rsa; p=…", the key your mail server signs with (DKIM)',
        f'_dmarc.{domain} TXT "v=DMARC1; p=quarantine; rua=mailto:…" (DMARC)',
        f"{domain} MX, so that bounces and replies find a way back",
    )
    return _advice(check, says, "\n".join(records))


def _domain(settings: Settings) -> str:
    return parseaddr(settings.mail_from)[1].rpartition("@")[2].lower()


def _shown(name: str, value: object) -> str:
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


def _right(check: str, says: str) -> Finding:
    return Finding(check=check, verdict="right", says=says)


def _wrong(check: str, says: str, do: str) -> Finding:
    return Finding(check=check, verdict="wrong", says=says, do=do)


def _advice(check: str, says: str, do: str) -> Finding:
    return Finding(check=check, verdict="advice", says=says, do=do)


def _skipped(check: str, says: str) -> Finding:
    return Finding(check=check, verdict="skipped", says=says)
