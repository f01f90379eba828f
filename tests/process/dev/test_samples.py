"""The sample messages."""

import email
import email.policy
from datetime import datetime
from email.message import EmailMessage

from snoozer.dev.samples import messages

NOW = datetime.fromisoformat("2026-03-05T10:20:00+01:00")


def samples() -> list[EmailMessage]:
    return [email.message_from_bytes(each, policy=email.policy.default) for each in messages(NOW)]


def text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain", "html"))
    assert isinstance(body, EmailMessage)
    return str(body.get_content())


def test_the_samples_show_what_mail_is_like() -> None:
    found = samples()
    subjects = [message["Subject"] for message in found]
    assert len(found) == 14
    assert None in subjects
    assert any(len(subject or "") > 150 for subject in subjects)
    assert any("\u0590" <= letter <= "\u05ff" for subject in subjects for letter in subject or "")
    assert any("🎉" in (subject or "") for subject in subjects)
    assert [message.get_content_type() for message in found].count("text/html") == 1
    assert [part.get_filename() for message in found for part in message.iter_attachments()] == ["check-up.ics"]
    assert len({message["Date"].datetime.date() for message in found}) >= 5


def test_answers_are_one_thread_with_what_they_answer() -> None:
    by_id = {message["Message-ID"]: message for message in samples()}
    [last] = [message for message in by_id.values() if len((message["References"] or "").split()) == 2]
    thread = [by_id[id] for id in last["References"].split()] + [last]
    assert {message["Subject"].removeprefix("Re: ") for message in thread} == {thread[0]["Subject"]}
    assert [message["Date"].datetime for message in thread] == sorted(message["Date"].datetime for message in thread)


def test_no_sample_names_a_real_domain() -> None:
    for message in samples():
        senders = message["From"].addresses
        assert len(senders) == 1
        assert senders[0].domain.endswith((".example", "example.com"))
        assert "http" not in text_of(message).replace("https://slowletter.example", "")


def test_samples_are_dated_before_now_the_newest_last() -> None:
    dates = [message["Date"].datetime for message in samples()]
    assert dates == sorted(dates)
    assert dates[-1] < NOW


def test_days_in_a_sample_are_days_to_come() -> None:
    texts = "\n".join(text_of(message) for message in samples())
    assert "{" not in texts.replace("{font", "")
    assert "Saturday 14 March" in texts
    assert "Dienstag, 10.3." in texts
