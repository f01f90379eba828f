"""SMTP_URL, understood or refused with a sentence."""

import pytest

from snoozer.mail.smtp.url import SmtpServer


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://localhost", SmtpServer("localhost", 25, "plain")),
        ("smtp://mail.example:2525/", SmtpServer("mail.example", 2525, "plain")),
        ("smtps://mail.example", SmtpServer("mail.example", 465, "tls")),
        ("smtp+starttls://mail.example", SmtpServer("mail.example", 587, "starttls")),
        ("SMTPS://u%40x:p%3Aw%2F@mail.example", SmtpServer("mail.example", 465, "tls", "u@x", "p:w/")),
        ("smtp://u:p@127.0.0.1:1025", SmtpServer("127.0.0.1", 1025, "plain", "u", "p")),
        ("smtp://u:p@[::1]:1025", SmtpServer("::1", 1025, "plain", "u", "p")),
    ],
)
def test_a_url_names_a_server(url: str, server: SmtpServer) -> None:
    assert SmtpServer.from_url(url) == server


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "must begin with"),
        ("http://x:geheim@mail.example", "must begin with"),
        ("mail.example:25", "must begin with"),
        ("smtp://", "names no host"),
        ("smtp://:25", "names no host"),
        ("smtp://mail.example:99999", "port"),
        ("smtp://mail.example:0", "port 0"),
        ("smtp://mail.example:geheim", "port"),
        ("smtp://[::1", "broken host"),
        ("smtp://mail .example", "characters"),
        ("smtps://mail.example/geheim", "after the host"),
        ("smtps://u:ge#heim@mail.example", "after the host|port"),
        ("smtps://u:geheim@mail.example?x=geheim", "after the host"),
        ("smtps://u@mail.example", "both the user and the password"),
        ("smtps://:geheim@mail.example", "both the user and the password"),
        ("smtp://u:geheim@mail.example", "unprotected"),
        ("smtp://u:geheim@localhost.evil.example", "unprotected"),
        ("smtp://u:geheim@0.0.0.0", "unprotected"),
        ("smtps://u:gehe%00im@mail.example", "NUL"),
    ],
)
def test_a_url_that_makes_no_sense_gets_one_sentence_without_the_password(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as refused:
        SmtpServer.from_url(url)
    assert "geheim" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_server_shows_no_credentials() -> None:
    shown = repr(SmtpServer.from_url("smtps://ann:geheim@mail.example"))
    assert "geheim" not in shown
    assert "ann" not in shown
    assert "mail.example" in shown
