"""Operations on cases: preview, reason, what becomes of each row, and cancelling the rest."""

import html
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.operators import chunks
from snoozer.web.operators import operations
from tests.db.operations import an_operation, results, the_operation
from tests.factories import ANN, HOUR, now, the_events, the_row, the_send, wait_until_a_session_waits
from tests.next_try import SECOND, set_next_try
from tests.web.cases import UNTIL, act, an_uncertain_case, claimable, page, visible_text


def test_a_preview_counts_and_changes_nothing(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    ids = [a_case() for _ in range(3)]
    uncertain = an_uncertain_case(engine)
    answer = operator.post("/admin/operations/preview", data={"act": "reactivate", "all": "1"})
    shown = visible_text(answer.get_data(as_text=True))
    assert "Reactivate 4 cases?" in shown
    assert "1 reminder may have been sent already" in shown
    picked = operator.post("/admin/operations/preview", data={"act": "dismiss", "id": [ids[0], ids[1]]})
    assert "Dismiss 2 cases?" in visible_text(picked.get_data(as_text=True))
    assert {the_row(engine, id).outcome for id in [*ids, uncertain]} == {"retired"}


def test_a_count_that_takes_too_long_is_a_page_that_says_so(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its own limit the count would wait until the lock is gone, and succeed: statements may take 30 s."""
    id = a_case()
    monkeypatch.setattr(operations, "COUNT_SECONDS", 0.2)
    with engine.connect() as another:
        another.execute(text("SET LOCAL idle_in_transaction_session_timeout = '20s'"))
        another.execute(text("LOCK TABLE reminder_sends IN ACCESS EXCLUSIVE MODE"))
        answer = operator.post("/admin/operations/preview", data={"act": "dismiss", "all": "1"})
    shown = visible_text(answer.get_data(as_text=True))
    assert (answer.status_code, "Not counted in time" in shown) == (200, True)
    assert "Dismiss 1 case" in visible_text(
        operator.post("/admin/operations/preview", data={"act": "dismiss", "all": "1"}).get_data(as_text=True)
    )
    assert the_row(engine, id).outcome == "retired"


def test_picking_nothing_shows_a_message(operator: FlaskClient, a_case: Callable[..., int]) -> None:
    a_case()
    answer = operator.post("/admin/operations/preview", data={"act": "reactivate"})
    assert "Pick at least one case first." in visible_text(page(operator, answer.headers["Location"]))


def test_a_decision_needs_a_reason(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    id = a_case()
    answer = operator.post("/admin/operations", data={"act": "dismiss", "id": id, "as_of": UNTIL, "why": " \u200b "})
    assert answer.status_code == 422
    assert "Say why in a few words" in visible_text(answer.get_data(as_text=True))
    assert the_row(engine, id).outcome == "retired"


def test_reactivated_cases_are_claimed_again_and_their_ledger_entries_are_open(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    plain, uncertain = a_case(remind_at=now() - HOUR), an_uncertain_case(engine)
    set_next_try(engine, -3600 * SECOND)
    assert the_send(engine, uncertain).state == "uncertain"
    assert "Done 2 Unchanged 0" in act(operator, "reactivate", all="1")
    assert sorted(claimable(engine)) == sorted([plain, uncertain])
    send = the_send(engine, uncertain)
    assert (send.state, send.resolution, send.resolved_by) == ("failed", "resend", "operator:1")
    assert the_events(engine, plain) == ["reactivated"]


def test_texts_about_one_case_are_in_the_singular(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    ids = [a_case(sender_email=None), an_uncertain_case(engine)]
    assert "about a message without a sender." in page(operator, f"/admin/cases/{ids[0]}")
    for verb in ("dismiss", "reactivate"):
        for id in ids:
            one = operator.post("/admin/operations/preview", data={"act": verb, "id": id}).text
            assert " 1 case?" in one
            assert not re.search(r"\b([Tt]hey|[Tt]hem|[Tt]heir|some people)\b", one)
        both = operator.post("/admin/operations/preview", data={"act": verb, "id": ids}).text
        assert "They " in both


def test_dismissed_cases_are_never_sent(operator: FlaskClient, engine: Engine, a_case: Callable[..., int]) -> None:
    ids = [a_case(remind_at=now() - HOUR), an_uncertain_case(engine)]
    assert "Done 2 Unchanged 0" in act(operator, "dismiss", id=ids)
    assert claimable(engine) == []
    assert [the_row(engine, id).outcome for id in ids] == ["cancelled", "cancelled"]
    assert (the_send(engine, ids[1]).state, the_send(engine, ids[1]).resolution) == ("failed", "dismissed")
    shown = act(operator, "reactivate", id=ids)
    assert "Done 0 Unchanged 2" in shown
    assert shown.count("unchanged: already cancelled or dismissed") == 2
    assert claimable(engine) == []


def test_the_history_names_the_operator_and_the_reason_but_no_address(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    id = a_case()
    act(operator, "dismiss", id=id, why="ann@private.example asked for it")
    with engine.connect() as connection:
        event = connection.execute(text("SELECT kind, actor, route, detail FROM snooze_events")).one()
    assert tuple(event) == ("dismissed", "operator:1", "admin", {"reason": "…@… asked for it"})
    assert "dismissed by operator 1, through admin reason: …@… asked for it" in visible_text(
        page(operator, f"/admin/cases/{id}")
    )


def test_what_became_a_case_after_the_preview_is_not_touched(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    earlier = a_case(finished_at=now() - 2 * HOUR)
    later = a_case(finished_at=now())
    assert "Done 1 " in act(operator, "dismiss", all="1", as_of=(now() - HOUR).isoformat())
    assert (the_row(engine, earlier).outcome, the_row(engine, later).outcome) == ("cancelled", "retired")


def test_only_cases_of_the_chosen_reason_are_touched(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    alike = [a_case(last_error="552 Mailbox full") for _ in range(2)]
    other = a_case(last_error="550 User unknown")
    fingerprint = re.search(r'reason=(\w+)">Show these 2<', page(operator))
    assert fingerprint
    assert "Done 2 Unchanged 0" in act(operator, "dismiss", all="1", reason=fingerprint.group(1))
    assert [the_row(engine, id).outcome for id in alike] == ["cancelled", "cancelled"]
    assert the_row(engine, other).outcome == "retired"


def test_a_message_that_is_snoozed_again_at_that_moment_does_not_stop_the_rest_of_the_batch(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    racing, others = a_case(message_id="<racing@mail.example>"), [a_case() for _ in range(3)]
    with ThreadPoolExecutor(1) as threads:
        with engine.begin() as person:
            person.execute(
                text(
                    "INSERT INTO email_snoozes (user_email, message_id, remind_at)"
                    " VALUES (:email, '<racing@mail.example>', now() + interval '1 day')"
                ),
                {"email": ANN},
            )
            decided = threads.submit(act, operator, "reactivate", all="1")
            wait_until_a_session_waits(engine)
        text_after = decided.result()
    assert "Done 3 Unchanged 1" in text_after
    assert "unchanged: its message was snoozed again" in text_after
    assert the_row(engine, racing).outcome == "retired"
    assert {the_row(engine, id).outcome for id in others} == {None}


@pytest.mark.parametrize(
    "form",
    [
        {"act": "erase", "all": "1"},
        {"act": "dismiss", "id": "0"},
        {"act": "dismiss", "id": str(2**63)},
        {"act": "dismiss", "id": [str(id) for id in range(1, 502)]},
        {"act": "dismiss", "all": "1", "as_of": "yesterday"},
        {"act": "dismiss", "all": "1", "as_of": ""},
    ],
)
def test_a_form_this_site_did_not_make_is_refused(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int], form: dict[str, Any]
) -> None:
    id = a_case()
    assert operator.post("/admin/operations", data={"as_of": UNTIL, "why": "x", **form}).status_code == 400
    assert the_row(engine, id).outcome == "retired"


def test_one_case_is_decided_at_once_from_its_page(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    """Without a clock."""
    id = a_case()
    assert 'action="/admin/operations"' in page(operator, f"/admin/cases/{id}")
    form = {"act": "dismiss", "id": id, "as_of": UNTIL, "why": "mended", "from": "case"}
    for flashed in ("Dismissed it.", "It stays as it was: already cancelled or dismissed."):
        answer = operator.post("/admin/operations", data=form)
        assert answer.headers["Location"] == f"/admin/cases/{id}"
        assert flashed in visible_text(page(operator, answer.headers["Location"]))
    assert the_events(engine, id) == ["dismissed"]
    assert [the_operation(engine, number).done for number in (1, 2)] == [1, 0]


def test_a_form_that_is_submitted_twice_is_one_operation(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    a_case()
    form = {"act": "reactivate", "all": "1", "as_of": UNTIL, "why": "mended", "form": str(uuid4())}
    pages = [operator.post("/admin/operations", data=form).headers["Location"] for _ in range(2)]
    assert pages == ["/admin/operations/1", "/admin/operations/1"]
    assert the_operation(engine, 1).members == 1


def test_the_page_of_an_operation_follows_it_until_it_is_finished(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    ids = [a_case() for _ in range(3)]
    id = an_operation(engine, act="reactivate", ids=ids)
    path = f"/admin/operations/{id}"
    answer = operator.get(path)
    again = '<noscript><meta http-equiv="refresh" content="2"></noscript>'
    assert again in answer.text
    assert "Waits for the clock" in visible_text(answer.text)
    assert again not in operator.get(f"{path}?live=off").text
    assert chunks.do_chunk(engine, id, chunk_size=2)
    assert "Under way 2 of 3 Done 2" in visible_text(operator.get(path).text)
    shown = visible_text(operator.get(f"{path}?result=open").text)
    assert f"Snooze {ids[2]} to do" in shown
    assert f"Snooze {ids[0]} " not in shown
    assert not chunks.do_chunk(engine, id, chunk_size=2)
    answer = operator.get(path)
    assert again not in answer.text
    assert "Finished 3 of 3 Done 3" in visible_text(answer.text)
    assert "Reactivate 3 cases mended finished , 3 done" in visible_text(page(operator, "/admin/operations"))


def test_what_is_cancelled_leaves_the_rest_untouched(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    ids = [a_case() for _ in range(5)]
    id = an_operation(engine, act="dismiss", ids=ids)
    assert chunks.do_chunk(engine, id, chunk_size=2)
    for flashed in ("Cancelled. 3 rows were not touched.", "It was finished already,"):
        answer = operator.post(f"/admin/operations/{id}/cancel")
        assert flashed in visible_text(page(operator, answer.headers["Location"]))
    assert chunks.work(engine) == 0
    assert [the_row(engine, one).outcome for one in ids] == [*["cancelled"] * 2, *["retired"] * 3]
    assert [results(engine, id)[one][0] for one in ids] == ["done", "done", None, None, None]


@pytest.mark.parametrize("query", ["result=lost", "after=x", "after=-1", f"after={2**63}"])
def test_a_page_of_rows_that_cannot_be_is_not_found(operator: FlaskClient, engine: Engine, query: str) -> None:
    an_operation(engine, act="dismiss", ids=[1])
    assert operator.get(f"/admin/operations/1?{query}").status_code == 404


def test_rows_are_listed_in_pages(operator: FlaskClient, engine: Engine) -> None:
    id = an_operation(engine, act="dismiss", ids=range(1, 121))
    chunks.work(engine)
    path: str | None = f"/admin/operations/{id}?result=unchanged"
    seen: list[int] = []
    while path:
        shown = page(operator, path)
        seen += [int(number) for number in re.findall(r">Snooze (\d+)<", shown)]
        following = re.search(r'href="([^"]+)" rel="next"', shown)
        path = html.unescape(following[1]) if following else None
    assert seen == list(range(1, 121))
    assert "unchanged: it is gone: archived, or deleted with its account" in visible_text(shown)
