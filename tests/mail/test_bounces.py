"""Reports of all mail systems are read, and nothing else counts as a report."""

from time import process_time

import pytest

from snoozer.mail import bounces
from tests import corpus
from tests.mail.reports import NO_REPORTS, REPORTS, a_report, a_text, about


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_read(name: str) -> None:
    written = REPORTS[name]
    report = bounces.read(written.mail, has_null_sender=True)
    assert report is not None
    assert (report.kind, report.code, report.stops_mail) == (written.kind, written.code, written.stops)
    assert written.piece in report.text


@pytest.mark.parametrize("name", NO_REPORTS)
def test_other_mail_is_no_report(name: str) -> None:
    assert bounces.read(NO_REPORTS[name], has_null_sender=name != "a person") is None


def test_a_report_keeps_one_printable_line_without_addresses_and_without_the_mail_that_it_returns() -> None:
    hostile = "smtp; 550 5.1.1 <ben@mail.example> \x1b[31m\u202e" + "x" * 2_000
    for mail in (a_report(about("failed", "5.1.1", hostile)), *(one.mail for one in REPORTS.values())):
        report = bounces.read(mail, has_null_sender=True)
        assert report is not None
        assert report.text.isprintable()
        assert len(report.text) <= 500
        assert "ben@" not in report.text
        assert "Secret" not in report.text


@pytest.mark.parametrize(
    "mail",
    [
        a_report("\n\n".join(["Action: failed\nStatus: 5.1.1"] * 20_000)),
        a_report("Diagnostic-Code: " + "5.1." * 100_000),
        a_text("MAILER-DAEMON@x.example", "failure notice", "@" * 200_000),
        a_text("MAILER-DAEMON@x.example", "failure notice", "-" * 200_000),
        a_text("MAILER-DAEMON@x.example", "failure notice", "\n".join(["-" * 999] * 200)),
        a_text("MAILER-DAEMON@x.example", "failure notice", "not able to deliver " * 20_000),
        a_text("MAILER-DAEMON@x.example", "failure notice", "\n".join(["user deliver to " * 60] * 10_000)),
        b"Content-Type: multipart/report; boundary=x\r\n\r\n"
        + b"--x\r\nContent-Type: multipart/report\r\n\r\n" * 5_000,
    ],
    ids=[
        "many recipients",
        "a long code",
        "a long word",
        "a long ruler",
        "many rulers",
        "a long line",
        "many lines",
        "many parts",
    ],
)
def test_a_bomb_takes_no_time(mail: bytes) -> None:
    began = process_time()
    bounces.read(mail, has_null_sender=True)
    assert process_time() - began < 1


def test_real_mail_is_read_without_an_error() -> None:
    for original in corpus.messages().values():
        for has_null_sender in (False, True):
            bounces.read(original, has_null_sender=has_null_sender)
