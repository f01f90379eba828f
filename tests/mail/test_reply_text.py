"""What is kept of a mail server's reply: its words, without addresses and without a subject that it quotes."""

import pytest

from snoozer.mail.smtp.errors import Rejected
from snoozer.mail.smtp.transport import Reply

SECRET = "Quarterly figures"


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["5.7.1 Rejected by policy. Subject: Quarterly figures"], "Rejected by policy. Subject: …"),
        (["5.7.1 Spam; SUBJECT : Quarterly", "5.7.1 figures, all", "5.7.1 of them"], "Spam; SUBJECT: …"),
        (["5.7.1 header 'Subject': 'Quarterly figures' (rule 7)"], "header 'Subject: …"),
        (["5.7.1 bad header subject=Quarterly=20figures; from=<a@b.example>"], "bad header subject: …"),
        (["5.7.1 The subject line “Quarterly figures” is refused"], "The subject: …"),
        (['5.7.1 Subject "Quarterly figures" is refused'], "Subject: …"),
        (["4.7.1 You are subject to rate limits, try later"], "You are subject to rate limits, try later"),
        (["5.6.0 No subject given", "5.6.0 ask ann@mail.example"], "No subject given ask …@…"),
    ],
)
def test_nothing_from_a_quoted_subject_on_is_kept(lines: list[str], kept: str) -> None:
    reply = Reply(550, tuple(lines))
    assert reply.text == kept
    assert str(Rejected("dot", reply)) == f"dot: 550 {reply.enhanced_code} {kept}"
    assert not any(word in str(reply) for word in SECRET.split())
