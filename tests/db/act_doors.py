"""The doors to the acts on a snooze, each used as a person or a program would, and a snooze in each state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.cli import commands
from snoozer.queue import queue
from snoozer.queue.reminder import Claim, Deferral, Send
from snoozer.settings import Settings
from snoozer.timephrase.recurrence import Recurrence
from tests.api_sites import a_site
from tests.db import transitions
from tests.db.transitions import mark_uncertain_one, refuse_one, release_one
from tests.factories import ANN, HOUR, People, Person, a_kept_message, a_mailbox, a_snooze, an_original, now, the_row
from tests.mail_doors import DOMAIN, a_mail, mail_doors, text_of
from tests.web.bulk_forms import toast
from tests.web.page_forms import press_undo
from tests.web.reminders import an_old_link

DAY = 24 * HOUR
# Due snoozes were promised for FIRST, and sleeping ones for NEXT. A series comes each day at that hour.
FIRST = now().replace(second=0, microsecond=0) - timedelta(minutes=5)
NEXT, LATER = FIRST + DAY, FIRST + 2 * DAY
# Acts move snoozes to TIME, and a later change to OTHER. Both come before NEXT, so a test sees which occurrence moved.
TIME, OTHER = FIRST + 12 * HOUR, FIRST + 13 * HOUR
PHRASE, NOTE, PRIORITY, TIMES = f"{TIME:%Y-%m-%d %H:%M}", "Both floors", -100, 5
MAY_ARRIVE = "may still arrive"

ENTER = """
INSERT INTO messages (
    mailbox_id, user_email, message_id, fingerprint, size, internal_date, home, place, wanted, folder, uidvalidity, uid,
    snooze_id, returns_at
)
SELECT
    :mailbox, :ann, :message, 'f', 1, now(), 'INBOX', 'snoozed', 'snoozed', 'Snoozed', 1, :uid, id, remind_at
FROM email_snoozes
WHERE id = :id
"""
UPSERT = """
INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:user_email, :message_id, :at)
ON CONFLICT (user_email, message_id) WHERE NOT inactive DO UPDATE SET remind_at = EXCLUDED.remind_at
"""
CANCEL = """
UPDATE email_snoozes
SET inactive = TRUE, outcome = 'cancelled', finished_at = now(), updated_at = now(),
    claimed_at = NULL, claimed_by = NULL, claim_token = NULL, lease_expires_at = NULL
WHERE user_email = :user_email AND message_id = :message_id AND NOT inactive
"""
PAUSE = "UPDATE email_snoozes SET inactive = TRUE WHERE sender_email = 'bob@mail.example'"
RERUN = (
    "UPDATE email_snoozes SET attempts = 0, last_error = NULL, last_error_at = NULL, inactive = FALSE WHERE id = :id"
)
DELAY = "UPDATE email_snoozes SET remind_at = :at WHERE id = :id"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a door. `code` says why the snooze was left, if the door has codes; `undo` undoes the act, if the
    door offers that."""

    text: str
    may_arrive: bool
    code: str | None = None
    undo: "Callable[[], Answer] | None" = None


class Site:
    """A site with one account, Ann's, and the last claim and send of its worker."""

    claim: Claim
    send: Send

    def __init__(self, engine: Engine, app: Flask, settings: Settings) -> None:
        self.engine, self.app, self.settings = engine, app, settings
        self.ann = People(engine).ann(zone="UTC")
        self.browser = self.a_browser(self.ann)

    def a_browser(self, person: Person) -> FlaskClient:
        browser = self.app.test_client()
        browser.set_cookie("snoozer_session", person.session)
        return browser

    def request(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = self.ann.bearer
        answer = self.app.test_client().open(f"/api/v1{path}", method=method, headers=headers, json=body or None)
        assert answer.status_code in {200, 201, 404, 409}, answer.text
        return dict(answer.get_json())

    def execute(self, statement: str, **values: Any) -> list[Any]:
        with self.engine.begin() as connection:
            result = connection.execute(text(statement), values)
            return list(result.all()) if result.returns_rows else []

    def an_asleep_snooze(self, **columns: Any) -> int:
        return a_snooze(self.engine, remind_at=NEXT, **columns)

    def a_snoozed_conversation(self) -> int:
        """Its messages lie in a connected mailbox, and left with the newest of them."""
        id = self.an_asleep_snooze(message_id="<2@talk.example>")
        mailbox = a_mailbox(self.engine, account_id=self.ann.id)
        for number in range(3):
            self.execute(ENTER, mailbox=mailbox, ann=ANN, message=f"<{number}@talk.example>", uid=number, id=id)
        return id

    def a_held_snooze(self, **columns: Any) -> int:
        self.claim, self.send = transitions.a_held_mail(self.engine, remind_at=FIRST, **columns)
        return self.claim.id

    def a_leaving_snooze(self, **columns: Any) -> int:
        id = self.a_held_snooze(**columns)
        assert transitions.authorise(self.engine, self.send)
        return id

    def an_uncertain_snooze(self) -> int:
        id = self.a_leaving_snooze()
        with self.engine.begin() as connection:
            assert mark_uncertain_one(connection, self.send)
            release_one(connection, self.claim, error="no answer", attempts_used=0, delay=HOUR)
        return id

    def a_refused_snooze(self, *, permanent: bool) -> int:
        id = self.a_held_snooze()
        with self.engine.begin() as connection:
            refuse_one(connection, self.send, reply="451 later", smtp_code=451)
            release_one(connection, self.claim, error="451 later", attempts_used=1, delay=HOUR, permanent=permanent)
        return id

    def a_deferred_snooze(self) -> int:
        id = a_snooze(self.engine, remind_at=FIRST)
        [held] = transitions.claim(self.engine)
        with self.engine.begin() as connection:
            rest = Deferral(id=id, until=NEXT, reason="quiet hours")
            assert queue.rest(connection, held=[(id, held.claim_token)], deferrals=[rest])
        return id

    def a_sent_snooze(self) -> int:
        id = self.a_leaving_snooze()
        transitions.record(self.engine, self.send)
        assert transitions.finalize(self.engine, self.claim)
        return id

    def after(self, act: "Act") -> int:
        id = self.an_asleep_snooze()
        assert act(self, id).code is None
        return id


Act = Callable[[Site, int], Answer]


def _filled(fields: Mapping[str, Any], row: Any) -> dict[str, Any]:
    return {name: value(row) if callable(value) else value for name, value in fields.items()}


def page(path: str, **fields: Any) -> Act:
    """A form on the page of a snooze or, with `{kept}`, of its message in the mailbox that Snoozer keeps."""

    def act(site: Site, id: int) -> Answer:
        row = the_row(site.engine, id)
        kept = _keep(site, row.message_id) if "{kept}" in path + str(fields) else None
        form = {name: kept if value == "{kept}" else value for name, value in _filled(fields, row).items()}
        answer = site.browser.post(path.format(id=id, kept=kept), data=form, follow_redirects=True)
        assert answer.status_code in {200, 422}
        return _shown(site, answer.text)

    return act


def _shown(site: Site, page: str) -> Answer:
    words = toast(page)
    undo = (lambda: _shown(site, press_undo(site.browser, page).text)) if "data-undo" in page else None
    return Answer(text=words, may_arrive=MAY_ARRIVE in words, undo=undo)


def _keep(site: Site, message_id: str) -> int:
    """Store the message in the folder of snoozed messages; returns its id."""
    kept = a_kept_message(site.engine, message_id=message_id)
    site.execute("UPDATE messages SET folder = 'snoozed' WHERE id = :id", id=kept)
    return kept


def selection(path: str, **fields: Any) -> Act:
    """An act on a selection of snoozes, or of messages in the mailbox."""
    row = "{kept}" if "mailbox" in path else (lambda row: row.id)
    bar = {"page_id": lambda _: uuid4(), "as_of": lambda _: now().isoformat(), "row": row}
    return page(path, **bar, **fields)


def api(method: str, path: str, **fields: Any) -> Act:
    def act(site: Site, id: int) -> Answer:
        answer = site.request(method, path.format(id=id), _filled(fields, the_row(site.engine, id)))
        undo = {"event": answer["event"]} if "event" in answer else {}
        return _answered(site, answer, answer.get("code"), f"/snoozes/{id}/undo", undo)

    return act


def many(act: str, **fields: Any) -> Act:
    """An act on a list of snoozes, by the API."""

    def perform(site: Site, id: int) -> Answer:
        asked = _filled(fields, the_row(site.engine, id))
        chosen = {"snoozes": [asked]} if act == "create" else {"ids": [id]} | asked
        answer = site.request("POST", "/snoozes/bulk", {"act": act} | chosen)
        [result] = answer["results"]
        left = result.get("problem", {}).get("code")
        return _answered(site, result.get("snooze", {}), left, f"/bulk/{answer['undo']}/undo", {})

    return perform


def _answered(site: Site, answer: Mapping[str, Any], code: str | None, path: str, body: Mapping[str, Any]) -> Answer:
    def undo() -> Answer:
        undone = site.request("POST", path, body)
        return _answered(site, undone, undone.get("code") or next(iter(undone.get("left", {})), None), path, body)

    return Answer(text=str(answer), may_arrive=answer.get("may_arrive") is True, code=code, undo=undo)


def link(path: str, *, by_mail: bool = True, **fields: Any) -> Act:
    """A button on the page behind the link of a mail or, without `by_mail`, behind that of a notification."""

    def act(site: Site, id: int) -> Answer:
        token = an_old_link(site.engine, site.settings, id, act="see" if by_mail else "done")
        answer = site.app.test_client().post(token + path, data=fields, follow_redirects=True)
        assert answer.status_code == 200
        return Answer(text=answer.text, may_arrive=MAY_ARRIVE in answer.text)

    return act


def answer(line: str) -> Act:
    """An answer to the reminder of the snooze's promise, or to the mail that confirmed it."""

    def act(site: Site, id: int) -> Answer:
        with mail_doors(site.engine, site.settings) as doors:
            number = len(doors.rows("SELECT id FROM mail_acts"))
            mail = a_mail(line, fields=[f"X-Number: {number}"])
            assert doors.deliver(mail, doors.answer_address(id)) == ["250 2.0.0 Kept"]
            (sent,) = doors.answers()
        text = text_of(sent)
        undo = (lambda: answer("undo")(site, id)) if "Snoozed: " in text or "Paused: " in text else None
        return Answer(text=text, may_arrive=MAY_ARRIVE in text, undo=undo)

    return act


def address(site: Site, id: int) -> Answer:
    """A mail with the Message-ID of the snooze, to an address with a time and the person's key."""
    mail = an_original(message_id=the_row(site.engine, id).message_id)
    with mail_doors(site.engine, site.settings) as doors:
        [(key,)] = doors.rows("SELECT mail_key FROM accounts")
        assert doors.deliver(mail, f"{TIME:%Y-%m-%dt%H%M}+{key}@{DOMAIN}") == ["250 2.0.0 Kept"]
        (sent,) = doors.answers()
    return Answer(text=text_of(sent), may_arrive=MAY_ARRIVE in text_of(sent))


def operator(act: str) -> Act:
    def perform(site: Site, id: int) -> Answer:
        form = {"act": act, "id": id, "as_of": (now() + DAY).isoformat(), "why": "mended", "from": "case"}
        browser = site.a_browser(People(site.engine).operator())
        return Answer(text=browser.post("/admin/operations", data=form).text, may_arrive=False)

    return perform


def sql(statement: str) -> Act:
    def act(site: Site, id: int) -> Answer:
        values = {"id": id, "user_email": ANN, "message_id": the_row(site.engine, id).message_id, "at": TIME}
        site.execute(statement, **{name: value for name, value in values.items() if f":{name}" in statement})
        return Answer(text="", may_arrive=False)

    return act


def command(*words: str) -> Act:
    """A command on a person's own machine, without a database."""

    def act(site: Site, id: int) -> Answer:
        row, token = the_row(site.engine, id), site.ann.token
        with a_site(site.engine, site.settings) as url:
            mine = {"SNOOZER_URL": url, "SNOOZER_TOKEN": token, "SNOOZER_HOME": str(site.settings.home)}
            given = [word.format(id=id, message_id=row.message_id) for word in words]
            result = CliRunner().invoke(commands, given, env=mine | {"DATABASE_URL": None, "BASE_URL": None})
        left = "over" if result.exit_code == 2 and "over" in result.stderr else None
        return Answer(text=result.output, may_arrive=MAY_ARRIVE in result.output, code=left)

    return act


def promise_of(row: Any) -> datetime:
    promise: datetime = row.scheduled_for or row.remind_at
    return promise.astimezone(UTC)


_REPEATS: Mapping[str, Any] = {
    "recurrence": Recurrence(unit="day", interval=1, start=FIRST.date(), at=FIRST.time()).as_json(),
    "time_kind": "wall",
}
_AT: Mapping[str, Any] = {"preset": f"{PHRASE}|{TIME.isoformat()}"}
_REMIND: Mapping[str, Any] = {"remind_at": TIME.isoformat()}
_MESSAGE: Mapping[str, Any] = {"message_id": lambda row: row.message_id, "when": PHRASE}

DOORS: Mapping[str, Mapping[str, Act]] = {
    "page": {
        "snooze": page("/mailbox/{kept}/snooze", **_AT),
        "move": page("/snoozes/{id}/time", scope="every", **_AT),
        "once": page("/snoozes/{id}/time", **_AT),
        "wake": page("/snoozes/{id}/back"),
        "skip": page("/snoozes/{id}/skip", promise=lambda row: promise_of(row).isoformat()),
        "end": page("/snoozes/{id}/end", end=f"{TIMES} times"),
        "note": page("/snoozes/{id}/note", note=NOTE),
    }
    | {act: page(f"/snoozes/{{id}}/{act}") for act in ("pause", "resume", "cancel")}
    | {act: page(f"/mailbox/{{kept}}/{act}") for act in ("done", "inbox")},
    "selection": {
        "snooze": selection("/bulk/mailbox/snooze", **_AT),
        "move": selection("/bulk/asleep/time", **_AT),
    }
    | {act: selection(f"/bulk/asleep/{act}") for act in ("wake", "cancel")}
    | {act: selection(f"/bulk/mailbox/{act}") for act in ("done", "inbox")},
    "api": {
        "snooze": api("POST", "/snoozes", **_MESSAGE),
        "move": api("PATCH", "/snoozes/{id}", **_REMIND),
        "once": api("PATCH", "/snoozes/{id}", occurrence="once", **_REMIND),
        "end": api("POST", "/snoozes/{id}/end", times=TIMES),
        "cancel": api("DELETE", "/snoozes/{id}"),
        "note": api("PATCH", "/snoozes/{id}", note=NOTE),
        "options": api("PATCH", "/snoozes/{id}", priority=PRIORITY),
    }
    | {act: api("POST", f"/snoozes/{{id}}/{act}") for act in ("wake", "skip", "pause", "resume", "done")},
    "many": {"snooze": many("create", **_MESSAGE), "move": many("reschedule", **_REMIND)}
    | {act: many(act) for act in ("wake", "skip", "pause", "resume", "cancel", "done")},
    "link": {"done": link("/done"), "again": link("/again", **_AT)},
    "button": {"done": link("/done", by_mail=False), "again": link("/again", by_mail=False, **_AT)},
    "answer": dict.fromkeys(("once", "again"), answer(f"{PHRASE} UTC"))
    | {act: answer(act) for act in ("done", "cancel", "pause")},
    "address": {"snooze": address},
    "operator": {"reactivate": operator("reactivate"), "dismiss": operator("dismiss")},
    "sql": {"snooze": sql(UPSERT), "move": sql(DELAY), "pause": sql(PAUSE), "rerun": sql(RERUN), "cancel": sql(CANCEL)},
    "command": {
        "snooze": command("add", "It", "--when", PHRASE, "--message-id", "{message_id}"),
        "cancel": command("cancel", "{id}"),
    },
}
STATES: Mapping[str, Callable[[Site], int]] = {
    "asleep": Site.an_asleep_snooze,
    "repeating": lambda site: site.an_asleep_snooze(**_REPEATS),
    "paused": lambda site: site.after(DOORS["api"]["pause"]),
    "due": lambda site: a_snooze(site.engine, remind_at=FIRST),
    "held": Site.a_held_snooze,
    "leaving": Site.a_leaving_snooze,
    "leaving_repeating": lambda site: site.a_leaving_snooze(**_REPEATS),
    "uncertain": Site.an_uncertain_snooze,
    "retry": lambda site: site.a_refused_snooze(permanent=False),
    "resting": Site.a_deferred_snooze,
    "sent": Site.a_sent_snooze,
    "cancelled": lambda site: site.after(DOORS["api"]["cancel"]),
    "case": lambda site: site.a_refused_snooze(permanent=True),
    "together": Site.a_snoozed_conversation,
}
