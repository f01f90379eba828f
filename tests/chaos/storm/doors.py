"""The doors of a running site, as a browser, a program, a mail program and a script use them.

Each act is posted to a real web process, or is a statement in plain SQL, and comes back as a `Reply`: what the door
answered about each snooze. A door that says nothing about a copy that may still arrive has `may_arrive` None.
"""

import http.client
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import psycopg

from snoozer.mail import links
from tests.factories import Person
from tests.web.bulk_forms import toast

HOST = "snoozer.example"
TIMEOUT = 60.0
MAY_ARRIVE = "may still arrive"
SCRIPT = "storm-script"
UNDONE = ("Cancelled.", "Paused, as before.", "The note is as before.", "Asleep ")
FORM = re.compile(r'<form method="post" action="([^"]+)" data-undo>(.*?)</form>', re.S)
TOKEN = re.compile(r'name="csrf_token" value="([^"]*)"')
FIELD = re.compile(r'name="([^"]+)" value="([^"]*)"')


class NoAnswer(Exception):
    """The request failed, and whether the act was done is unknown."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a door says about one snooze; None if it says nothing of the kind. `at` is the database's clock in the
    transaction of plain SQL."""

    done: bool | None
    may_arrive: bool | None = None
    code: str | None = None
    at: float | None = None


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """What undoes an act: a path of the pages with its fields, or one of the API with its body."""

    door: str
    path: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a door answered, by the id of each snooze that was named."""

    statements: Mapping[int, Statement]
    status: int = 200
    undo: Undoing | None = None


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The snooze that an act is about, as its person sees it, with others of a selection, and the terms that are
    wanted."""

    id: int
    user_email: str
    message_id: str
    promise: datetime
    at: datetime
    note: str
    kept: int | None = None
    others: tuple[int, ...] = ()
    undo: Undoing | None = None

    @property
    def ids(self) -> list[int]:
        return [self.id, *self.others]


@dataclass
class Visit:
    """One person's browser and program, used by one thread: its cookies are no other thread's."""

    port: int
    person: Person
    key: str
    database_url: str
    _cookies: dict[str, str] = field(default_factory=dict)
    _token: str = ""

    def page(self, path: str, fields: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> tuple[int, str]:
        """Post a form, and read the page that it leads to."""
        if not self._token:
            self._cookies["snoozer_session"] = self.person.session
            _, text = self._browse("GET", "/add")
            found = TOKEN.search(text)
            assert found is not None, text[:2000]
            self._token = unescape(found[1])
        pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
        return self._browse("POST", path, urlencode([*pairs, ("csrf_token", self._token)]))

    def open(self, path: str) -> int:
        """Open a page; returns its status."""
        self._cookies["snoozer_session"] = self.person.session
        return self._browse("GET", path)[0]

    def program(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        headers = {**self.person.bearer, "Content-Type": "application/json"}
        content = json.dumps(body) if body else ""
        status, _, text = self._request(method, f"/api/v1{path}", content, headers if content else self.person.bearer)
        return status, json.loads(text) if text else {}

    def link(self, path: str, fields: Mapping[str, Any]) -> int:
        """Press a button of the page behind a link in a mail; no sign-in."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._request("POST", path, urlencode(fields), kind)[0]

    def sql(self, statement: str, values: Mapping[str, Any]) -> tuple[int, float] | None:
        """A statement of a script; returns the snooze and the database's clock, None if it found no row."""
        try:
            with psycopg.connect(self.database_url, application_name=SCRIPT, connect_timeout=5) as connection:
                row = connection.execute(statement, values).fetchone()
        except psycopg.Error as error:
            raise NoAnswer(str(error)) from error
        return None if row is None else (int(row[0]), float(row[1]))

    def is_open(self) -> bool:
        """Whether the site answers."""
        try:
            return self._request("GET", "/sign-in", "", {})[0] == 200
        except NoAnswer:
            return False

    def _browse(self, method: str, path: str, content: str = "") -> tuple[int, str]:
        status, headers, text = self._request(method, path, content, self._with_cookies(method))
        self._keep(headers)
        if status in {302, 303}:
            status, headers, text = self._request("GET", headers.get("Location", "/"), "", self._with_cookies("GET"))
            self._keep(headers)
        return status, text

    def _with_cookies(self, method: str) -> dict[str, str]:
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {}
        return cookies | kind

    def _keep(self, headers: http.client.HTTPMessage) -> None:
        for line in headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name] = morsel.coded_value

    def _request(
        self, method: str, path: str, content: str, headers: Mapping[str, str]
    ) -> tuple[int, http.client.HTTPMessage, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, content.encode() or None, {**headers, "Host": HOST})
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(type(error).__name__) from error
        finally:
            connection.close()
        if answer.status >= 500:
            raise NoAnswer(f"{answer.status} {path}: {text[:400]}")
        return answer.status, answer.headers, text


Act = Callable[[Visit, Aim], Reply]


def page(path: str, **fields: Any) -> Act:
    """A form on the page of a snooze, or on that of its kept message."""

    def act(visit: Visit, aim: Aim) -> Reply:
        status, text = visit.page(_path(path, aim), _filled(fields, aim))
        words, undo = toast(text), FORM.search(text)
        done = undo is not None and status == 200
        statements = Statement(
            done=done if "mailbox" not in path else done or None, may_arrive=MAY_ARRIVE in words, code=words
        )
        return Reply(statements={aim.id: statements}, status=status, undo=_undo_of("page", undo) if done else None)

    return act


def selection(act_name: str, **fields: Any) -> Act:
    """A button of the bar over the list of what is asleep. It says how many were done, not which."""

    def act(visit: Visit, aim: Aim) -> Reply:
        bar = [("page_id", str(uuid4())), ("as_of", datetime.now(UTC).isoformat())]
        rows = [("row", id) for id in aim.ids]
        status, text = visit.page(f"/bulk/asleep/{act_name}", [*bar, *rows, *_filled(fields, aim).items()])
        words, undo = toast(text), FORM.search(text)
        left = words.startswith("Nothing was changed")
        statements = Statement(done=False if left else None, may_arrive=MAY_ARRIVE in words, code=words)
        return Reply(statements=dict.fromkeys(aim.ids, statements), status=status, undo=_undo_of("page", undo))

    return act


def api(method: str, path: str, **fields: Any) -> Act:
    def act(visit: Visit, aim: Aim) -> Reply:
        status, answer = visit.program(method, _path(path, aim), _filled(fields, aim))
        id = answer.get("id", aim.id)
        undo = None
        if answer.get("event"):
            undo = Undoing(door="api", path=f"/snoozes/{id}/undo", fields={"event": answer["event"]})
        return Reply(statements={id: _notice(status, answer, answer)}, status=status, undo=undo)

    return act


def many(act_name: str, **fields: Any) -> Act:
    """An act of the API on a list."""

    def act(visit: Visit, aim: Aim) -> Reply:
        body = {"act": act_name, "ids": aim.ids} | _filled(fields, aim)
        status, answer = visit.program("POST", "/snoozes/bulk", body)
        statements = {
            one["id"]: _notice(one["status"], one.get("snooze") or {}, one.get("problem") or {})
            for one in answer.get("results", [])
        }
        undo = Undoing(door="many", path=f"/bulk/{answer['undo']}/undo", fields={}) if answer.get("undo") else None
        return Reply(statements=statements, status=status, undo=undo)

    return act


def create(visit: Visit, aim: Aim) -> Reply:
    """Snooze by the message, in a list of one."""
    one = {"message_id": aim.message_id, "remind_at": aim.at.isoformat(), "note": aim.note}
    status, answer = visit.program("POST", "/snoozes/bulk", {"act": "create", "snoozes": [one]})
    [result] = answer.get("results") or [{"status": status, "id": aim.id}]
    notices = _notice(result["status"], result.get("snooze") or {}, result.get("problem") or {})
    return Reply(statements={result.get("id") or aim.id: notices}, status=status)


def undo(visit: Visit, aim: Aim) -> Reply:
    """Undo what was done last, through the door that offered it."""
    assert aim.undo is not None
    if aim.undo.door == "page":
        status, text = visit.page(aim.undo.path, aim.undo.fields)
        words = toast(text)
        done = None if "/bulk/" in aim.undo.path else words.startswith(UNDONE)
        statements = Statement(done=done, may_arrive=MAY_ARRIVE in words, code=words)
        return Reply(statements=dict.fromkeys(aim.ids, statements), status=status)
    status, answer = visit.program("POST", aim.undo.path, aim.undo.fields)
    if aim.undo.door == "api":
        return Reply(statements={aim.id: _notice(status, answer, answer)}, status=status)
    statements = Statement(done=None, may_arrive=answer.get("may_arrive") is True, code=str(answer))
    return Reply(statements=dict.fromkeys(aim.ids, statements), status=status)


def link(act_name: str, **fields: Any) -> Act:
    """A button behind the link of the reminder for this promise, which has arrived."""

    def act(visit: Visit, aim: Aim) -> Reply:
        named = links.Link(snooze_id=aim.id, scheduled_for=aim.promise, action="see")
        token = links.sign(named, keys=[visit.key])
        status = visit.link(f"/r/{token}/{act_name}", _filled(fields, aim))
        return Reply(statements={aim.id: Statement(done=None)}, status=status)

    return act


def sql(statement: str) -> Act:
    def act(visit: Visit, aim: Aim) -> Reply:
        values = {name: getattr(aim, name) for name in ("id", "user_email", "message_id", "at")}
        found = visit.sql(statement, values)
        if found is None:
            return Reply(statements={aim.id: Statement(done=False)})
        return Reply(statements={found[0]: Statement(done=True, at=found[1])})

    return act


def _path(path: str, aim: Aim) -> str:
    return path.format(id=aim.id, kept=aim.kept)


def _filled(fields: Mapping[str, Any], aim: Aim) -> dict[str, Any]:
    return {name: value(aim) if callable(value) else value for name, value in fields.items()}


def _notice(status: int, snooze: Mapping[str, Any], problem: Mapping[str, Any]) -> Statement:
    if status in {200, 201}:
        return Statement(done=True, may_arrive=snooze.get("may_arrive") is True)
    return Statement(done=False, may_arrive=False, code=problem.get("code"))


def _undo_of(door: str, form: re.Match[str] | None) -> Undoing | None:
    if form is None:
        return None
    fields = {name: unescape(value) for name, value in FIELD.findall(form[2]) if name != "csrf_token"}
    return Undoing(door=door, path=unescape(form[1]), fields=fields)


def _iso(aim: Aim) -> str:
    return aim.at.isoformat()


def _note(aim: Aim) -> str:
    return aim.note


_SET = "UPDATE email_snoozes SET {} WHERE id = %(id)s{} RETURNING id, extract(epoch FROM clock_timestamp())"
UPSERT = """
INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (%(user_email)s, %(message_id)s, %(at)s)
ON CONFLICT (user_email, message_id) WHERE NOT inactive DO UPDATE SET remind_at = EXCLUDED.remind_at
RETURNING id, extract(epoch FROM clock_timestamp())
"""
CANCEL = "inactive = TRUE, outcome = 'cancelled', finished_at = now(), updated_at = now()"

DOORS: Mapping[str, Mapping[str, Act]] = {
    "page": {
        "move": page("/snoozes/{id}/time", at=_iso, note=_note),
        "once": page("/snoozes/{id}/time", at=_iso, note=_note),
        "every": page("/snoozes/{id}/time", at=_iso, note=_note, scope="every"),
        "wake": page("/snoozes/{id}/back"),
        "skip": page("/snoozes/{id}/skip", promise=lambda aim: aim.promise.isoformat()),
        "end": page("/snoozes/{id}/end", end="5 times"),
        "note": page("/snoozes/{id}/note", note=_note),
        "snooze": page("/mailbox/{kept}/snooze", at=_iso, note=_note),
        "inbox": page("/mailbox/{kept}/inbox"),
    }
    | {act: page(f"/snoozes/{{id}}/{act}") for act in ("pause", "resume", "cancel")},
    "selection": {"move": selection("time", at=_iso, note=_note)} | {act: selection(act) for act in ("wake", "cancel")},
    "api": {
        "snooze": api("POST", "/snoozes", message_id=lambda aim: aim.message_id, remind_at=_iso, note=_note),
        "move": api("PATCH", "/snoozes/{id}", remind_at=_iso, note=_note),
        "once": api("PATCH", "/snoozes/{id}", remind_at=_iso, note=_note, occurrence="once"),
        "every": api("PATCH", "/snoozes/{id}", remind_at=_iso, note=_note, occurrence="every"),
        "end": api("POST", "/snoozes/{id}/end", times=5),
        "note": api("PATCH", "/snoozes/{id}", note=_note),
        "options": api("PATCH", "/snoozes/{id}", priority=lambda aim: -(aim.at.microsecond % 100)),
        "cancel": api("DELETE", "/snoozes/{id}"),
    }
    | {act: api("POST", f"/snoozes/{{id}}/{act}") for act in ("wake", "skip", "pause", "resume")},
    "many": {"snooze": create, "move": many("reschedule", remind_at=_iso, note=_note)}
    | {act: many(act) for act in ("wake", "skip", "pause", "resume", "cancel")},
    "link": {"done": link("done"), "again": link("again", at=_iso, note=_note)},
    "sql": {
        "snooze": sql(UPSERT),
        "move": sql(_SET.format("remind_at = %(at)s", " AND outcome IS NULL")),
        "pause": sql(_SET.format("inactive = TRUE", " AND NOT inactive")),
        "resume": sql(_SET.format("inactive = FALSE", " AND outcome IS NULL AND paused_by IS NULL")),
        "cancel": sql(_SET.format(CANCEL, " AND outcome IS NULL")),
    },
    "undo": {"undo": undo},
}
