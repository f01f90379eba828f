"""Links in reminders: scanners change nothing, people act once, and old or broken links explain themselves."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.mail import links
from snoozer.settings import Settings
from tests.db.links import DAILY, folder, link_in, sent_and_gone_on, uncertain
from tests.factories import a_kept_message, a_snooze, now, the_events, the_row
from tests.web.page_forms import shown_reading
from tests.web.reminders import a_link, a_sent_reminder, an_old_link


def forms(page: str) -> list[tuple[str, str]]:
    return [(method, unescape(action)) for method, action in re.findall(r'<form method="(\w+)" action="([^"]+)"', page)]


def awake(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM email_snoozes WHERE NOT inactive")).scalar_one())


def test_looking_changes_nothing_however_often(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine)
    before = the_row(engine, id)
    ours, old = a_link(engine, settings, id), an_old_link(engine, settings, id, act="again", phrase="tomorrow")
    for path in (ours, *(f"{ours}/{act}" for act in links.ACTS), old, f"{old}/done"):
        for agent in ("Mozilla/5.0", "SafeLinks", "BarracudaCentral", "Slackbot-LinkExpanding"):
            for _ in range(3):
                assert client.get(path, headers={"User-Agent": agent}).status_code == 200
                assert client.head(path, headers={"User-Agent": agent}).status_code == 200
    assert the_row(engine, id) == before
    assert the_events(engine, id) == []


def test_a_robot_that_submits_the_first_form_changes_nothing(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine)
    path = a_link(engine, settings, id)
    for _ in range(3):
        method, action = forms(client.get(f"{path}/done").text)[0]
        assert method == "get"
        assert client.get(action, query_string={"keep": "1"}).status_code == 200
        assert the_events(engine, id) == []
        client.post(f"{path}/done")
        method, action = forms(client.get(path).text)[0]
        assert (method, action) == ("get", path)
        assert "It stays done." in client.get(action, query_string={"keep": "1"}).text
        client.post(f"{path}/undo")
        with engine.begin() as connection:
            connection.execute(text("TRUNCATE snooze_events"))


def test_done_is_done_once_and_can_be_undone(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    a_kept_message(engine, message_id="<m@x>")
    id = a_sent_reminder(engine, message_id="<m@x>")
    path = a_link(engine, settings, id)
    for _ in range(5):
        answer = client.post(f"{path}/done", follow_redirects=True)
        assert "You are done with it" in answer.text
    assert (the_events(engine, id), folder(engine)) == (["done"], "done")
    undone = client.post(f"{path}/undo", follow_redirects=True)
    assert "It is back" in undone.text
    assert folder(engine) == "inbox"


def test_the_time_proposed_by_the_mail_is_one_button_and_repeats_make_one_snooze(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine, note="ask Bob")
    path = a_link(engine, settings, id)
    page = client.get(f"{path}/tomorrow").text
    proposed = re.search(r'class="primary" name="preset" value="([^"]+)"', page)
    assert proposed is not None
    for _ in range(5):
        data = {"preset": unescape(proposed.group(1)), "note": "ask Bob"}
        answer = client.post(f"{path}/again", data=data, follow_redirects=True)
        assert "It comes back" in answer.text
    assert awake(engine) == 1
    assert the_events(engine, id) == ["again"]
    client.post(f"{path}/undo")
    assert awake(engine) == 0


@pytest.mark.parametrize("act", ["tomorrow", "next-week"])
def test_a_button_for_a_time_leads_to_that_act_alone_and_after_it_nothing_else_is_offered(
    act: str, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    """ "Done" stood between the two buttons of "Tomorrow", where a hand that hurries meets it."""
    id = a_sent_reminder(engine)
    path = a_link(engine, settings, id)
    before = client.get(f"{path}/{act}").text
    assert [action for _, action in forms(before)] == [f"{path}/{act}", f"{path}/again", f"{path}/again"]
    assert f'href="{path}/done"' in before
    proposed = re.search(r'class="primary" name="preset" value="([^"]+)"', before)
    assert proposed is not None
    after = client.post(f"{path}/again", data={"preset": unescape(proposed.group(1))}, follow_redirects=True).text
    for page in (after, client.get(f"{path}/{act}").text, client.get(f"{path}/done").text):
        assert "It comes back" in page
        assert [action.rpartition("/")[2] for _, action in forms(page)][1:] == ["undo"]
        assert "/done" not in page.replace(f'action="{path}/done"', "", 1)
        assert all(words not in page for words in ("put away", "Leave it", "promised for"))
        assert "Keep it asleep" in page
    client.post(f"{path}/done")
    assert the_events(engine, id) == ["again"]


@pytest.mark.parametrize(
    ("act", "days"), [("tomorrow", 1), ("tomorrow", 2), ("next-week", 9), ("tomorrow", -2), ("next-week", -1)]
)
def test_a_button_acts_by_the_time_on_it_or_says_that_it_has_passed(
    act: str, days: int, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    """Also if the mail is opened days later, when the same word means another day."""
    id = a_sent_reminder(engine)
    path = a_link(engine, settings, id)
    stated = (now() + timedelta(days=days)).replace(hour=12, minute=0, second=0, microsecond=0)
    page = client.get(f"{path}/{links.act_path(act, stated)}").text
    proposed = re.search(r'class="primary" name="(preset|at)" value="([^"]+)"', page)
    assert proposed is not None
    assert ("has passed" in page) is (days < 0)
    client.post(f"{path}/again", data={proposed[1]: unescape(proposed[2])})
    assert awake(engine) == 1
    with engine.connect() as connection:
        saved = connection.execute(text("SELECT remind_at FROM email_snoozes WHERE NOT inactive")).scalar_one()
    assert saved > now()
    assert (saved == stated) is (days > 0)


def test_a_robot_changes_nothing_on_the_page_of_a_time(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine)
    path = f"{a_link(engine, settings, id)}/{links.act_path('tomorrow', now() + timedelta(days=2))}"
    for method in (client.get, client.head):
        assert method(path, headers={"User-Agent": "SafeLinks"}).status_code == 200
    assert forms(client.get(path).text)[0] == ("get", path)
    assert "Nothing was changed" in client.get(path, query_string={"keep": "1"}).text
    assert the_events(engine, id) == []


@pytest.mark.parametrize(
    "act",
    [
        *(
            "tomorrow-",
            "tomorrow-2026",
            "tomorrow-20269999T9999Z",
            "tomorrow-99991231T2359Z",
            "tomorrow-00010101T0000Z",
        ),
        *("done-20260309T0700Z", "again-20260309T0700Z", "tomorrow-20260309T0700Z-20260309T0700Z", "-20260309T0700Z"),
    ],
)
def test_a_button_whose_time_was_cut_off_or_changed_says_so(
    act: str, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    answer = client.get(f"{a_link(engine, settings, a_sent_reminder(engine))}/{act}")
    assert answer.status_code == 404
    assert "This reminder has no such button" in answer.text


@pytest.mark.parametrize("stated", ["99991130T2359Z", "20200229T1200Z"])
def test_a_time_that_a_hand_wrote_into_a_link_is_refused(
    stated: str, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    assert client.get(f"{path}/tomorrow-{stated}").status_code == 200
    at = datetime.strptime(stated, "%Y%m%dT%H%MZ").replace(tzinfo=UTC).isoformat()
    assert client.post(f"{path}/again", data={"at": at}).status_code == 422
    assert awake(engine) == 0


def test_a_typed_phrase_is_shown_before_it_is_saved(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    read = client.post(f"{path}/again", data={"phrase": "in 3 days", "act": "read"})
    chosen = {"phrase": "in 3 days", "act": "snooze"}
    assert client.post(f"{path}/again", data=chosen).status_code == 200
    assert awake(engine) == 0
    assert client.post(f"{path}/again", data=chosen | shown_reading(read)).status_code == 303
    assert awake(engine) == 1


def test_a_repetition_is_confirmed_as_one(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    read = client.post(f"{path}/again", data={"phrase": "every monday 9am", "act": "read"})
    assert re.search(r"Snooze until [^<]*, then every Monday at 09:00</button>", read.text)
    chosen = {"phrase": "every monday 9am", "act": "snooze"} | shown_reading(read)
    saved = client.post(f"{path}/again", data=chosen, follow_redirects=True).text
    assert "It comes again: every Monday at 09:00." in saved
    assert "Undo: end the repetition" in saved


def test_a_note_stays_in_its_field_while_the_phrase_is_read(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine, note="ask Bob"))
    assert ">ask Bob</textarea>" in client.get(path).text
    for note, phrase in (("call first", "in 3 days"), ("call first", "whenever"), ("", "in 3 days")):
        read = client.post(f"{path}/again", data={"phrase": phrase, "note": note, "act": "read"})
        assert f">{note}</textarea>" in read.text
    assert awake(engine) == 0
    assert "seen_at" not in client.get(path, query_string={"phrase": "in 3 days"}).text


def test_an_unreadable_phrase_shows_an_error(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    answer = client.post(f"{path}/again", data={"phrase": "whenever", "act": "read"})
    assert answer.status_code == 422
    assert 'class="error"' in answer.text
    assert re.search(r'<input id="phrase"[^>]* aria-invalid="true" autofocus', answer.text)


def test_what_is_to_be_done_next_has_the_focus(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    assert "autofocus" not in client.get(path).text
    read = client.post(f"{path}/again", data={"phrase": "in 3 days", "act": "read"})
    assert re.search(r'value="snooze" autofocus>Snooze until', read.text)
    chosen = {"phrase": "in 3 days", "act": "snooze", "note": "n" * 2001} | shown_reading(read)
    refused = client.post(f"{path}/again", data=chosen)
    assert re.search(r'<textarea [^>]*aria-invalid="true" aria-describedby="note-error" autofocus', refused.text)
    assert refused.text.count("autofocus") == 1
    assert client.post(f"{path}/again", data=chosen | {"note": "n"} | shown_reading(refused)).status_code == 303


def test_a_link_whose_message_was_snoozed_again_explains_and_does_nothing(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine, message_id="<m@x>")
    newer = a_snooze(engine, message_id="<m@x>", remind_at=now() + timedelta(days=2))
    path = a_link(engine, settings, id)
    page = client.post(f"{path}/done", follow_redirects=True)
    assert page.status_code == 200
    assert "snoozed again since" in page.text
    client.post(f"{path}/undo")
    client.post(f"{path}/again", data={"at": (now() + timedelta(days=9)).isoformat()})
    assert the_row(engine, newer).outcome is None
    assert awake(engine) == 1


def test_a_link_in_a_fresh_mail_acts_however_long_ago_its_promise_was(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    """A link counted as too old in a mail that was just sent: of a reactivated case, or a row inserted late."""
    id = a_sent_reminder(engine, promised=now() - timedelta(days=40), late=timedelta(days=39))
    path = a_link(engine, settings, id)
    assert "more than 30 days old" not in client.get(path).text
    client.post(f"{path}/done")
    assert the_events(engine, id) == ["done"]


def test_an_old_link_explains_offers_and_does_not_act(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine, promised=now() - timedelta(days=31))
    path = a_link(engine, settings, id)
    page = client.get(path)
    assert page.status_code == 200
    assert "more than 30 days old" in page.text
    client.post(f"{path}/done")
    client.post(f"{path}/again", data={"at": (now() + timedelta(days=9)).isoformat()})
    assert the_events(engine, id) == []


def test_each_button_of_a_mail_leads_to_what_it_names(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    done, tomorrow, week, again = (
        client.get(f"{path}/{act}").text for act in ("done", "tomorrow", "next-week", "again")
    )
    assert re.search(r'/done"><button class="primary">', done)
    assert re.search(r'name="preset" value="tomorrow\|[^"]+">.*Snooze until', tomorrow)
    assert re.search(r'name="preset" value="next week\|[^"]+">.*Snooze until', week)
    assert "Snooze it again</h2>" in again


def test_a_button_of_an_old_mail_works_for_ever(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine)
    tomorrow = an_old_link(engine, settings, id, act="again", phrase="tomorrow")
    proposed = re.search(r'class="primary" name="preset" value="(tomorrow\|[^"]+)"', client.get(tomorrow).text)
    assert proposed is not None
    put_off = client.post(f"{tomorrow}/again", data={"preset": unescape(proposed.group(1))}, follow_redirects=True)
    assert "It comes back" in put_off.text
    client.post(f"{tomorrow}/undo")
    done = an_old_link(engine, settings, id, act="done")
    assert re.search(r'/done"><button class="primary">', client.get(done).text)
    assert "You are done with it" in client.post(f"{done}/done", follow_redirects=True).text
    assert the_events(engine, id) == ["again", "undone", "done"]


@pytest.mark.parametrize("act", ["tomorro", "undo", "next week", "DONE", "x" * 2_000, "<i>", "%00"])
def test_an_act_that_no_mail_offers_explains_itself(
    act: str, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine)
    path = a_link(engine, settings, id)
    page = client.get(f"{path}/{act}")
    assert page.status_code == 404
    assert "This reminder has no such button" in page.text
    assert f'href="{path}"' in page.text
    assert client.head(f"{path}/{act}").status_code == 404
    assert the_events(engine, id) == []


def test_no_changed_letter_makes_another_link(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    for place in range(len("/r/"), len(path)):
        forged = path[:place] + ("A" if path[place] != "A" else "B") + path[place + 1 :]
        for answer in (client.get(forged), client.get(f"{forged}/done"), client.post(f"{forged}/done")):
            assert answer.status_code == 404
            assert "not one of ours" in answer.text


@pytest.mark.parametrize("act", ["done", "again", "undo"])
def test_a_deleted_reminder_has_a_page(act: str, client: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = a_sent_reminder(engine)
    path = a_link(engine, settings, id)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE reminder_sends"))
    assert client.get(path).status_code == 410
    assert client.post(f"{path}/{act}").status_code == 410


def test_the_page_shows_only_this_reminder_and_needs_no_scripts(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    a_snooze(engine, subject="Another secret", remind_at=now() + timedelta(days=1))
    page = client.get(a_link(engine, settings, a_sent_reminder(engine, note="<i>mine</i>"))).text
    assert "Quarterly figures" in page
    assert "&lt;i&gt;mine" in page
    assert "Another secret" not in page
    assert "ann@snoozer.example" not in page


def test_the_page_of_a_recurrence_explains_that_it_goes_on(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    _, send = uncertain(engine)
    path = a_link(engine, settings, send.snooze_id)
    page = client.get(f"{path}/tomorrow").text
    assert "Done with it is for this time only" in page
    assert f"{path}/again" not in page, "nothing is offered that would change the series"
    done = client.post(f"{path}/done", follow_redirects=True).text
    assert "done with it for this time" in done
    assert "No more reminders" not in done
    undone = client.post(f"{path}/undo", follow_redirects=True).text
    assert "It repeats, and comes back" in undone
    assert (awake(engine), the_row(engine, send.snooze_id).recurrence) == (1, DAILY)


def test_the_buttons_of_an_earlier_occurrence_act_or_explain_why_not(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    send = sent_and_gone_on(engine)
    path = f"/r/{links.sign(link_in(send), keys=settings.keys)}"
    before = the_row(engine, send.snooze_id)
    page = client.get(path).text
    assert "Done with it" in page
    assert "snoozed again since" not in page
    assert re.search("It repeats, and comes back .* by itself", page)
    assert f'href="/snoozes/{send.snooze_id}"' in page
    assert f"{path}/again" not in page
    data = {"at": (now() + timedelta(days=9)).isoformat()}
    assert "It repeats, and comes back" in client.post(f"{path}/again", data=data, follow_redirects=True).text
    for _ in range(3):
        assert "You are done with it for this time" in client.post(f"{path}/done", follow_redirects=True).text
    assert the_row(engine, send.snooze_id) == before
    assert the_events(engine, send.snooze_id) == ["done"]
