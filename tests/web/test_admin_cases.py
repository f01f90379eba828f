"""Triage: what operators see of a case, and what becomes of it when they decide."""

import html
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text, update

from snoozer.postgres import ledger, queue, workers
from snoozer.postgres.ledger import Uncertainty
from snoozer.postgres.models import Send
from tests.factories import ANN, HOUR, People, a_snooze, now, the_events, the_row, the_send, wait_until_somebody_waits

UNTIL = (now() + 365 * timedelta(days=1)).isoformat()
CANARY = "<img src=x onerror=alert(1)>"


@pytest.fixture
def operator(client: FlaskClient, people: People) -> FlaskClient:
    """A browser in which an operator is signed in."""
    client.set_cookie("snoozer_session", people.operator().session)
    return client


@pytest.fixture
def a_case(engine: Engine) -> Callable[..., int]:
    def make(**columns: Any) -> int:
        standing = {"inactive": True, "outcome": "retired", "finished_at": now() - HOUR, "attempts": 5}
        return a_snooze(engine, **{"last_error": "rcpt: 550 5.1.1 User unknown", **standing, **columns})

    return make


def an_uncertain_case(engine: Engine, **columns: Any) -> int:
    """The dot left, no answer came, and the operator has to decide."""
    id = a_snooze(engine, **columns)
    with engine.begin() as connection:
        claim = next(row for row in queue.claim(connection, worker="w1", batch_size=9, lease=HOUR) if row.id == id)
        [reserved] = ledger.reserve(
            connection,
            worker="w1",
            ids=[id],
            domain="snoozer.example",
            uncertainty=Uncertainty(hold=HOUR, for_operator=True),
        )
        assert ledger.mark(connection, dots=[(reserved.send, "0" * 64)])
        assert ledger.doubt(connection, send=reserved.send, reply="connection lost") == 0
        queue.release(
            connection,
            id=id,
            claim_token=claim.claim_token,
            error="It may have been sent: connection lost",
            spent=0,
            delay=HOUR,
            permanent=True,
        )
    return id


def page(client: FlaskClient, path: str = "/admin") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def act(client: FlaskClient, act: str, **form: Any) -> str:
    """Decide, and read what came of it on the page that follows."""
    answer = client.post("/admin/cases/act", data={"act": act, "until": UNTIL, "why": "mended", **form})
    assert answer.status_code == 303, answer.get_data(as_text=True)
    return words(page(client, answer.headers["Location"]))


def claimable(engine: Engine) -> list[int]:
    with engine.begin() as connection:
        return [claim.id for claim in queue.claim(connection, worker="w2", batch_size=100, lease=HOUR)]


def test_nothing_of_the_message_or_its_owner_is_shown(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    id = a_case(
        user_email="secret.person@private.example",
        sender_email="secret.sender@private.example",
        subject="SECRETSUBJECT",
        note="SECRETNOTE",
        last_error="rcpt: 550 <secret.person@private.example> unknown",
        last_error_at=now(),
    )
    everything = page(operator) + page(operator, f"/admin/cases/{id}")
    everything += operator.post("/admin/cases/preview", data={"act": "dismiss", "id": id}).get_data(as_text=True)
    for secret in ("secret.person", "secret.sender", "private.example", "SECRETSUBJECT", "SECRETNOTE"):
        assert secret not in everything
    assert "s…@p…" in everything
    assert "&lt;…@…&gt; unknown" in everything


def test_no_text_from_outside_becomes_markup(operator: FlaskClient, engine: Engine) -> None:
    id = an_uncertain_case(engine, subject=CANARY, note=CANARY, sender_email=CANARY)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET last_error = :x, last_error_at = now()"), {"x": CANARY})
        connection.execute(
            text("UPDATE reminder_sends SET reply = :x, queue_id = :x, enhanced_code = :x"), {"x": CANARY}
        )
        connection.execute(
            text(
                "INSERT INTO circuit_breakers (server, state, failures, last_failure, opened_at)"
                " VALUES (:x, 'open', 5, :x, now())"
            ),
            {"x": CANARY},
        )
        connection.execute(
            text(
                "INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)"
                " VALUES (:id, :x, :x, :x, jsonb_build_object(CAST(:x AS text), CAST(:x AS text)))"
            ),
            {"id": id, "x": CANARY},
        )
    fingerprint = re.search(r"reason=(\w+)", page(operator))
    assert fingerprint
    for shown in (
        page(operator),
        page(operator, f"/admin?reason={fingerprint.group(1)}"),
        page(operator, f"/admin/cases/{id}"),
        operator.post(
            "/admin/cases/preview", data={"act": "reactivate", "all": "1", "reason": fingerprint.group(1)}
        ).get_data(as_text=True),
    ):
        assert "<img" not in shown
        assert "&lt;img src=x" in shown


def test_failures_that_differ_in_an_address_or_a_number_only_are_one_reason(
    operator: FlaskClient, a_case: Callable[..., int]
) -> None:
    for number in range(3):
        a_case(user_email=f"p{number}@x.example", last_error=f"550 <p{number}@x.example> unknown, id 12345{number}")
    other = a_case(last_error="552 5.2.2 Mailbox full")
    shown = page(operator)
    assert "550 <…@…> unknown, id … 3 cases of 3 people" in words(shown)
    fingerprint = re.search(r'reason=(\w+)">Show these 3<', shown)
    assert fingerprint
    alike = page(operator, f"/admin?reason={fingerprint.group(1)}")
    assert alike.count('name="id"') == 3
    assert f"/admin/cases/{other}" not in alike


def test_an_empty_queue_says_what_turns_up_here(operator: FlaskClient) -> None:
    shown = words(page(operator))
    assert "No cases" in shown
    assert "What cannot be delivered turns up here" in shown
    assert "start it with: snoozer clock" in shown


def test_the_figures_say_how_old_they_are(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    a_case()
    a_snooze(engine, remind_at=now() - timedelta(minutes=3))
    a_snooze(engine, remind_at=now() + HOUR)
    a_snooze(engine, claimed_at=now() - timedelta(seconds=40))
    with engine.begin() as connection:
        workers.register(connection, id="w1")
        connection.execute(text("INSERT INTO housekeeping_runs VALUES ('sweep', now() - interval '4 seconds')"))
        connection.execute(
            text(
                "INSERT INTO circuit_breakers (server, state, failures, last_failure, opened_at)"
                " VALUES ('mx.example:25', 'open', 5, 'connection refused', now() - interval '2 minutes')"
            )
        )
    shown = words(page(operator))
    assert "Due now 1 snooze the oldest for 3 minutes" in shown
    assert re.search(r"In hand 1 snooze the oldest for 4\d seconds", shown)
    assert "Asleep 1 snooze" in shown
    assert "Cases 1 to decide" in shown
    assert "Workers 1 alive 0 draining; last heard" in shown
    assert re.search(r"Housekeeping ran [4-9] seconds ago", shown)
    assert "Mail server mx.example:25 left alone 5 failures in a row; since 2 minutes connection refused" in shown
    assert re.search(r"All figures read from the database at \d\d:\d\d:\d\d", shown)


def test_a_worker_that_left_by_itself_is_no_dead_one(operator: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        for id in ("left-1", "left-2", "silent", "buried", "long-ago", "at-work"):
            workers.register(connection, id=id)
    silent_for = text("UPDATE workers SET heartbeat_at = heartbeat_at - CAST(:ago AS interval) WHERE id = :id")
    buried = text("UPDATE workers SET state = 'dead', stopped_at = now() - CAST(:ago AS interval) WHERE id = :id")
    with engine.begin() as connection:
        workers.leave(connection, id="left-1")
        workers.leave(connection, id="left-2")
        for id, silent in (("silent", "1 minute"), ("buried", "1 minute"), ("long-ago", "3 days")):
            connection.execute(silent_for, {"id": id, "ago": silent})
        for id, ago in (("buried", "0 s"), ("long-ago", "2 days")):
            connection.execute(buried, {"id": id, "ago": ago})
    assert "Workers 1 alive 0 draining, 2 lost in the last day; last heard" in words(page(operator))


def test_a_preview_counts_and_changes_nothing(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    ids = [a_case() for _ in range(3)]
    uncertain = an_uncertain_case(engine)
    answer = operator.post("/admin/cases/preview", data={"act": "reactivate", "all": "1"})
    shown = words(answer.get_data(as_text=True))
    assert "Reactivate 4 cases?" in shown
    assert "1 reminder may have been sent already" in shown
    picked = operator.post("/admin/cases/preview", data={"act": "dismiss", "id": [ids[0], ids[1]]})
    assert "Dismiss 2 cases?" in words(picked.get_data(as_text=True))
    assert {the_row(engine, id).outcome for id in [*ids, uncertain]} == {"retired"}


def test_picking_nothing_says_so(operator: FlaskClient, a_case: Callable[..., int]) -> None:
    a_case()
    answer = operator.post("/admin/cases/preview", data={"act": "reactivate"})
    assert "Pick at least one case first." in words(page(operator, answer.headers["Location"]))


def test_a_decision_needs_a_reason(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    id = a_case()
    answer = operator.post("/admin/cases/act", data={"act": "dismiss", "id": id, "until": UNTIL, "why": " \u200b "})
    assert answer.status_code == 422
    assert "Say why in a few words" in words(answer.get_data(as_text=True))
    assert the_row(engine, id).outcome == "retired"


def test_reactivated_cases_are_claimed_again_and_their_ledger_entries_are_open(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    plain, uncertain = a_case(remind_at=now() - HOUR), an_uncertain_case(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - interval '1 hour'"))
    assert the_send(engine, uncertain).state == "uncertain"
    assert "Reactivated 2 cases." in act(operator, "reactivate", all="1")
    assert sorted(claimable(engine)) == sorted([plain, uncertain])
    send = the_send(engine, uncertain)
    assert (send.state, send.resolution, send.resolved_by) == ("reserved", "resend", "operator:1")
    assert the_events(engine, plain) == ["reactivated"]


def test_one_case_is_spoken_of_as_one(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    ids = [a_case(sender_email=None), an_uncertain_case(engine)]
    assert "about a message without a sender." in page(operator, f"/admin/cases/{ids[0]}")
    for verb in ("dismiss", "reactivate"):
        for id in ids:
            one = operator.post("/admin/cases/preview", data={"act": verb, "id": id}).text
            assert " 1 case?" in one
            assert not re.search(r"\b([Tt]hey|[Tt]hem|[Tt]heir|some people)\b", one)
        both = operator.post("/admin/cases/preview", data={"act": verb, "id": ids}).text
        assert "They " in both


def test_dismissed_cases_are_never_sent(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    ids = [a_case(remind_at=now() - HOUR), an_uncertain_case(engine)]
    assert "Dismissed 2 cases." in act(operator, "dismiss", id=ids)
    assert claimable(engine) == []
    assert [the_row(engine, id).outcome for id in ids] == ["cancelled", "cancelled"]
    assert (the_send(engine, ids[1]).state, the_send(engine, ids[1]).resolution) == ("failed", "dismissed")
    assert "Reactivated 0 cases. 2 stayed as they were" in act(operator, "reactivate", id=ids)
    assert claimable(engine) == []


def test_the_paper_trail_names_the_operator_and_the_reason_but_no_address(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    id = a_case()
    act(operator, "dismiss", id=id, why="ann@private.example asked for it")
    with engine.connect() as connection:
        event = connection.execute(text("SELECT kind, actor, route, detail FROM snooze_events")).one()
    assert tuple(event) == ("dismissed", "operator:1", "admin", {"reason": "…@… asked for it"})
    assert "dismissed by operator:1, through admin reason: …@… asked for it" in words(
        page(operator, f"/admin/cases/{id}")
    )


def test_what_became_a_case_after_the_preview_is_not_touched(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    seen = a_case(finished_at=now() - 2 * HOUR)
    later = a_case(finished_at=now())
    assert "Dismissed 1 case." in act(operator, "dismiss", all="1", until=(now() - HOUR).isoformat())
    assert (the_row(engine, seen).outcome, the_row(engine, later).outcome) == ("cancelled", "retired")


def test_only_cases_of_the_chosen_reason_are_touched(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    alike = [a_case(last_error="552 Mailbox full") for _ in range(2)]
    other = a_case(last_error="550 User unknown")
    fingerprint = re.search(r'reason=(\w+)">Show these 2<', page(operator))
    assert fingerprint
    assert "Dismissed 2 cases." in act(operator, "dismiss", all="1", reason=fingerprint.group(1))
    assert [the_row(engine, id).outcome for id in alike] == ["cancelled", "cancelled"]
    assert the_row(engine, other).outcome == "retired"


def test_two_operators_at_once_decide_each_case_once(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    ids = [a_case() for _ in range(20)]
    session = operator.get_cookie("snoozer_session")
    assert session

    def decide(word: str) -> int:
        browser = operator.application.test_client()
        browser.set_cookie("snoozer_session", session.value)
        form = {"act": word, "all": "1", "until": UNTIL, "why": "mended"}
        return browser.post("/admin/cases/act", data=form).status_code

    with ThreadPoolExecutor(2) as hands:
        assert list(hands.map(decide, ["reactivate", "dismiss"])) == [303, 303]
    assert all(len(the_events(engine, id)) == 1 for id in ids)


def test_a_message_that_is_put_away_anew_at_that_moment_keeps_the_rest_of_the_batch_going(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    racing, others = a_case(message_id="<racing@mail.example>"), [a_case() for _ in range(3)]
    with ThreadPoolExecutor(1) as hands:
        with engine.begin() as person:
            person.execute(
                text(
                    "INSERT INTO email_snoozes (user_email, message_id, remind_at)"
                    " VALUES (:email, '<racing@mail.example>', now() + interval '1 day')"
                ),
                {"email": ANN},
            )
            decided = hands.submit(act, operator, "reactivate", all="1")
            wait_until_somebody_waits(engine)
        said = decided.result()
    assert "Reactivated 3 cases. 1 stayed as it was" in said
    assert the_row(engine, racing).outcome == "retired"
    assert {the_row(engine, id).outcome for id in others} == {None}


def test_every_case_of_a_long_list_is_on_exactly_one_page(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    same_moment = now() - HOUR
    ids = {str(a_case(finished_at=same_moment)) for _ in range(120)}
    path: str | None = "/admin"
    seen: list[str] = []
    while path:
        shown = page(operator, path)
        seen += re.findall(r'name="id" value="(\d+)"', shown)
        onward = re.search(r'href="([^"]+)" rel="next"', shown)
        path = html.unescape(onward.group(1)) if onward else None
    assert len(seen) == 120
    assert set(seen) == ids


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        ({"remind_at": now() + 2 * HOUR}, "Its time has not come"),
        ({"remind_at": now() + HOUR, "scheduled_for": now() - HOUR, "attempts": 2}, "2 of 5 attempts failed; the next"),
        ({}, "no worker is alive"),
        ({"attempts": 5}, "Its 5 attempts are spent"),
        ({"inactive": True}, "It was paused in the database"),
        ({"claimed_at": now()}, "Worker somebody-else holds it"),
        ({"claimed_at": now() - HOUR}, "its lease ran out"),
        ({"inactive": True, "outcome": "sent", "finished_at": now()}, "It is done"),
        ({"inactive": True, "outcome": "cancelled", "finished_at": now()}, "cancelled or dismissed"),
        (
            {"inactive": True, "outcome": "retired", "finished_at": now(), "crash_count": 5},
            "its worker was lost 5 times",
        ),
    ],
)
def test_every_row_says_why_it_is_not_running(
    operator: FlaskClient, engine: Engine, columns: dict[str, Any], answer: str
) -> None:
    id = a_snooze(engine, **columns)
    assert answer in words(page(operator, f"/admin/cases/{id}"))


def test_a_due_row_names_the_mail_server_that_is_left_alone(operator: FlaskClient, engine: Engine) -> None:
    id = a_snooze(engine)
    with engine.begin() as connection:
        workers.register(connection, id="w1")
    assert "next in line" in words(page(operator, f"/admin/cases/{id}"))
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO circuit_breakers (server, state) VALUES ('mx.example:25', 'open')"))
    assert "the mail server mx.example:25 is left alone" in words(page(operator, f"/admin/cases/{id}"))


@pytest.mark.parametrize(
    ("columns", "answer"),
    [
        ({"state": "reserved"}, "No. It was prepared"),
        ({"state": "sending", "dot_authorised_at": now(), "bytes_sha256": "x"}, "Perhaps. It is being handed over"),
        ({"state": "sent", "sent_at": now(), "smtp_code": 250, "reply": "queued as 4XyZ"}, "Yes. The mail server took"),
        ({"state": "failed", "smtp_code": 550, "reply": "unknown"}, "No. The mail server refused it: 550 unknown"),
        ({"state": "uncertain", "uncertain_at": now(), "dot_authorised_at": now()}, "Perhaps. All of it was handed"),
    ],
)
def test_every_row_says_whether_it_was_sent(
    operator: FlaskClient, engine: Engine, columns: dict[str, Any], answer: str
) -> None:
    id = a_snooze(engine)
    assert "Was it sent? No. Nothing was ever handed" in words(page(operator, f"/admin/cases/{id}"))
    with engine.begin() as connection:
        queue.claim(connection, worker="w1", batch_size=1, lease=HOUR)
        ledger.reserve(
            connection,
            worker="w1",
            ids=[id],
            domain="snoozer.example",
            uncertainty=Uncertainty(hold=HOUR, for_operator=False),
        )
        connection.execute(update(Send).values(**columns))
    assert f"Was it sent? {answer}" in words(page(operator, f"/admin/cases/{id}"))


@pytest.mark.parametrize(
    "form",
    [
        {"act": "erase", "all": "1"},
        {"act": "dismiss", "id": "0"},
        {"act": "dismiss", "id": str(2**63)},
        {"act": "dismiss", "id": [str(id) for id in range(1, 502)]},
        {"act": "dismiss", "all": "1", "until": "yesterday"},
        {"act": "dismiss", "all": "1", "until": ""},
    ],
)
def test_a_form_this_site_did_not_make_is_refused(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int], form: dict[str, Any]
) -> None:
    id = a_case()
    assert operator.post("/admin/cases/act", data={"until": UNTIL, "why": "x", **form}).status_code == 400
    assert the_row(engine, id).outcome == "retired"
