"""A person's act always takes effect from now on; a copy whose dot was authorised before it may still arrive, and the
answer says so. This is the whole table: act, state and door give the result, the answer, the event and the Undo.

SQL judges each cell, by the row, the ledger and the events. `act_doors` has the doors and the states. Acts by folders
and flags of a connected mailbox need an IMAP server, so tests/imap has them. `snoozer mcp` has no acts of its own: each
tool leads to a route of the API (tests/process/cli/test_mcp.py).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import product
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from snoozer.settings import Settings
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.web import create_app
from tests.db import act_doors, transitions
from tests.db.act_doors import DOORS, FIRST, LATER, NEXT, STATES, TIME, Site, api, promise_of
from tests.factories import the_row

# The result of each act in each state; act@door holds for one door alone. RESULTS explains the words. "+" means that
# the answer says that a copy may still arrive; "-" that the act leaves the snooze as it is, with the reason; "=" that
# the act concerns the message alone; "." that there is no cell.
TABLE = """
#               asleep repeating paused due     held    leaving l.repeat uncertain retry resting sent cancelled case
snooze          move    move    move    move    move    move+   move+   move+   move    move    anew    anew    anew
snooze@sql      move    move    anew    move    move    move    move    move    move    move    anew    anew    anew
snooze@command  move    .       .       .       move    move+   .       .       .       .       anew    .       .
move            move    move    move    move    move    move+   move+   move+   move    move    -over   -over   -over
move@page       move    move    move    move    move    move+   move+   move+   move    move    anew    anew    anew
move@selection  move    move    move    move    move    move+   move+   move+   move    move    -over   -over   anew
move@many       move    move    move    move    move    move+   move+   move+   move    move    -over   -over   anew
move@sql        move    move    .       move    move    move    move    move    move    move    .       .       .
once            move    move    move    move    move    move+   move+   move+   move    move    -over   -over   -over
once@page       move    move    move    move    move    move+   move+   move+   move    move    anew    anew    anew
wake            now     now     now     -due    -due    -due    -due    -due    -due    now     -over   -over   -over
skip            -single skip    -single -single -single -single skip+   -single -single -single -over   -over   -over
pause           pause   pause   -paused pause   pause   pause+  pause+  pause+  pause   pause   -over   -over   -over
pause@sql       pause   pause   -paused pause   pause   pause   rest    pause   pause   pause   -over   -over   -over
resume          -runs   -runs   resume  -runs   -runs   -runs   -runs   -runs   -runs   -runs   -over   -over   -over
end             -single end     -single -single -single -single end+    -single -single -single -over   -over   -over
cancel          cancel  cancel  cancel  cancel  cancel  cancel+ cancel+ cancel+ cancel  cancel  -over   -over   -over
cancel@sql      cancel  cancel  .       cancel  cancel  cancel  cancel  cancel  cancel  cancel  -over   -over   -over
cancel@command  cancel  .       .       .       cancel  cancel+ .       .       .       .       -over   .       .
note            note    note    note    note    note    note+   note+   note+   note    note    -over   -over   -over
options         option  option  option  option  option  option+ option+ option+ option  option  -over   -over   -over
done            -ahead  -ahead  -ahead  -ahead  -ahead  cancel+ follow+ cancel  cancel  -ahead  done    -ahead  done
done@page       =       =       =       =       =       =       =       =       =       =       =       =       =
done@selection  =       =       =       =       =       =       =       =       =       =       =       =       =
done@link       .       .       .       .       .       cancel  follow  cancel  cancel  .       done    .       done
done@button     .       .       .       .       .       cancel+ follow+ cancel  cancel  .       done    .       done
done@answer     -ahead  -ahead  -ahead  -ahead  -ahead  cancel  follow  cancel  cancel  -ahead  done    -over   done
once@answer     move    move    move    move    move    .       .       .       .       move    .       -over   .
again@answer    .       .       .       .       .       move    .       move    move    .       anew    .       anew
cancel@answer   cancel  cancel  cancel  cancel  cancel  .       cancel  .       .       cancel  .       -over   .
pause@answer    pause   pause   -paused pause   pause   -over   pause   -over   -over   pause   -over   -over   -over
again@link      .       .       .       .       .       move    .       move    move    .       anew    .       anew
again@button    .       .       .       .       .       move+   .       move    move    .       anew    .       anew
inbox           cancel  cancel  =       cancel  cancel  cancel+ cancel+ cancel+ cancel  cancel  =       =       =
rerun           .       .       resume  .       .       .       .       .       .       .       refuse  refuse  alive
reactivate      -       -       -       -       -       -       -       -       -       -       -       -       alive
dismiss         -       -       -       -       -       -       -       -       -       -       -       -       cancel
"""
# The codes of reasons that the table abbreviates.
CODES = {"-runs": "not_paused", "-ahead": "not_back"}
# The kind of an act's event; that of a new snooze is "asked".
KINDS = {
    **{"snooze": "edited", "move": "edited", "once": "edited", "end": "edited", "options": "edited", "wake": "back"},
    **{"skip": "skipped", "pause": "paused", "resume": "resumed", "cancel": "cancelled", "inbox": "cancelled"},
    **{"note": "noted", "done": "done", "again": "again", "reactivate": "reactivated", "dismiss": "dismissed"},
}
ROUTES = {"page": "web", "selection": "web", "many": "api", "command": "api", "button": "link", "operator": "admin"}
# Acts that offer an Undo, with the states in which the tests undo them.
UNDOABLE = """
page move: asleep repeating
page|api once: repeating paused
page|api skip|end: repeating
page|api pause: asleep repeating held
page|api resume: paused
page note: asleep held
page|selection inbox: asleep
page cancel: resting
answer once: asleep repeating
answer pause: asleep repeating held
selection snooze: asleep
selection|many move: asleep repeating paused retry
page|selection|api|many wake: asleep repeating paused
page|selection|api|many cancel: asleep repeating paused held
"""
LEAVING = """
page|selection|api|many cancel: leaving
page|api cancel|skip: leaving_repeating
page|api pause: leaving
page|selection|many move: leaving
"""

FREE = (None, None, None, None)
FRESH = {
    **{"inactive": False, "outcome": None, "claim": FREE, "attempts": 0, "crash_count": 0},
    **{"last_error": None, "last_error_at": None, "deferred_until": None, "deferred_by": None},
}
# The columns of the row after the act, without its promise. Any other result leaves the whole row as it was.
RESULTS: Mapping[str, Mapping[str, Any]] = {
    **{"move": FRESH, "now": FRESH, "skip": FRESH, "follow": FRESH, "resume": FRESH},
    "alive": {"inactive": False, "outcome": None, "claim": FREE, "attempts": 0},
    "pause": {"inactive": True, "outcome": None, "claim": FREE},
    "rest": {"inactive": True, "outcome": None, "claim": FREE},
    "cancel": {"inactive": True, "outcome": "cancelled", "claim": FREE},
    "end": {"inactive": False, "outcome": None, "times": act_doors.TIMES},
    "note": {"note": act_doors.NOTE},
    "option": {"priority": act_doors.PRIORITY},
}
PROMISES = {"move": TIME, "skip": LATER, "follow": NEXT, "resume": NEXT}
KEPT = ("inactive", "outcome", "attempts", "last_error", "deferred_until", "recurrence", "remind_at", "promise")

# Where the messages of a conversation are to be, and when they return.
TOGETHER = "SELECT DISTINCT wanted, returns_at, snooze_id FROM messages WHERE NOT is_kept"


def cell(prefix: str, door: str, act: str, state: str, *values: Any) -> Any:
    """A case for pytest, named by its cell."""
    return pytest.param(door, act, state, *values, id=f"{prefix}{door} {act} {state}")


def choices(words: str) -> list[list[str]]:
    return [word.split("|") for word in words.split()]


def cells() -> Iterator[Any]:
    """A conversation that is asleep is one snooze as any other: the column `asleep` is that of `together`, too. Only
    Wake ends it, because messages that return need no reminder."""
    lines = (line.split() for line in TABLE.strip().splitlines()[1:])
    rules = {
        name: dict(zip(STATES, [*words, words[0].replace("now", "cancel")], strict=True)) for name, *words in lines
    }
    for door, act in ((door, act) for door, acts in DOORS.items() for act in acts):
        for state, word in rules.get(f"{act}@{door}", rules.get(act, {})).items():
            if word != ".":
                yield cell("", door, act, state, word)


def listed(prefix: str, text: str) -> list[Any]:
    lines = (line.split(": ") for line in text.strip().splitlines())
    return [cell(prefix, *one) for where, states in lines for one in product(*choices(where), states.split())]


def seen(row: Any) -> dict[str, Any]:
    """The row as acts change it."""
    claim = (row.claimed_at, row.claimed_by, row.claim_token, row.lease_expires_at)
    return {**row._mapping, "claim": claim, "promise": promise_of(row), "times": (row.recurrence or {}).get("times")}


def terms(row: Any) -> dict[str, Any]:
    """The part of a row that an Undo gives back."""
    names = "promise recurrence zone time_kind wall_time note reply_policy inactive outcome at_any_hour priority"
    return {name: seen(row)[name] for name in names.split()}


def events(site: Site) -> list[tuple[str, str, str]]:
    found = site.execute("SELECT kind, actor, route FROM snooze_events ORDER BY id")
    return [(event.kind, event.actor, event.route) for event in found]


def authorised(site: Site) -> list[tuple[str, datetime]]:
    """The sends whose dot was authorised, with their promises."""
    sends = "SELECT state, scheduled_for FROM reminder_sends WHERE dot_authorised_at IS NOT NULL ORDER BY id"
    return [(send.state, send.scheduled_for) for send in site.execute(sends)]


def others(site: Site, id: int) -> list[Any]:
    return site.execute("SELECT * FROM email_snoozes WHERE id <> :id", id=id)


@pytest.fixture(scope="module")
def home(migrated: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Flask, Settings]:
    """One site for all cells, because each new one compiles its pages again."""
    folder = tmp_path_factory.mktemp("home")
    given: dict[str, Any] = {
        **{"DATABASE_URL": migrated.url.render_as_string(hide_password=False), "SNOOZER_HOME": folder},
        **{"BASE_URL": "http://snoozer.example", "SECRET_KEY": "a-test-key-of-enough-length"},
        **{"SMTP_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "snoozer@snoozer.example"},
    }
    settings = Settings(**given)
    app = create_app(engine=migrated, settings=settings)
    app.config["WTF_CSRF_ENABLED"] = False
    return app, settings


@pytest.fixture
def site(engine: Engine, home: tuple[Flask, Settings]) -> Site:
    return Site(engine, *home)


@pytest.mark.parametrize(("door", "act", "state", "word"), list(cells()))
def test_an_act_does_the_same_through_every_door(site: Site, door: str, act: str, state: str, word: str) -> None:
    id = STATES[state](site)
    before, known, left = the_row(site.engine, id), len(events(site)), authorised(site)
    if word == "refuse":
        with pytest.raises(IntegrityError):
            DOORS[door][act](site, id)
        return
    answer, result = DOORS[door][act](site, id), word.rstrip("+")
    after, created = the_row(site.engine, id), others(site, id)
    if result in RESULTS:
        found = seen(after)
        wanted = {**RESULTS[result], **expected(seen(before), found, act, state, result)}
        assert {name: found[name] for name in wanted} == wanted
    else:
        assert after == before
    assert [row.message_id for row in created] == ([before.message_id] if result == "anew" else [])
    for row in map(seen, created):
        assert {name: row[name] for name in (*FRESH, "promise")} == FRESH | {"promise": TIME}
    if state == "together":
        assert len(site.execute(TOGETHER)) == 1
    if act not in {"done", "again"}:
        assert authorised(site) == left
    if state == "held" and after != before:
        assert not transitions.authorise(site.engine, site.send), "it leaves for the old promise"
    assert answer.may_arrive == word.endswith("+"), answer.text
    if door in {"api", "many", "command"}:
        assert answer.code == (CODES.get(result, result[1:]) if result[0] == "-" else None), answer.text
    elif door == "selection" and result[0] == "-":
        assert answer.text.startswith("Nothing was changed"), answer.text
    if door != "sql":
        kind = "asked" if result == "anew" and act != "again" else KINDS[act]
        happened = (kind, "operator:2" if door == "operator" else "user", ROUTES.get(door, door))
        assert events(site)[known:] == ([] if result[0] in "-=" else [happened])


def expected(before: Mapping[str, Any], after: Mapping[str, Any], act: str, state: str, result: str) -> dict[str, Any]:
    """The promise of the row after the act, and the columns that it keeps. If an occurrence is leaving, an act on one
    occurrence concerns the next one."""
    if state.endswith("repeating") and (act == "once" or result == "now"):
        series = Recurrence.from_json(after["recurrence"])
        assert next_occurrence(series, after=after["promise"], zone="UTC") == LATER
    if result == "now":
        assert before["updated_at"] < after["promise"] <= after["updated_at"]
    if result in {"note", "option"}:
        return {name: before[name] for name in KEPT} | {"claim": FREE if state == "held" else before["claim"]}
    if result in PROMISES:
        return {"promise": PROMISES[result]}
    if result == "pause" and state.endswith("repeating"):
        return {"promise": NEXT}
    return {"promise": before["promise"]} if result in {"pause", "rest", "alive"} else {}


@pytest.mark.parametrize(("door", "act", "state"), listed("undo ", UNDOABLE))
def test_an_undo_gives_back_what_was(site: Site, door: str, act: str, state: str) -> None:
    id = STATES[state](site)
    before = terms(the_row(site.engine, id))
    answer, known = DOORS[door][act](site, id), len(events(site))
    assert answer.undo is not None, answer.text
    assert answer.undo().code is None
    after = the_row(site.engine, id)
    assert terms(after) == before
    assert seen(after)["claim"] == FREE
    assert events(site)[known:] == [("undone", "user", ROUTES.get(door, door))]


@pytest.mark.parametrize(("door", "act", "state"), listed("late_undo ", UNDOABLE))
def test_an_undo_leaves_what_was_changed_since_and_says_so(site: Site, door: str, act: str, state: str) -> None:
    """The snooze has another time and note since, or its message another snooze."""
    id = STATES[state](site)
    answer = DOORS[door][act](site, id)
    assert answer.undo is not None, answer.text
    row, change = the_row(site.engine, id), {"remind_at": act_doors.OTHER.isoformat(), "note": "Another one"}
    again = api("POST", "/snoozes", message_id=row.message_id, **change)
    assert (api("PATCH", "/snoozes/{id}", **change) if row.outcome is None else again)(site, id).code is None
    changed = the_row(site.engine, id), others(site, id), events(site)
    undone = answer.undo()
    assert (the_row(site.engine, id), others(site, id), events(site)) == changed
    assert undone.code is not None or any(word in undone.text for word in ("not", "nothing", "stays")), undone.text


@pytest.mark.parametrize("door", ["page", "api"])
def test_a_resend_keeps_its_note_and_the_answer_says_so(site: Site, door: str) -> None:
    """The bytes are those of the first copy, which is uncertain."""
    id = site.an_uncertain_snooze()
    site.execute("UPDATE reminder_sends SET state = 'failed', resends = 1")
    assert DOORS[door]["note"](site, id).may_arrive
    assert DOORS[door]["move"](site, id).may_arrive
    assert not DOORS[door]["move"](site, id).may_arrive, "nothing leaves for the new promise"


@pytest.mark.parametrize("is_recorded", [False, True], ids=["before_the_reply", "after_the_reply"])
@pytest.mark.parametrize(("door", "act", "state"), listed("undo_of_leaving ", LEAVING))
def test_no_undo_sends_a_second_copy(site: Site, door: str, act: str, state: str, is_recorded: bool) -> None:
    id = STATES[state](site)
    answer = DOORS[door][act](site, id)
    if is_recorded:
        transitions.record(site.engine, site.send)
    if answer.undo is not None and answer.code is None:
        undone = answer.undo()
        assert undone.may_arrive or is_recorded, undone.text
    for held in transitions.claim(site.engine):
        assert transitions.sendable(site.engine, held) == []
    if not is_recorded:
        transitions.record(site.engine, site.send)
    assert authorised(site) == [("sent", FIRST)]
